"""Rows on their way into a file, line by line, so that a download streams them."""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from audits.exports.cells import neutral_cells
from core.errors import InputError, Problem

FORMATS = ("csv", "jsonl")
CRLF = "\r\n"
CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


def record_lines(kind: str, record: type[Any], records: Iterable[Any]) -> Iterator[str]:
    """Dataclass objects of plain values as CSV with a header, or as JSON Lines."""
    names = [field.name for field in fields(record)]
    values = attrgetter(*names)  # `asdict` copies each value, which takes longer than to write it
    if kind == "jsonl":
        for one in records:
            yield json.dumps(dict(zip(names, values(one), strict=True)), ensure_ascii=False) + "\n"
        return
    yield from csv_lines(names, map(values, records))


def csv_lines(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """The header, then the rows. What is not there is a blank cell; what a spreadsheet would run is neutralised."""
    # A cell is quoted where it holds a character of the line's end: a lone \\r in a text must be one.
    write = csv.writer(_Echo(), lineterminator=CRLF).writerow
    yield _line(write(columns))
    for row in rows:
        yield _line(write(neutral_cells(row)))


def _line(written: str) -> str:
    return f"{written.removesuffix(CRLF)}\n"


def lines_write(path: Path, kind: str, lines: Iterable[str]) -> int:
    """Write the lines to a file; how many rows they hold comes back."""
    rows = -1 if kind == "csv" else 0  # the header is no row
    with path.open("w", newline="", encoding="utf-8") as file:
        for line in lines:
            file.write(line)
            rows += 1
    return rows


def format_of(path: Path, formats: Sequence[str] = FORMATS) -> str:
    kind = path.suffix.removeprefix(".")
    if kind not in formats:
        allowed = " or ".join(f".{name}" for name in formats)
        raise InputError(Problem("the format is told from the ending", value=path.name, allowed=allowed))
    return kind


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text
