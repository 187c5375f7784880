"""Rows of CSV and TSV files, exactly as written: nothing is trimmed, guessed, skipped or turned into a number.

The standard csv module is fed one physical line at a time, so that a row knows the line it began on, and
so that only LF, CR and CRLF end a line: U+0085 and its like are data, as are NUL characters.
"""

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

from core.errors import Problem
from judges.intake.problems import Problems

Format = Literal["csv", "tsv"]
Quoting = Literal["minimal", "none"]
DELIMITERS: dict[Format, str] = {"csv": ",", "tsv": "\t"}
QUOTINGS: dict[Quoting, Literal[0, 3]] = {"minimal": csv.QUOTE_MINIMAL, "none": csv.QUOTE_NONE}

# Characters. A cell may hold a transcript; the limits only keep one lost quote from swallowing the machine's memory.
CELL_LIMIT = 16 * 1024 * 1024
LINE_LIMIT = 4 * CELL_LIMIT
csv.field_size_limit(CELL_LIMIT)  # one setting for the whole process, and its default of 128 kB is too small

# Bytes that are not UTF-8 come through decoding as lone surrogates, so that the row and column can be named.
BAD_BYTE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True)
class Table:
    """A file and how its cells are told apart. `name` is what errors call it."""

    path: Path
    format: Format
    quoting: Quoting = "minimal"
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.path.name)


@dataclass(frozen=True)
class Row:
    """One data row. `number` counts rows from 1 without the header, `line` is the physical line it begins on."""

    number: int
    line: int
    cells: dict[str, str]


# A mend gets a row's number and cells as read, and gives the cells it stands for, or says why it cannot.
Mend = Callable[[int, list[str]], list[str] | Problem]


class _Lines:
    """Feeds csv, and remembers the lines of the row in hand."""

    def __init__(self, handle: TextIO) -> None:
        self.handle = handle
        self.held: list[str] = []
        self.count = 0
        self.broken_off = False

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self.handle.readline(LINE_LIMIT + 1)
        if not line:
            # csv asks for another line within a row only when a quoted cell is still open.
            self.broken_off = bool(self.held)
            raise StopIteration
        self.count += 1
        if len(line) > LINE_LIMIT:
            raise csv.Error(f"line longer than {LINE_LIMIT} characters")
        self.held.append(line)
        return line


@dataclass(frozen=True)
class _Raw:
    """A row before its cells are counted and named. Number 0 is the header."""

    number: int
    line: int
    cells: list[str]


def read_header(table: Table, *, problems: Problems | None = None) -> tuple[str, ...]:
    """The column names of a file; raises if they cannot be used."""
    gathered = Problems() if problems is None else problems
    with _opened(table, gathered) as handle:
        return _header(_raw_rows(handle, table, gathered), table.name, gathered)


def read_rows(table: Table, *, mend: Mend | None = None, problems: Problems | None = None) -> Iterator[Row]:
    """Stream the sound rows of a file.

    A bad row is not yielded. Its problem is added to `problems`, for the caller to raise; without
    `problems`, all that were found are raised when the file ends. A fault that leaves the rest of
    the file unreadable is raised at once.
    """
    gathered = Problems() if problems is None else problems
    with _opened(table, gathered) as handle:
        raw_rows = _raw_rows(handle, table, gathered)
        header = _header(raw_rows, table.name, gathered)
        for raw in raw_rows:
            cells = mend(raw.number, raw.cells) if mend else raw.cells
            problem = cells if isinstance(cells, Problem) else _fault(raw.number, cells, header, table.name)
            if problem is not None:
                gathered.add(problem)
            elif not isinstance(cells, Problem):
                yield Row(raw.number, raw.line, dict(zip(header, cells, strict=True)))
    if problems is None:
        gathered.raise_if_any()


@contextmanager
def _opened(table: Table, problems: Problems) -> Iterator[TextIO]:
    try:
        handle = table.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")
    except OSError as error:
        problems.stop(Problem(f"cannot be opened: {error.strerror}", file=table.name))
    with handle:
        yield handle


def _raw_rows(handle: TextIO, table: Table, problems: Problems) -> Iterator[_Raw]:
    lines = _Lines(handle)
    # Not strict: a cell such as `"Title" by Author` is accepted, as most readers do. But see _swallowed.
    reader = csv.reader(lines, delimiter=DELIMITERS[table.format], quoting=QUOTINGS[table.quoting])
    number, blank = 0, 0
    while True:
        lines.held.clear()
        line = lines.count + 1
        try:
            cells = next(reader)
        except StopIteration:
            return  # blank lines at the end of a file are nothing
        except csv.Error as error:
            problems.stop(Problem(f"line {line} cannot be read: {error}", table.name, number or None))
        if not cells:
            blank += 1
            continue
        for skipped in range(line - blank, line):
            problems.add(Problem(f"line {skipped} is blank", table.name, allowed="one row per line"))
        number, blank = number + blank, 0
        if fault := _quote_fault(lines, line, table):
            problems.stop(Problem(fault, table.name, number or None, allowed="quotes that close, or quoting: none"))
        yield _Raw(number, line, cells)
        number += 1


def _quote_fault(lines: _Lines, first: int, table: Table) -> str:
    if lines.broken_off:
        return f"a quote opened on line {first} is never closed"
    if len(lines.held) > 1 and _swallowed(lines.held, table):
        return f"a quote opened on line {first} runs on to line {lines.count}: the rows between are lost in one cell"
    return ""


def _swallowed(lines: list[str], table: Table) -> bool:
    """Whether a row of several lines holds together only because the reader is lenient.

    A stray quote at the start of a cell runs on to the next quote, many rows below, and what then follows
    the "closing" quote is the beginning of a cell. Within one line leniency loses nothing; across lines it loses rows.
    """
    try:
        list(csv.reader(lines, delimiter=DELIMITERS[table.format], strict=True))
    except csv.Error:
        return True
    return False


def _header(raw_rows: Iterator[_Raw], name: str, problems: Problems) -> tuple[str, ...]:
    first = next(raw_rows, None)
    if first is None:
        problems.stop(Problem("the file is empty", file=name, allowed="a header row and data rows"))
    header = tuple(first.cells)
    before = problems.total
    for place, column in enumerate(header, start=1):
        if BAD_BYTE.search(column):
            problems.add(Problem(f"the name of column {place} is not UTF-8 text", file=name))
        elif not column.strip():
            problems.add(Problem(f"column {place} has no name", file=name))
        elif column in header[: place - 1]:
            earlier = header.index(column) + 1
            problems.add(Problem(f"columns {earlier} and {place} have the same name", file=name, value=column))
    if problems.total > before:
        problems.raise_if_any()
    return header


def _fault(number: int, cells: list[str], header: tuple[str, ...], name: str) -> Problem | None:
    if len(cells) != len(header):
        found = f"{len(cells)} cell{'' if len(cells) == 1 else 's'} where the header names {len(header)} columns"
        return Problem(found, file=name, row=number, value=cells[0], allowed=f"{len(header)} cells")
    for column, cell in zip(header, cells, strict=True):
        if not cell.isascii() and (bad := BAD_BYTE.search(cell)):
            byte = f"byte 0x{ord(bad[0]) - 0xDC00:02X}"
            return Problem("not UTF-8 text", file=name, row=number, column=column, value=byte, allowed="UTF-8")
    return None
