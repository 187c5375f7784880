"""How rows find their case, and what a second row about the same case means."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from core.errors import Problem
from core.identity import value_hash
from judges.intake.problems import Problems
from judges.intake.readers import Mend, Row, Table, read_header, read_rows
from judges.intake.rows import CaseIndex, Tally
from judges.intake.specs import ReviewSource, Source


def table_of(path: Path, source: Source | ReviewSource) -> Table:
    return Table(path, source.format, source.quoting, source.file)


def columns_are_there(columns: Sequence[tuple[str, str | None]], table: Table, problems: Problems) -> bool:
    """Whether every (role, column) names a column of the file; each that does not is a problem."""
    header = read_header(table, problems=problems)
    absent = [(role, column) for role, column in columns if column is not None and column not in header]
    for role, column in absent:
        close = get_close_matches(column, header, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        problems.add(
            Problem(
                f"the role {role} names a column that is not in the file{hint}",
                file=table.name,
                value=column,
                allowed=", ".join(header),
            )
        )
    return not absent


def joined_rows(
    path: Path,
    source: Source | ReviewSource,
    index: CaseIndex,
    problems: Problems,
    tally: Tally,
    mend: Mend | None = None,
) -> Iterator[tuple[Row, str]]:
    """The rows of a file, each with the id of its case; a row without one is a problem."""
    before, last = problems.total, 0
    for row in read_rows(table_of(path, source), mend=mend, problems=problems):
        tally.rows += 1
        last = row.number
        case_id = _case_id(row, source, index, problems)
        if case_id is not None:
            yield row, case_id
    # One row too many or too few means that rows and cases are out of step, anywhere: no row can be trusted.
    if source.join.column is None and last != index.rows and problems.total == before:
        problems.add(
            Problem(
                f"{last} data rows where the cases have {index.rows}, so they cannot be joined by row",
                file=source.file,
                allowed="the same rows in the same order, or a join by a column",
            )
        )


def _case_id(row: Row, source: Source | ReviewSource, index: CaseIndex, problems: Problems) -> str | None:
    column = source.join.column
    if column is None:
        return index.at(row.number)
    case_id = row.cells[column]
    if case_id in index:
        return case_id
    what = "no case has this id" if case_id.strip() else "the case id is blank"
    problems.add(Problem(what, source.file, row.number, column, value=case_id, allowed="an id of the case source"))
    return None


class Seen:
    """Which cases a reading has had a row about, and with what content."""

    def __init__(self, file: str, noun: str, tally: Tally) -> None:
        self.file = file
        self.noun = noun
        self.tally = tally
        self._first: dict[str, tuple[int, str]] = {}

    def __len__(self) -> int:
        return len(self._first)

    def says_nothing(self, case_id: str) -> None:
        self.tally.missing += 1
        self._first.setdefault(case_id, (0, ""))

    def is_new(self, case_id: str, number: int, content: list[object], problems: Problems) -> bool:
        """Whether this is the first row about the case. The same again is counted; something else is a problem."""
        digest = value_hash(content)
        row, earlier = self._first.get(case_id, (0, ""))
        if not earlier:
            self._first[case_id] = (number, digest)
            self.tally.taken += 1
            return True
        if digest == earlier:
            self.tally.duplicates += 1
        else:
            what = f"a second {self.noun} for this case, other than the one in row {row}"
            problems.add(Problem(what, self.file, number, value=case_id, allowed=f"one {self.noun} per case"))
        return False
