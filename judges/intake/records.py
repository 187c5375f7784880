"""Records of JSON, JSON Lines, Parquet and Inspect's `.eval` archives, one at a time and exactly as written.

The standard json module reads them: it takes a bare NaN, which other parsers refuse, and which real logs hold. Records
that are nothing but texts, as most are, orjson reads, to the same values.
"""

import codecs
import json
import lzma
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NoReturn

import orjson

from core.errors import Problem
from judges.intake.paths import ABSENT, Cells, PathFault
from judges.intake.problems import Problems
from judges.intake.streams import UNPACKED_LIMIT, opened, too_large
from judges.intake.tables import LINE_LIMIT, MOST_BLANK, Row, Table

CHUNK = 1 << 20  # bytes of a JSON file that are looked at together
FEWEST, MOST = 16, 500  # records of a Parquet file that are held together
HELD = 1 << 28  # bytes that they may take, if each holds the longest text that there may be
SPACE = re.compile(r"[ \t\n\r]*")
TOO_LONG = f"a record longer than {LINE_LIMIT} characters"

TEXT = frozenset({str})

# What zipfile and the packings below it raise of an archive in which a byte is wrong.
DAMAGED = (zlib.error, lzma.LZMAError, EOFError, OSError, KeyError, ValueError, NotImplementedError, RuntimeError)

Record = tuple[int, Any]  # its number, or the line it stands on, and its content


class Unreadable(Exception):
    """Why a record is no record."""


def record_rows(table: Table, problems: Problems) -> Iterator[Row]:
    """The rows of a file of records, with the fields that the table wants."""
    fields = tuple(dict.fromkeys([*table.fields, *table.where]))
    for number, line, record, element in _records(table, problems):
        texts = _plain_texts(record, fields)
        if texts is not None:
            yield Row(number, line, texts, table.name)
            continue
        cells, texts = Cells(record, element), {}
        for path in fields:
            try:
                texts[path] = cells[path]
            except PathFault as error:
                problems.add(Problem(str(error), table.name, number, path))
        if len(texts) == len(fields):
            yield Row(number, line, texts, table.name)


def _plain_texts(record: dict[str, Any], fields: tuple[str, ...]) -> dict[str, str] | None:
    """What most records are: the fields by their own names, all of them texts. A short cut, of the same outcome."""
    return record if TEXT.issuperset(map(type, map(record.get, fields))) else None


def record_cells(table: Table, problems: Problems) -> Iterator[tuple[int, int, Cells]]:
    """(row, record, cells): a row is a record, or an element of a list in one."""
    for number, line, record, element in _records(table, problems):
        yield number, line, Cells(record, element)


def _records(table: Table, problems: Problems) -> Iterator[tuple[int, int, dict[str, Any], Any]]:
    """(row, record, what the record holds, its element that makes the row, or ABSENT where it is the whole record)."""
    number = 0
    unrolled = not table.rows
    with opened(table.path, table.name, problems, table.meter) as handle:
        for line, record in RECORDS[table.format](handle, table, problems):
            if not table.rows and isinstance(record, dict):
                number = line  # one that cannot be read has its number too
                yield number, line, record, ABSENT
                continue
            elements = _elements(record, line, table, problems)
            unrolled = unrolled or elements is not None
            for element in elements or ():
                number = number + 1 if table.rows else line  # one that cannot be read has its number too
                yield number, line, record, element
    if not unrolled and not problems.total:
        problems.add(Problem("no record has this list", file=table.name, key="rows", value=table.rows))


def _elements(record: Any, line: int, table: Table, problems: Problems) -> list[Any] | None:
    """What makes the rows of a record; None where it lacks the list."""
    if not isinstance(record, dict):
        what, allowed = "a record is a mapping of names to values", "one JSON object per record"
        problems.add(Problem(what, table.name, line, value=str(record), allowed=allowed))
        return None
    found = Cells(record).value(table.rows)
    if found is None or found is ABSENT or isinstance(found, list):
        return found if isinstance(found, list) else None
    problems.add(Problem("not a list", table.name, line, table.rows, value=str(found), allowed="a list of rows"))
    return None


def _json_lines(handle: BinaryIO, table: Table, problems: Problems) -> Iterator[Record]:
    blank = 0
    line = 0
    while content := handle.readline(LINE_LIMIT + 1):
        line += 1
        if len(content) > LINE_LIMIT:
            problems.stop(Problem(TOO_LONG, table.name, line))
        if line == 1:
            content = content.removeprefix(b"\xef\xbb\xbf")
        if content.isspace():
            blank = blank or line
            if line - blank >= MOST_BLANK:
                problems.stop(
                    Problem(f"more than {MOST_BLANK:,} blank lines", table.name, allowed="one record per line")
                )
            continue
        if blank:
            problems.add(Problem(f"line {blank} is blank", table.name, allowed="one record per line"))
            blank = 0
        try:
            yield line, loads(content)
        except Unreadable as error:
            problems.add(Problem(str(error), table.name, line, allowed="one JSON object per line"))


def _json(handle: BinaryIO, table: Table, problems: Problems) -> Iterator[Record]:
    """The elements of the list that the file is, each read by itself; or the one record that it is."""
    window = _Window(handle)
    number = 0
    try:
        for number, record in enumerate(window.values(), 1):
            yield number, record
    except Unreadable as error:
        problems.stop(Problem(str(error), table.name, number + 1, allowed="JSON: a list of records, or one record"))


def _parquet(handle: BinaryIO, table: Table, problems: Problems) -> Iterator[Record]:
    import pyarrow  # slow to import, and most files are none
    from pyarrow import parquet

    with _seekable(handle) as whole:
        try:
            file = parquet.ParquetFile(whole)
            groups = [file.metadata.row_group(n).total_byte_size for n in range(file.metadata.num_row_groups)]
            if sum(groups) > UNPACKED_LIMIT:
                problems.stop(too_large(table.name))
            # A text that stands once in a file may be meant in every row: a small file then unpacks to a large one.
            together = max(FEWEST, min(MOST, HELD // max([1, *groups])))
            number = 0
            for batch in file.iter_batches(batch_size=together):
                for record in batch.to_pylist():
                    number += 1
                    yield number, record
        except (pyarrow.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
            # The last three are of values that Python has no name for: a day beyond its calendar, an unknown zone.
            problems.stop(Problem(f"not a readable Parquet file: {error}", table.name, allowed="a whole Parquet file"))


def _eval(handle: BinaryIO, table: Table, problems: Problems) -> Iterator[Record]:
    """The archive as the JSON log that it stands for, one sample at a time."""
    try:
        with _seekable(handle) as whole, zipfile.ZipFile(whole) as archive:
            header = _member(archive, archive.getinfo("header.json"))
            members = [one for one in archive.infolist() if one.filename.startswith("samples/")]
            if sum(member.file_size for member in members) > UNPACKED_LIMIT:
                problems.stop(too_large(table.name))
            for number, member in enumerate(members, 1):
                yield number, header | {"samples": [_member(archive, member)]}
    except (Unreadable, zipfile.BadZipFile, *DAMAGED) as error:
        problems.stop(Problem(f"not a readable .eval archive: {error}", table.name, allowed="a log of Inspect, whole"))


@contextmanager
def _seekable(handle: BinaryIO) -> Iterator[Any]:
    """Parquet files and archives are read from their end, which a gzipped stream does not know."""
    if handle.seekable():
        yield handle
        return
    with tempfile.TemporaryFile() as whole:
        shutil.copyfileobj(handle, whole)
        yield whole


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> dict[str, Any]:
    if member.file_size > LINE_LIMIT:
        raise Unreadable(f"{member.filename}: {TOO_LONG}")
    content = loads(archive.read(member))  # reads no more than the size that was looked at
    if not isinstance(content, dict):
        raise Unreadable(f"{member.filename} is no mapping of names to values")
    return content


RECORDS: dict[str, Callable[[BinaryIO, Table, Problems], Iterator[Record]]] = {
    "jsonl": _json_lines,
    "json": _json,
    "parquet": _parquet,
    "eval": _eval,
}


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two equal keys json would keep the last; neither is the answer."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Unreadable(f"the key {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return found


def _decimal(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Unreadable(f"the number {text} is too large")
    return number


DECODER = json.JSONDecoder(object_pairs_hook=_mapping, parse_float=_decimal)


def loads(content: bytes) -> Any:
    """The value that these bytes are in JSON."""
    record = _of_texts(content)
    if record is not None:
        return record
    try:
        return DECODER.decode(content.decode())
    except (ValueError, RecursionError) as error:
        _unreadable(error)


def _of_texts(content: bytes) -> dict[str, str] | None:
    """A record of nothing but texts, several times as fast. Each has four quotes for each of its members: one that has
    more holds quotes in a text, or a key twice, of which orjson would keep the last."""
    try:
        record = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(record, dict) or content.count(b'"') != 4 * len(record):
        return None
    return record if TEXT.issuperset(map(type, record.values())) else None


def _unreadable(error: Exception, before: int = 0) -> NoReturn:
    if isinstance(error, UnicodeDecodeError):
        raise Unreadable(f"not UTF-8 text (byte 0x{error.object[error.start]:02X})") from error
    if isinstance(error, json.JSONDecodeError):
        raise Unreadable(f"not JSON: {error.msg} at character {before + error.pos + 1}") from error
    raise Unreadable("not JSON: nested too deeply, or a number with too many digits") from error


class _Window:
    """The part of a JSON file in hand: one value at a time, and never more than one."""

    def __init__(self, handle: BinaryIO) -> None:
        self.handle = handle
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.text = ""
        self.at = 0
        self.before = 0  # characters of the file that were let go

    def values(self) -> Iterator[Any]:
        if not self._takes("["):
            yield self._value()
        elif not self._takes("]"):
            yield self._value()
            while self._takes(","):
                yield self._value()
            if not self._takes("]"):
                raise Unreadable(f"not JSON: no comma or end of the list at character {self.before + self.at + 1}")
        if self._next():
            raise Unreadable(f"not JSON: more text after its end at character {self.before + self.at + 1}")

    def _takes(self, mark: str) -> bool:
        taken = self._next() == mark
        self.at += taken
        return taken

    def _next(self) -> str:
        """The next character that is no space; blank at the end of the file."""
        while True:
            space = SPACE.match(self.text, self.at)
            self.at = space.end() if space else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._more():
                return ""

    def _value(self) -> Any:
        self._next()
        while True:
            fault: Exception | None = None
            before = self.before
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
            except (ValueError, RecursionError) as error:
                value, end, fault = None, len(self.text), error
            if end < len(self.text):
                self.at = end
                return value
            # A fault may only be that the value is cut off here; and a number at the very end may go on.
            if not self._more():
                if fault is not None:
                    _unreadable(fault, before)
                self.at = len(self.text)
                return value

    def _more(self) -> bool:
        self.before, self.text, self.at = self.before + self.at, self.text[self.at :], 0
        if len(self.text) > LINE_LIMIT:
            raise Unreadable(TOO_LONG)
        content = self.handle.read(max(CHUNK, len(self.text)))
        try:
            self.text += self.decoder.decode(content, final=not content)
        except UnicodeDecodeError as error:
            _unreadable(error)
        return bool(content)
