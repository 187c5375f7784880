"""Repeats of one judge version as a file: one row per case, one column for each repeat.

Columns: `case_id`, optional `stratum`, optional `reference` (the human label, blank where there is none), then the
repeats under names of their own. A blank cell is a case that the repeat did not cover; an invalid reading has a text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from audits.exports.cells import recovered
from core.errors import Problem
from judges.intake.problems import Problems
from judges.intake.readers import Table, read_header, read_rows

CASE, STRATUM, REFERENCE = "case_id", "stratum", "reference"


@dataclass(frozen=True)
class Repeats:
    """`labels` by repeat; `references` and `strata` are None where the file has no such column."""

    labels: Mapping[str, list[str | None]]
    references: list[str | None] | None
    strata: list[str] | None


def repeats_read(path: Path) -> Repeats:
    """Raises `InputError` with every problem: file, row, column, value, what is allowed."""
    problems = Problems()
    table = Table(path, "csv")
    header = read_header(table, problems=problems)
    problems.raise_if_any()
    if CASE not in header:
        problems.add(Problem("a column is missing", file=path.name, column=CASE, allowed="one row per case"))
    columns: dict[str, list[str]] = {name: [] for name in header}
    seen: set[str] = set()
    for row in read_rows(table, problems=problems):
        cells = {name: recovered(row.cells[name]) for name in header}
        if cells.get(CASE, "") in seen:
            what, value = "the case stands in an earlier row", cells.get(CASE, "")
            problems.add(Problem(what, path.name, row.number, CASE, value=value, allowed="one row per case"))
        seen.add(cells.get(CASE, ""))
        for name, cell in cells.items():
            columns[name].append(cell)
    if not seen and not problems.total:
        problems.add(Problem("there is no data row", file=path.name))
    problems.raise_if_any()
    return Repeats(
        labels={name: _labels(cells) for name, cells in columns.items() if name not in (CASE, STRATUM, REFERENCE)},
        references=_labels(columns[REFERENCE]) if REFERENCE in columns else None,
        strata=columns.get(STRATUM),
    )


def _labels(cells: list[str]) -> list[str | None]:
    return [cell or None for cell in cells]
