"""How rows find their case, and what a second row about the same case means."""

from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from core.errors import Problem, shortened
from judges.intake.problems import Problems
from judges.intake.readers import Mend, Row, Table, absent_fields, no_rows, read_header, read_rows
from judges.intake.rows import CaseIndex, Tally
from judges.intake.specs import ReviewSource, Source
from judges.intake.streams import Meter

# Between the parts of a case id that several columns make; no part may hold it, so that no two ids can meet.
BETWEEN = "|"
LISTED_FIELDS = 60

Located = Path | tuple[Path, ...]  # where a source's file is, or its files


def tables_of(
    paths: Located, source: Source | ReviewSource, fields: Sequence[str] = (), meter: Meter | None = None
) -> tuple[Table, ...]:
    """The files of a source, to be read one after the other."""
    layout = source.layout
    found = (paths,) if isinstance(paths, Path) else paths
    names = layout.files if len(found) > 1 else (source.file,)
    return tuple(
        Table(
            path,
            source.format,
            source.quoting,
            name,
            layout.rows,
            layout.columns,
            layout.where,
            (*source.join.columns, *fields),
            meter,
        )
        for path, name in zip(found, names, strict=True)
    )


def columns_are_there(columns: Sequence[tuple[str, str | None]], tables: Sequence[Table], problems: Problems) -> bool:
    """Whether every (role, column) names a column of each file, or a path that a row has; others are problems."""
    before = problems.total
    for table in tables:
        wanted = [*columns, *((f"where.{column}", column) for column in table.where)]
        absent = set(absent_fields(table, [column for _, column in wanted if column is not None], problems))
        told = problems.total
        header = read_header(table, problems=problems) if absent else ()
        if absent and not header:
            if problems.total == told:
                problems.add(no_rows(table.name))
            continue
        for role, column in wanted:
            if column is not None and column in absent:
                close = get_close_matches(column, header, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                what = f"the role {role} names a column that is not in the file{hint}"
                allowed = ", ".join(map(shortened, header[:LISTED_FIELDS]))
                problems.add(Problem(what, file=table.name, value=column, allowed=allowed))
    return problems.total == before


class PlacedRows:
    """The rows of all files of a source, each with its number counted through them.

    `last` is the last number there is: of a sound row, or of one that was refused after it.
    """

    def __init__(self, tables: Sequence[Table], problems: Problems, mend: Mend | None = None) -> None:
        self.tables = tables
        self.problems = problems
        self.mend = mend
        self.last = 0

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        for table in self.tables:
            before = self.last
            for row in read_rows(table, mend=self.mend, problems=self.problems):
                self.last = before + row.number
                yield self.last, row
            self.last = max(self.last, before + self.problems.last_row(table.name))


def joined_rows(
    tables: Sequence[Table],
    source: Source | ReviewSource,
    index: CaseIndex,
    problems: Problems,
    tally: Tally,
    mend: Mend | None = None,
) -> Iterator[tuple[int, Row, str]]:
    """The rows of a source, each with its place and the id of its case; a row without one is a problem."""
    before, placed = problems.total, PlacedRows(tables, problems, mend)
    occurrences, columns = Occurrences(source.layout.occurrence), source.join.columns
    all_wanted, key = source.layout.occurrence is None, columns[0] if len(columns) == 1 else None
    known = index.row_of
    for place, row in placed:
        tally.rows += 1
        case_id: str | None = None if key is None else row.cells[key]
        if case_id not in known:
            case_id = _case_id(place, row, columns, source, index, problems, tally)
        if case_id is not None and (all_wanted or occurrences.wants(case_id)):
            yield place, row, case_id
    if source.layout.where and not tally.rows and problems.total == before:
        stated = ", ".join(f"{column}: {value}" for column, value in source.layout.where.items())
        problems.add(Problem("no row has these values", file=source.file, key="where", value=stated))
    # One row too many or too few means that rows and cases are out of step, anywhere: no row can be trusted.
    if source.join.column is None and placed.last != index.rows and problems.total == before:
        problems.add(
            Problem(
                f"{placed.last} data rows where the cases have {index.rows}, so they cannot be joined by row",
                file=source.file,
                allowed="the same rows in the same order, or a join by a column",
            )
        )


def case_id_of(row: Row, columns: tuple[str, ...]) -> str | Problem:
    """What the columns of a join say; several make one id."""
    if len(columns) == 1:
        return row.cells[columns[0]]
    parts = [row.cells[column] for column in columns]
    for column, part in zip(columns, parts, strict=True):
        if not part.strip() or BETWEEN in part:
            what = "a part of the case id is blank" if not part.strip() else f"a part of the case id holds {BETWEEN!r}"
            return Problem(what, row.file, row.number, column, value=part, allowed=f"a text without {BETWEEN!r}")
    return BETWEEN.join(parts)


def _case_id(
    place: int,
    row: Row,
    columns: tuple[str, ...],
    source: Source | ReviewSource,
    index: CaseIndex,
    problems: Problems,
    tally: Tally,
) -> str | None:
    case_id = case_id_of(row, columns) if columns else index.at(place)
    if isinstance(case_id, Problem):
        problems.add(case_id)
        return None
    if case_id is None or case_id in index.row_of:
        return case_id
    if case_id in index.spelled:
        return index.spelled[case_id]
    if case_id in index.left_out:
        tally.left_out += 1
        return None
    if case_id.strip() and source.layout.unknown_cases == "leave_out":
        tally.unknown += 1
        return None
    what = "no case has this id" if case_id.strip() else "the case id is blank"
    column, allowed = source.join.name, "an id of the case source"
    problems.add(Problem(what, row.file, row.number, column, value=case_id, allowed=allowed))
    return None


class Occurrences:
    """Which of several rows about one case is read: each, or the n-th."""

    def __init__(self, wanted: int | None) -> None:
        self.wanted = wanted
        self._rows = Counter[str]()

    def wants(self, case_id: str) -> bool:
        if self.wanted is None:
            return True
        self._rows[case_id] += 1
        return self._rows[case_id] == self.wanted


class Seen:
    """Which cases a reading has had a row about, and with what content.

    Two numbers for each case: where its row stands, and the hash of its content. Python's own hash will do: it is
    keyed anew in every process, and kept no longer than this reading.
    """

    def __init__(self, noun: str, tally: Tally, index: CaseIndex) -> None:
        self.noun = noun
        self.tally = tally
        self.index = index
        self._number = 0
        self._about = bytearray(index.rows + 1)
        self._places = array("q", bytes(8 * (index.rows + 1)))
        self._digests = array("q", bytes(8 * (index.rows + 1)))

    def __len__(self) -> int:
        return self._number

    def says_nothing(self, case_id: str) -> None:
        self.tally.missing += 1
        self._count(self.index.row_of[case_id])

    def is_new(self, case_id: str, place: int, row: Row, content: Hashable, problems: Problems) -> bool:
        """Whether this is the first row about the case. The same again is counted; something else is a problem."""
        case, digest = self.index.row_of[case_id], hash(content)
        first = self._places[case]
        if not first:
            self._count(case)
            self._places[case], self._digests[case] = place, digest
            self.tally.taken += 1
            return True
        if digest == self._digests[case]:
            self.tally.duplicates += 1
        else:
            what = f"a second {self.noun} for this case, other than the one in row {first}"
            allowed = f"one {self.noun} per case; repeats are told apart by where or occurrence"
            problems.add(Problem(what, row.file, row.number, value=case_id, allowed=allowed), case_id)
        return False

    def _count(self, case: int) -> None:
        self._number += not self._about[case]
        self._about[case] = 1
