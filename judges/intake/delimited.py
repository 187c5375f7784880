"""Rows of delimited text, exactly as written: nothing is trimmed, guessed, skipped or turned into a number.

The standard csv module is fed one physical line at a time, so that a row knows the line it began on, and
so that only LF, CR and CRLF end a line: U+0085 and its like are data, as are NUL characters.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TextIO

from core.errors import Problem
from judges.intake.problems import Problems
from judges.intake.specs import Format, Quoting
from judges.intake.streams import opened
from judges.intake.tables import CELL_LIMIT, LINE_LIMIT, MOST_BLANK, Row, Table

DELIMITERS: dict[Format, str] = {"csv": ",", "tsv": "\t"}
SPACES = re.compile(r"[ \t]+")
QUOTINGS: dict[Quoting, Literal[0, 3]] = {"minimal": csv.QUOTE_MINIMAL, "none": csv.QUOTE_NONE}
csv.field_size_limit(CELL_LIMIT)  # one setting for the whole process, and its default of 128 kB is too small

# Bytes that are not UTF-8 come through decoding as lone surrogates, so that the row and column can be named.
BAD_BYTE = re.compile("[\udc80-\udcff]")

LONGEST_COLUMN = 1000  # characters of its name: a file without a header may begin with a transcript
HEADER = "a header row that names each column, and data rows"

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


# A row before its cells are counted and named: its number (0 is the header, where there is one), line and cells.
Raw = tuple[int, int, list[str]]


def header_of(table: Table, problems: Problems) -> tuple[str, ...]:
    """The column names of a file; raises if they cannot be used."""
    if table.columns:
        return table.columns
    with _text(table, problems) as handle:
        return _header(_raw_rows(handle, table, problems), table.name, problems)


def delimited_rows(table: Table, problems: Problems, mend: Mend | None = None) -> Iterator[Row]:
    """The sound rows of a file of delimited text; the problem of any other is added to `problems`."""
    with _text(table, problems) as handle:
        raw_rows = _raw_rows(handle, table, problems)
        header = table.columns or _header(raw_rows, table.name, problems)
        for number, line, raw in raw_rows:
            cells = mend(number, raw) if mend else raw
            problem = cells if isinstance(cells, Problem) else _fault(number, cells, header, table.name)
            if problem is not None:
                problems.add(problem)
            elif not isinstance(cells, Problem):
                yield Row(number, line, dict(zip(header, cells, strict=True)), table.name)


@contextmanager
def _text(table: Table, problems: Problems) -> Iterator[TextIO]:
    with opened(table.path, table.name, problems, table.meter) as handle:
        text = io.TextIOWrapper(handle, encoding="utf-8-sig", errors="surrogateescape", newline="")
        try:
            yield text
        finally:
            text.detach()  # whoever opened the bytes closes them


def _cells(lines: _Lines, table: Table) -> Iterator[list[str]]:
    if table.format == "spaces":
        for line in lines:
            stripped = line.strip(" \t\r\n")
            yield SPACES.split(stripped) if stripped else []
    else:
        # Not strict: a cell such as `"Title" by Author` is accepted, as most readers do. But see _swallowed.
        yield from csv.reader(lines, delimiter=DELIMITERS[table.format], quoting=QUOTINGS[table.quoting])


def _raw_rows(handle: TextIO, table: Table, problems: Problems) -> Iterator[Raw]:
    lines = _Lines(handle)
    reader = _cells(lines, table)
    number, blank = 1 if table.columns else 0, 0
    while True:
        lines.held.clear()
        line = lines.count + 1
        try:
            cells = next(reader)
        except StopIteration:
            return  # blank lines at the end of a file are nothing
        except csv.Error as error:
            allowed = f"cells of at most {CELL_LIMIT:,} characters, lines of {LINE_LIMIT:,}"
            problems.stop(Problem(f"line {line} cannot be read: {error}", table.name, number or None, allowed=allowed))
        if not cells:
            blank += 1
            if blank > MOST_BLANK:
                problems.stop(Problem(f"more than {MOST_BLANK:,} blank lines", table.name, allowed="one row per line"))
            continue
        for skipped in range(line - blank, line):
            problems.add(Problem(f"line {skipped} is blank", table.name, allowed="one row per line"))
        number, blank = number + blank, 0
        if fault := _quote_fault(lines, line, table):
            problems.stop(Problem(fault, table.name, number or None, allowed="quotes that close, or quoting: none"))
        yield number, line, cells
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


def _header(raw_rows: Iterator[Raw], name: str, problems: Problems) -> tuple[str, ...]:
    first = next(raw_rows, None)
    if first is None:
        problems.stop(Problem("the file is empty", file=name, allowed=HEADER))
    header = tuple(first[2])
    before = problems.total
    places: dict[str, int] = {}
    for place, column in enumerate(header, start=1):
        if BAD_BYTE.search(column):
            problems.add(Problem(f"the name of column {place} is not UTF-8 text", file=name, allowed="UTF-8"))
        elif not column.strip():
            problems.add(Problem(f"column {place} has no name", file=name, allowed=HEADER))
        elif len(column) > LONGEST_COLUMN:
            what = f"the name of column {place} is longer than {LONGEST_COLUMN:,} characters"
            problems.add(Problem(what, file=name, value=column, allowed=HEADER))
        elif places.setdefault(column, place) < place:
            what = f"columns {places[column]} and {place} have the same name"
            problems.add(Problem(what, file=name, value=column, allowed=HEADER))
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
