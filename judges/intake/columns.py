"""Roles applied to files: what the columns mean, and which case each row is about.

Everything streams. What is kept is one key per case, and one digest per case and source, to tell an
exact repetition (counted) from a contradiction (refused). With `problems` given, they are added there
for the caller to raise; without, each function raises what it found when its file ends.
"""

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from core.errors import Problem
from judges.intake.joins import (
    Located,
    Occurrences,
    PlacedRows,
    Seen,
    case_id_of,
    columns_are_there,
    joined_rows,
    tables_of,
)
from judges.intake.names import case_faults, label_fault, recorded_faults, version_faults
from judges.intake.problems import Problems
from judges.intake.readers import Row
from judges.intake.repairs import mend_for
from judges.intake.rows import (
    LENGTH_BAND,
    NOTHING_RECORDED,
    ArtifactRow,
    CaseIndex,
    CaseRow,
    JudgmentRow,
    LabelRow,
    Recorded,
    Tally,
    length_band,
)
from judges.intake.specs import ReviewColumns, ReviewSource, Source
from judges.intake.streams import Meter


def read_cases(
    path: Located,
    source: Source,
    index: CaseIndex,
    *,
    problems: Problems | None = None,
    tally: Tally | None = None,
    meter: Meter | None = None,
) -> Iterator[CaseRow]:
    """The cases, in order; fills `index` on the way. Raise its problems before other files are joined to it."""
    tally = Tally() if tally is None else tally
    with _gathering(problems) as gathered:
        columns = case_columns(source)
        tables = tables_of(path, source, _named(columns), meter)
        if not columns_are_there(columns, tables, gathered):
            return
        occurrences, columns_of_id = Occurrences(source.layout.occurrence), source.join.columns
        placed = PlacedRows(tables, gathered)
        for place, row in placed:
            tally.rows += 1
            case_id = case_id_of(row, columns_of_id) if columns_of_id else str(place)
            if isinstance(case_id, Problem):
                gathered.add(case_id)
                continue
            if not occurrences.wants(case_id):
                continue
            earlier = index.add(case_id, place)
            if case_id in index.left_out:
                tally.left_out += 1
                continue
            case = _case(place, row, case_id, source)
            faults = case_faults(case, source)
            if earlier is not None:
                faults.append(_case_fault(f"the case id stands in row {earlier} already", case, source))
            for fault in faults:
                gathered.add(_at(row, fault), case_id)
            if not faults:
                tally.taken += 1
                yield case
        index.reach(placed.last)
        if not tally.rows:
            gathered.add(Problem("there is no data row", file=source.file))


def read_artifacts(
    path: Located,
    source: Source,
    index: CaseIndex,
    *,
    cases: tuple[Located, Source] | None = None,
    problems: Problems | None = None,
    tally: Tally | None = None,
) -> Iterator[ArtifactRow]:
    """What was judged, one artifact per case. `cases` is the case source, which a repair needs."""
    tally = Tally() if tally is None else tally
    with _gathering(problems) as gathered:
        seen = Seen("artifact", tally, index)
        for place, row, case_id in _source_rows(path, source, index, cases, gathered, tally):
            output = row.cells[source.output] if source.output else ""
            artifact = ArtifactRow(place, case_id, output, _cells(row, source.evidence) if source.evidence else ())
            if seen.is_new(case_id, place, row, (artifact.output, artifact.evidence), gathered):
                yield artifact
        tally.absent = len(index) - len(seen)


def read_judgments(
    path: Located,
    source: Source,
    index: CaseIndex,
    *,
    cases: tuple[Located, Source] | None = None,
    problems: Problems | None = None,
    tally: Tally | None = None,
) -> Iterator[JudgmentRow]:
    """The raw responses of one run. A row without label and response is a missing judgment: counted, not yielded."""
    tally = Tally() if tally is None else tally
    with _gathering(problems) as gathered:
        seen, records_more = Seen("judgment", tally, index), _records_more(source)
        for place, row, case_id in _source_rows(path, source, index, cases, gathered, tally):
            cells, recorded = row.cells, _recorded(row, source) if records_more else NOTHING_RECORDED
            label = cells[source.label] if source.label else None
            raw = cells[source.raw] if source.raw else ""
            fault = label_fault(label, source) if label else None
            faults = [] if fault is None else [fault]
            if records_more:
                faults.extend(recorded_faults(recorded, source))
            if source.judge_version:
                faults.extend(version_faults(row, source))
            if faults:
                for fault in faults:
                    gathered.add(_at(row, fault), case_id)
            elif not (label and label.strip()) and not raw.strip():
                seen.says_nothing(case_id)
            elif seen.is_new(case_id, place, row, (label, raw, records_more and _content(recorded)), gathered):
                yield JudgmentRow(place, case_id, label, raw, recorded)
        tally.absent = len(index) - len(seen)


def read_labels(
    path: Located,
    source: ReviewSource,
    index: CaseIndex,
    *,
    problems: Problems | None = None,
    tally: Tally | None = None,
) -> Iterator[LabelRow]:
    """The human labels, one row per case and side; a blank cell is no label from that author."""
    tally = Tally() if tally is None else tally
    with _gathering(problems) as gathered:
        roles = review_columns(source)
        tables = tables_of(path, source, _named(roles))
        if not columns_are_there(roles, tables, gathered):
            return
        seen = {side: Seen("set of labels", tally, index) for side in source.sides}
        for place, row, case_id in joined_rows(tables, source, index, gathered, tally):
            for side, columns in source.sides.items():
                labels = _labels(place, row, case_id, side, columns)
                if not labels.authors and labels.adjudicated is None:
                    seen[side].says_nothing(case_id)
                elif seen[side].is_new(case_id, place, row, (*labels.authors.items(), labels.adjudicated), gathered):
                    yield labels
        tally.absent = len(index) - max(len(one) for one in seen.values())


@contextmanager
def _gathering(problems: Problems | None) -> Iterator[Problems]:
    gathered = Problems() if problems is None else problems
    yield gathered
    if problems is None:
        gathered.raise_if_any()


def _source_rows(
    path: Located,
    source: Source,
    index: CaseIndex,
    cases: tuple[Located, Source] | None,
    problems: Problems,
    tally: Tally,
) -> Iterator[tuple[int, Row, str]]:
    columns = source_columns(source)
    tables = tables_of(path, source, _named(columns))
    if columns_are_there(columns, tables, problems):
        mend = mend_for(source, tables[0], cases) if source.repair else None
        yield from joined_rows(tables, source, index, problems, tally, mend)


def _at(row: Row, problem: Problem) -> Problem:
    """The problem where a person finds it: in the row's own file."""
    return replace(problem, file=row.file, row=row.number)


def _named(columns: list[tuple[str, str | None]]) -> list[str]:
    return [column for _, column in columns if column is not None]


def case_columns(source: Source) -> list[tuple[str, str | None]]:
    """(role, column) of the source of cases."""
    slices = [(f"slices.{name}", column) for name, column in source.slices.items()]
    return [
        *[("case_id", column) for column in source.join.columns],
        ("input", source.input),
        ("output", source.output),
        ("partition", source.partition),
        ("cluster", source.cluster),
        *slices,
    ]


def source_columns(source: Source) -> list[tuple[str, str | None]]:
    """(role, column) of a source of artifacts or judgments."""
    return [
        *[("join", column) for column in source.join.columns],
        ("output", source.output),
        *[("evidence", column) for column in source.evidence],
        ("label", source.label),
        ("raw", source.raw),
        ("score", source.score),
        ("tokens", source.tokens),
        ("cost", source.cost),
        ("judge_version", source.judge_version),
        *[(f"provenance.{name}", column) for name, column in source.provenance.items()],
    ]


def review_columns(source: ReviewSource) -> list[tuple[str, str | None]]:
    """(role, column) of a file of human labels."""
    columns: list[tuple[str, str | None]] = [("join", column) for column in source.join.columns]
    for side in source.sides.values():
        columns += [(f"authors.{author}", column) for author, column in side.authors.items()]
        columns.append(("adjudicated", side.adjudicated))
    return columns


def _case(place: int, row: Row, case_id: str, source: Source) -> CaseRow:
    cells = row.cells
    slices = {name: cells[column] for name, column in source.slices.items() if cells[column].strip()}
    if source.output and LENGTH_BAND not in source.slices:
        slices[LENGTH_BAND] = length_band(cells[source.output])
    text = cells[source.input] if source.input else ""
    partition = cells[source.partition] if source.partition else ""
    cluster = cells[source.cluster] if source.cluster else ""
    return CaseRow(place, case_id, text, slices, partition, cluster)


def _case_fault(what: str, case: CaseRow, source: Source) -> Problem:
    return Problem(what, source.file, case.number, source.join.name, value=case.case_id, allowed="one row per id")


def _cells(row: Row, columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(row.cells[column] for column in columns)


def _records_more(source: Source) -> bool:
    """Whether there are columns beside label and response."""
    return any((source.output, source.evidence, source.provenance, source.score, source.tokens, source.cost))


def _recorded(row: Row, source: Source) -> Recorded:
    cells = row.cells
    said = {name: cells[column].strip() for name, column in source.provenance.items()}
    return Recorded(
        cells[source.output] if source.output else None,
        _cells(row, source.evidence) if source.evidence else None,
        {name: text for name, text in said.items() if text},
        *(cells[column].strip() if column else "" for column in (source.score, source.tokens, source.cost)),
    )


def _content(recorded: Recorded) -> Hashable:
    return (recorded.seen_output, recorded.seen_evidence, *recorded.provenance.items(), *recorded[3:])


def _labels(place: int, row: Row, case_id: str, side: str, columns: ReviewColumns) -> LabelRow:
    def label(column: str | None) -> str | None:
        return (row.cells[column].strip() or None) if column else None

    found = {author: label(column) for author, column in columns.authors.items()}
    authors: Mapping[str, str] = {author: text for author, text in found.items() if text is not None}
    return LabelRow(place, case_id, side, authors, label(columns.adjudicated))
