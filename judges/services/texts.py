"""Texts are stored once per project, under their hash."""

import marshal
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import Any

from django.conf import settings
from django.db.models import Count, Sum
from django.db.models.functions import Length

from core.batches import batches
from core.errors import Problem, Refused
from core.identity import canonical_bytes
from core.models import Project
from judges.models.cases import Blob
from judges.services.rows import rows_write_once
from judges.services.writing import Writer

LARGEST_QUERY = 500  # hashes asked for at once
CHUNK = 2000
BLOB, BLOB_TYPES = ("project_id", "sha256", "content"), ("bigint", "varchar", "bytea")
BLOBS_THERE = "SELECT sha256 FROM judges_blob WHERE sha256 {keys} AND project_id = %s"
WORTH_COMPRESSING = 2048  # bytes; below, setting a compressor up takes longer than all else that a row needs
REMEMBERED = 100_000
HELD = 16 << 20  # bytes in memory, beyond which texts go to files
SPOOLED = 1 << 30  # bytes in files, beyond which texts are stored
SHELVES = 64  # one for each range of hashes: what is stored together is read into memory
STORED_BLOCK = struct.Struct("<3sHH")
DROPPED = "This text was dropped by the project's retention; only its hash is kept."

Text = tuple[bytes, bytes]  # its digest, and its bytes as they are stored


class IncomingTexts:
    """Texts on their way in: held in memory, beyond that in temporary files, and stored in the order of their hashes.

    Hashes come in no order, and the index over them is large: stored as they come, nearly every text would
    write a page of it, and the more there are the worse. In order, each page is written once.
    """

    def __init__(self, project: Project, writer: Writer) -> None:
        self.project = project
        self._writer = writer
        self._number = 0
        self._held = _shelves()
        self._held_bytes = 0
        self._files: list[Any] = []  # a temporary file for each shelf, once texts went there
        self._lengths: list[list[int]] = []  # of what was written to each at a time
        self._shelved_bytes = 0
        self._recent: set[bytes] = set()
        self._some_there = True

    def __len__(self) -> int:
        return self._number

    def add(self, text: str) -> str:
        """Take a text in; its hash comes back."""
        content = canonical_bytes(text)
        digest = sha256(content).digest()
        if digest not in self._recent:
            if len(self._recent) == REMEMBERED:
                self._recent.clear()
            self._recent.add(digest)
            packed = _packed(content)
            self._held[digest[0] * SHELVES >> 8].append((digest, packed))
            self._number += 1
            self._held_bytes += len(packed)
            if self._held_bytes > HELD:
                self._shelve()
        return digest.hex()

    @property
    def full(self) -> bool:
        return self._shelved_bytes >= SPOOLED

    def store(self) -> Iterator[int]:
        """Store what is there, in chunks of a transaction each; yields once for each text."""
        number = 0
        in_order = chain.from_iterable(sorted(self._taken_from(shelf)) for shelf in range(SHELVES))
        for chunk in batches(in_order, CHUNK):
            self._writer.write(partial(self._write, chunk))
            yield from range(number, number + len(chunk))
            number += len(chunk)
        self._writer.finish()
        self.close()
        self._held_bytes, self._shelved_bytes, self._number = 0, 0, 0

    def _write(self, texts: list[Text]) -> None:
        owner = self.project.pk
        rows = {(key := digest.hex()): (owner, key, packed) for digest, packed in texts}
        # Of most loads every text is new. Where some of a chunk are there already, so are likely some of the next.
        self._some_there = rows_write_once(
            Blob, BLOB, rows, types=BLOB_TYPES, there=BLOBS_THERE, parameter=owner, ask=self._some_there
        )

    def _taken_from(self, shelf: int) -> Iterator[Text]:
        """The texts of a shelf, from its file and from memory, which holds them no longer."""
        held, self._held[shelf] = self._held[shelf], []
        if self._files:
            file = self._files[shelf]
            file.seek(0)
            for length in self._lengths[shelf]:
                yield from marshal.loads(file.read(length))  # noqa: S302 (our own, written a moment ago)
        yield from held

    def _shelve(self) -> None:
        if not self._files:
            folder = settings.FILE_UPLOAD_TEMP_DIR
            self._files = [tempfile.TemporaryFile(dir=folder) for _ in range(SHELVES)]  # noqa: SIM115
            self._lengths = [[] for _ in range(SHELVES)]
        for texts, file, lengths in zip(self._held, self._files, self._lengths, strict=True):
            lengths.append(file.write(marshal.dumps(texts)))
        self._shelved_bytes += self._held_bytes
        self._held, self._held_bytes = _shelves(), 0

    def close(self) -> None:
        while self._files:
            self._files.pop().close()


def _shelves() -> list[list[Text]]:
    return [[] for _ in range(SHELVES)]


def texts_of(*, project: Project, hashes: Iterable[str]) -> dict[str, str]:
    """Texts by hash. One that retention has dropped is refused by its hash."""
    wanted = list(dict.fromkeys(hashes))
    texts = _found(project, wanted)
    dropped = [key for key in wanted if key not in texts]
    if dropped:
        raise Refused(Problem("the text was dropped by retention; its hash remains", value=dropped[0]))
    return texts


def texts_shown(*, project: Project, hashes: Iterable[str]) -> dict[str, str]:
    """Texts by hash, for pages: a sentence stands where retention has dropped one."""
    wanted = list(dict.fromkeys(hashes))
    return dict.fromkeys(wanted, DROPPED) | _found(project, wanted)


def texts_drop(*, project: Project, hashes: Iterable[str]) -> int:
    """Drop the texts, in short transactions, so that others' writes pass between them; how many were there."""
    wanted, dropped = sorted(hashes), 0
    for start in range(0, len(wanted), LARGEST_QUERY):
        rows = Blob.objects.filter(project=project, sha256__in=wanted[start : start + LARGEST_QUERY])
        dropped += rows.delete()[0]
    return dropped


def texts_measure(*, project: Project, hashes: Iterable[str]) -> tuple[int, int]:
    """How many of the texts are there, and the bytes that they take."""
    wanted, number, size = sorted(hashes), 0, 0
    for start in range(0, len(wanted), LARGEST_QUERY):
        rows = Blob.objects.filter(project=project, sha256__in=wanted[start : start + LARGEST_QUERY])
        counted = rows.aggregate(number=Count("pk"), size=Sum(Length("content")))
        number, size = number + counted["number"], size + (counted["size"] or 0)
    return number, size


def _found(project: Project, wanted: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for start in range(0, len(wanted), LARGEST_QUERY):
        rows = Blob.objects.filter(project=project, sha256__in=wanted[start : start + LARGEST_QUERY])
        for key, content in rows.values_list("sha256", "content"):
            texts[key] = zlib.decompress(bytes(content)).decode("utf-8", "surrogatepass")
    return texts


def _packed(content: bytes) -> bytes:
    """As zlib reads it: compressed, or where that does not pay, one stored block (RFC 1950, RFC 1951)."""
    length = len(content)
    if length >= WORTH_COMPRESSING:
        return zlib.compress(content, 1)
    header = STORED_BLOCK.pack(b"\x78\x01\x01", length, length ^ 0xFFFF)
    return b"".join((header, content, zlib.adler32(content).to_bytes(4, "big")))
