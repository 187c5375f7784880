"""Rows on their way into a file, line by line, so that a download streams them."""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from audits.exports.cells import neutral_column
from core.batches import batches
from core.errors import InputError, Problem

FORMATS = ("csv", "jsonl")
CRLF = "\r\n"
TOGETHER = 500  # rows whose cells are looked at together
CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


def record_lines(kind: str, record: type[Any], records: Iterable[Any]) -> Iterator[str]:
    """Named tuples of plain values as CSV with a header, or as JSON Lines."""
    if kind == "jsonl":
        encode = json.JSONEncoder(ensure_ascii=False).encode
        return (f"{encode(one._asdict())}\n" for one in records)
    return csv_lines(record._fields, records)


def csv_lines(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """The header, then the rows. What is not there is a blank cell; what a spreadsheet would run is neutralised."""
    # A cell is quoted where it holds a character of the line's end: a lone \\r in a text must be one.
    write = csv.writer(_Echo(), lineterminator=CRLF).writerow
    for some in chain([[columns]], batches(rows, TOGETHER)):
        for cells in zip(*map(neutral_column, zip(*some, strict=True)), strict=True):
            yield f"{write(cells)[: -len(CRLF)]}\n"


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
