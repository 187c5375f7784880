"""Mends of named faults. A fault that the manifest does not name is refused, never guessed at."""

from collections.abc import Callable, Sequence

from core.errors import InputError, Problem, shortened
from judges.intake.joins import Located, tables_of
from judges.intake.readers import Mend, Table, read_header, read_rows
from judges.intake.specs import Source

# The case source's text for a row (by its number and cells), or None where there is no such case.
Known = Callable[[int, Sequence[str]], str | None]


def mend_for(source: Source, table: Table, cases: tuple[Located, Source] | None) -> Mend:
    """The mend that a source's manifest entry names, with what the case source knows."""
    if source.repair is None or cases is None:
        raise ValueError("a mend needs a named repair and the case source")
    column = source.repair.split_first_column_by
    path, case_source = cases
    (case_table,) = tables_of(path, case_source)
    header = read_header(table)
    for file, names in ((source.file, header), (case_source.file, read_header(case_table))):
        if column not in names:
            what = "the repair split_first_column_by names a column that is not in the file"
            raise InputError(Problem(what, file=file, value=column, allowed=", ".join(names)))
    if source.join.column is None:
        known = _known_by_row(case_table, column)
    else:
        texts = _texts(case_table, case_source.join.name, column)
        known = _known_by_key(texts, header, column, source.join.name)
    return split_column(header, column, known, source.file)


def split_column(header: tuple[str, ...], column: str, known: Known, file: str) -> Mend:
    """Mend rows that lost the delimiter after `column`: cut the merged cell after the text known from the cases.

    Every row is checked, those with all their cells too: the column must hold, or begin with, that text.
    """
    place = header.index(column)

    def mend(number: int, cells: list[str]) -> list[str] | Problem:
        if len(cells) not in (len(header) - 1, len(header)):
            return cells  # another fault than the named one: the reader says so
        text = known(number, cells)
        if text is None:
            return Problem("no case is known for this row, so there is nothing to cut by", file, number, column)
        cell = cells[place]
        if len(cells) == len(header):
            what = "" if cell == text else "the cell does not hold the case's text"
        else:
            what = "" if cell.startswith(text) else "the cell does not begin with the case's text"
        if what:
            return Problem(what, file, number, column, value=cell, allowed=shortened(text))
        if len(cells) == len(header):
            return cells
        return [*cells[:place], text, cell[len(text) :], *cells[place + 1 :]]

    return mend


def _known_by_row(table: Table, column: str) -> Known:
    """Walks the case source in step with the file that is mended."""
    rows = read_rows(table)
    row = next(rows, None)

    def known(number: int, _cells: Sequence[str]) -> str | None:
        nonlocal row
        while row is not None and row.number < number:
            row = next(rows, None)
        return row.cells[column] if row is not None and row.number == number else None

    return known


def _texts(table: Table, key: str, column: str) -> dict[str, str]:
    return {row.cells[key] if key else str(row.number): row.cells[column] for row in read_rows(table)}


def _known_by_key(texts: dict[str, str], header: tuple[str, ...], merged: str, key: str) -> Known:
    place, merged_place = header.index(key), header.index(merged)

    def known(_number: int, cells: Sequence[str]) -> str | None:
        shifted = len(cells) < len(header) and place > merged_place
        return texts.get(cells[place - shifted])

    return known
