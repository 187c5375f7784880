"""A zip with checksums: written entry by entry without holding one in memory, read with a limit."""

import hashlib
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from audits.packets.contents import FILES, SUMS
from core.batches import batches
from core.errors import InputError, Problem
from core.identity import canonical_bytes

LARGEST = 2**31  # bytes of all entries unpacked: what nobody's packet reaches and a zip bomb passes at once
TOGETHER = 100  # lines that are hashed and compressed at once
LEVEL = 1  # of compression: the usual 6 saves an eighth of the bytes for a sixth of the time


class ArchiveWriter:
    """Entries one after another; the checksums are the last."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL)
        self._sums: dict[str, str] = {}

    def __enter__(self) -> "ArchiveWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.add(SUMS, [f"{digest}  {name}\n" for name, digest in self._sums.items()])
        self._zip.close()

    def add(self, name: str, parts: Iterable[str]) -> int:
        """Write an entry from its parts; how many there were comes back."""
        digest, number = hashlib.sha256(), 0
        # By its name, an entry is of 1980: the same content gives the same bytes, whenever it is packed.
        with self._zip.open(name, "w", force_zip64=True) as file:
            for some in batches(parts, TOGETHER):
                data = canonical_bytes("".join(some))
                digest.update(data)
                file.write(data)
                number += len(some)
        self._sums[name] = digest.hexdigest()
        return number


class Archive:
    """A packet that somebody handed over: nothing in it is trusted before its checksum is."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError) as error:
            raise InputError(Problem(f"not a packet: {error}", file=path.name)) from error
        self.name = path.name
        entries = self._zip.infolist()
        unpacked = sum(entry.file_size for entry in entries)
        if unpacked > LARGEST:
            raise InputError(
                Problem("too large unpacked", file=path.name, value=f"{unpacked:,} bytes", allowed=f"{LARGEST:,}")
            )
        names = [entry.filename for entry in entries]
        expected = [*FILES, SUMS]
        problems = [Problem("a file is missing", path.name, value=name) for name in expected if name not in names]
        strange = [name for name in names if name not in expected]
        problems += [Problem("a file that belongs to no packet", path.name, value=name) for name in strange]
        if len(set(names)) != len(names):
            problems.append(Problem("a file is there twice", path.name))
        if problems:
            raise InputError(problems)

    def text(self, name: str) -> str:
        try:
            return self._zip.read(name).decode("utf-8", "surrogatepass")
        except (zipfile.BadZipFile, UnicodeDecodeError, ValueError) as error:
            raise InputError(Problem(f"cannot be read: {error}", file=f"{self.name}/{name}")) from error

    def lines(self, name: str) -> io.StringIO:
        return io.StringIO(self.text(name), newline="")

    def wrong_sums(self) -> list[str]:
        """The files whose bytes are not those that the packet was closed with."""
        stated = dict(reversed(line.split("  ", 1)) for line in self.text(SUMS).splitlines() if "  " in line)
        return [name for name in FILES if stated.get(name) != self._digest(name)]

    def _digest(self, name: str) -> str:
        try:
            return hashlib.sha256(self._zip.read(name)).hexdigest()
        except zipfile.BadZipFile:  # the zip's own sum is wrong already
            return ""
