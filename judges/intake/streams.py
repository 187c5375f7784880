"""The bytes of a file, unpacked on the way where it is gzipped, whatever its name."""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

from core.errors import Problem
from judges.intake.problems import Problems

GZIP = b"\x1f\x8b"
# Bytes. A small archive can be made to unpack without end; a million judgments of 1 kB are a quarter of this.
UNPACKED_LIMIT = 4_000_000_000


class TooLarge(Exception):
    """More bytes than a file may unpack to."""


class Bounded(io.RawIOBase):
    """Passes bytes on until there are too many."""

    def __init__(self, packed: IO[bytes], limit: int) -> None:
        self.packed = packed
        self.left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.packed.read(len(buffer))
        self.left -= len(chunk)
        if self.left < 0:
            raise TooLarge
        buffer[: len(chunk)] = chunk
        return len(chunk)


class Meter:
    """How many bytes of some files, read one after the other, are read: of gzipped ones, as packed."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.size = 0
        self._before: dict[Path, int] = {}
        for path in paths:
            self._before[path] = self.size
            self.size += path.stat().st_size
        self._handle: BinaryIO | None = None
        self._start = self._done = 0

    def watch(self, path: Path, handle: BinaryIO) -> None:
        self._handle, self._start = handle, self._before[path]

    @property
    def done(self) -> int:
        if self._handle is not None and not self._handle.closed:
            self._done = self._start + self._handle.tell()
        return self._done


@contextmanager
def opened(path: Path, name: str, problems: Problems, meter: Meter | None = None) -> Iterator[BinaryIO]:
    """The file's bytes. A fault of the packing, met at any time while they are read, is raised at once."""
    try:
        handle: BinaryIO = path.open("rb")
    except OSError as error:
        problems.stop(Problem(f"cannot be opened: {error.strerror}", file=name))
    with handle:
        if meter is not None:
            meter.watch(path, handle)
        if handle.read(len(GZIP)) != GZIP:
            handle.seek(0)
            yield handle
            return
        handle.seek(0)
        try:
            yield io.BufferedReader(Bounded(gzip.GzipFile(fileobj=handle), UNPACKED_LIMIT), 1 << 16)  # type: ignore[arg-type]
        except TooLarge:
            problems.stop(too_large(name))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            what = f"the gzipped file is damaged or cut off: {error}"
            problems.stop(Problem(what, file=name, allowed="a whole gzipped file"))


def too_large(name: str) -> Problem:
    return Problem("unpacks to too much", file=name, allowed=f"at most {UNPACKED_LIMIT} bytes unpacked")
