"""Texts are stored once per project, under their hash."""

import os
import struct
import tempfile
import zlib
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from django.conf import settings
from django.db import transaction

from core.errors import Problem, Refused
from core.identity import text_hash
from core.models import Project
from judges.models.cases import Blob
from judges.services.rows import new_rows_write

LARGEST_QUERY = 500  # hashes asked for at once
CHUNK = 2000
WORTH_COMPRESSING = 2048  # bytes; below, setting a compressor up takes longer than all else that a row needs
REMEMBERED = 100_000
SPOOLED = 1_000_000  # texts, after which they are stored
DIGEST = 32


class IncomingTexts:
    """Texts on their way in: kept in a temporary file, and stored in the order of their hashes.

    Hashes come in no order, and the index over them is large: stored as they come, nearly every text would
    write a page of it, and the more there are the worse. In order, each page is written once.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._file: Any = None  # opened with the first text: a mapping has none
        self._digests = bytearray()
        self._ends = array("Q", [0])
        self._recent: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, text: str) -> str:
        """Take a text in; its hash comes back."""
        sha256 = text_hash(text)
        digest = bytes.fromhex(sha256)
        if digest not in self._recent:
            if len(self._recent) == REMEMBERED:
                self._recent.clear()
            self._recent.add(digest)
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115
            content = _packed(text.encode("utf-8", "surrogatepass"))
            self._file.write(content)
            self._digests += digest
            self._ends.append(self._ends[-1] + len(content))
        return sha256

    @property
    def full(self) -> bool:
        return len(self) >= SPOOLED

    def store(self) -> Iterator[int]:
        """Store what is there, in chunks of a transaction each; yields once for each text."""
        self._file.flush()
        digests = np.frombuffer(bytes(self._digests), dtype=np.uint8).reshape(-1, DIGEST)
        order = np.argsort(np.ascontiguousarray(digests[:, :8]).view(">u8").ravel(), kind="stable")
        for start in range(0, len(order), CHUNK):
            places = order[start : start + CHUNK].tolist()
            rows = [(self.project.pk, digests[place].tobytes().hex(), self._content(place)) for place in places]
            with transaction.atomic():
                new_rows_write(Blob, ["project_id", "sha256", "content"], rows, types=["bigint", "varchar", "bytea"])
            yield from range(start, start + len(rows))
        self._file.seek(0)
        self._file.truncate()
        self._digests.clear()
        self._ends = array("Q", [0])

    def _content(self, place: int) -> bytes:
        start, end = self._ends[place], self._ends[place + 1]
        return os.pread(self._file.fileno(), end - start, start)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def texts_of(*, project: Project, hashes: Iterable[str]) -> dict[str, str]:
    """Texts by hash. One that retention has dropped is refused by its hash."""
    wanted = list(dict.fromkeys(hashes))
    found: dict[str, str] = {}
    for start in range(0, len(wanted), LARGEST_QUERY):
        rows = Blob.objects.filter(project=project, sha256__in=wanted[start : start + LARGEST_QUERY])
        for sha256, content in rows.values_list("sha256", "content"):
            found[sha256] = zlib.decompress(bytes(content)).decode("utf-8", "surrogatepass")
    dropped = [sha256 for sha256 in wanted if sha256 not in found]
    if dropped:
        raise Refused(Problem("the text was dropped by retention; its hash remains", value=dropped[0]))
    return found


def _packed(content: bytes) -> bytes:
    """As zlib reads it: compressed, or where that does not pay, one stored block (RFC 1950, RFC 1951)."""
    if len(content) >= WORTH_COMPRESSING:
        return zlib.compress(content, 1)
    length = struct.pack("<HH", len(content), len(content) ^ 0xFFFF)
    return b"".join((b"\x78\x01\x01", length, content, zlib.adler32(content).to_bytes(4, "big")))
