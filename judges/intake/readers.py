"""The one way that rows come out of a file, whatever its format.

Nothing is trimmed, guessed, skipped or turned into a number; cells are texts, by name or by path.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from core.errors import Problem
from judges.intake.delimited import DELIMITERS, Mend, delimited_rows, header_of
from judges.intake.problems import Problems
from judges.intake.records import record_cells, record_rows
from judges.intake.specs import Format, Quoting
from judges.intake.tables import CELL_LIMIT, LINE_LIMIT, Row, Table

MOST_FIELDS = 2000  # of a record, in a list of them; all can be read

__all__ = [
    "CELL_LIMIT",
    "LINE_LIMIT",
    "MOST_FIELDS",
    "Format",
    "Mend",
    "Quoting",
    "Row",
    "Table",
    "absent_fields",
    "is_delimited",
    "no_rows",
    "read_header",
    "read_rows",
]


def is_delimited(kind: Format) -> bool:
    """Whether every row of such a file has the same columns, named once."""
    return kind in DELIMITERS or kind == "spaces"


def read_header(table: Table, *, problems: Problems | None = None) -> tuple[str, ...]:
    """The column names of a file; raises if they cannot be used. Of records, the fields of the first that has any."""
    gathered = Problems() if problems is None else problems
    if is_delimited(table.format):
        return header_of(table, gathered)
    listed = (tuple(islice(cells, MOST_FIELDS)) for *_, cells in record_cells(table, gathered))
    return next((fields for fields in listed if fields), ())


def no_rows(file: str) -> Problem:
    """What is wrong with a file of records that has no field at all."""
    return Problem("there is no row with a field", file=file, allowed="rows whose fields have names")


def absent_fields(table: Table, fields: Sequence[str], problems: Problems) -> list[str]:
    """The columns or paths that no row of the file has. Reads on only until each was seen."""
    if is_delimited(table.format):
        header = header_of(table, problems)
        return [field for field in fields if field not in header]
    absent = list(dict.fromkeys(fields))
    if absent:
        for _number, _line, cells in record_cells(table, Problems()):  # faults are told when it is read for good
            absent = [field for field in absent if not cells.has(field)]
            if not absent:
                break
    return absent


def read_rows(table: Table, *, mend: Mend | None = None, problems: Problems | None = None) -> Iterator[Row]:
    """Stream the sound rows of a file.

    A bad row is not yielded. Its problem is added to `problems`, for the caller to raise; without
    `problems`, all that were found are raised when the file ends. A fault that leaves the rest of
    the file unreadable is raised at once.
    """
    gathered = Problems() if problems is None else problems
    rows = delimited_rows(table, gathered, mend) if is_delimited(table.format) else record_rows(table, gathered)
    where = tuple(table.where.items())
    yield from (row for row in rows if all(row.cells[path] == value for path, value in where)) if where else rows
    if problems is None:
        gathered.raise_if_any()
