"""Roles applied to files: what the columns mean, and which case each row is about.

Everything streams. What is kept is one key per case, and one digest per case and source, to tell an
exact repetition (counted) from a contradiction (refused). With `problems` given, they are added there
for the caller to raise; without, each function raises what it found when its file ends.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from core.errors import Problem
from judges.intake.joins import Seen, columns_are_there, joined_rows, table_of
from judges.intake.names import case_faults, judgment_faults
from judges.intake.problems import Problems
from judges.intake.readers import Row, read_rows
from judges.intake.repairs import mend_for
from judges.intake.rows import LENGTH_BAND, ArtifactRow, CaseIndex, CaseRow, JudgmentRow, LabelRow, Tally, length_band
from judges.intake.specs import ReviewColumns, ReviewSource, Source


def read_cases(
    path: Path, source: Source, index: CaseIndex, *, problems: Problems | None = None, tally: Tally | None = None
) -> Iterator[CaseRow]:
    """The cases, in order; fills `index` on the way. Raise its problems before other files are joined to it."""
    tally = Tally() if tally is None else tally
    with _gathering(problems) as gathered:
        table = table_of(path, source)
        if not columns_are_there(_case_columns(source), table, gathered):
            return
        for row in read_rows(table, problems=gathered):
            tally.rows += 1
            case = _case(row, source)
            faults = list(case_faults(case, source))
            earlier = index.add(case.case_id, row.number)
            if earlier is not None:
                faults.append(_case_fault(f"the case id stands in row {earlier} already", case, source))
            for fault in faults:
                gathered.add(fault)
            if not faults:
                tally.taken += 1
                yield case
        if not tally.rows:
            gathered.add(Problem("there is no data row", file=source.file))


def read_artifacts(
    path: Path,
    source: Source,
    index: CaseIndex,
    *,
    cases: tuple[Path, Source] | None = None,
    problems: Problems | None = None,
    tally: Tally | None = None,
) -> Iterator[ArtifactRow]:
    """What was judged, one artifact per case. `cases` is the case source, which a repair needs."""
    tally = Tally() if tally is None else tally
    with _gathering(problems) as gathered:
        seen = Seen(source.file, "artifact", tally)
        for row, case_id in _source_rows(path, source, index, cases, gathered, tally):
            output = row.cells[source.output] if source.output else ""
            artifact = ArtifactRow(row.number, case_id, output, _cells(row, source.evidence))
            if seen.is_new(case_id, row.number, [artifact.output, artifact.evidence], gathered):
                yield artifact
        tally.absent = len(index) - len(seen)


def read_judgments(
    path: Path,
    source: Source,
    index: CaseIndex,
    *,
    cases: tuple[Path, Source] | None = None,
    problems: Problems | None = None,
    tally: Tally | None = None,
) -> Iterator[JudgmentRow]:
    """The raw responses of one run. A row without label and response is a missing judgment: counted, not yielded."""
    tally = Tally() if tally is None else tally
    with _gathering(problems) as gathered:
        seen = Seen(source.file, "judgment", tally)
        for row, case_id in _source_rows(path, source, index, cases, gathered, tally):
            judgment = _judgment(row, case_id, source)
            faults = list(judgment_faults(judgment, source))
            for fault in faults:
                gathered.add(fault)
            if faults:
                continue
            if not (judgment.label or "").strip() and not judgment.raw.strip():
                seen.says_nothing(case_id)
            elif seen.is_new(case_id, row.number, _content(judgment), gathered):
                yield judgment
        tally.absent = len(index) - len(seen)


def read_labels(
    path: Path,
    source: ReviewSource,
    index: CaseIndex,
    *,
    problems: Problems | None = None,
    tally: Tally | None = None,
) -> Iterator[LabelRow]:
    """The human labels, one row per case and side; a blank cell is no label from that author."""
    tally = Tally() if tally is None else tally
    with _gathering(problems) as gathered:
        if not columns_are_there(review_columns(source), table_of(path, source), gathered):
            return
        seen = {side: Seen(source.file, "set of labels", tally) for side in source.sides}
        for row, case_id in joined_rows(path, source, index, gathered, tally):
            for side, columns in source.sides.items():
                labels = _labels(row, case_id, side, columns)
                if not labels.authors and labels.adjudicated is None:
                    seen[side].says_nothing(case_id)
                elif seen[side].is_new(case_id, row.number, [labels.authors, labels.adjudicated], gathered):
                    yield labels
        tally.absent = len(index) - max(len(one) for one in seen.values())


@contextmanager
def _gathering(problems: Problems | None) -> Iterator[Problems]:
    gathered = Problems() if problems is None else problems
    yield gathered
    if problems is None:
        gathered.raise_if_any()


def _source_rows(
    path: Path,
    source: Source,
    index: CaseIndex,
    cases: tuple[Path, Source] | None,
    problems: Problems,
    tally: Tally,
) -> Iterator[tuple[Row, str]]:
    table = table_of(path, source)
    if columns_are_there(source_columns(source), table, problems):
        mend = mend_for(source, table, cases) if source.repair else None
        yield from joined_rows(path, source, index, problems, tally, mend)


def _case_columns(source: Source) -> list[tuple[str, str | None]]:
    slices = [(f"slices.{name}", column) for name, column in source.slices.items()]
    return [
        ("case_id", source.join.column),
        ("input", source.input),
        ("output", source.output),
        ("partition", source.partition),
        ("cluster", source.cluster),
        *slices,
    ]


def source_columns(source: Source) -> list[tuple[str, str | None]]:
    """(role, column) of a source of artifacts or judgments."""
    return [
        ("join", source.join.column),
        ("output", source.output),
        *[("evidence", column) for column in source.evidence],
        ("label", source.label),
        ("raw", source.raw),
        ("score", source.score),
        *[(f"provenance.{name}", column) for name, column in source.provenance.items()],
    ]


def review_columns(source: ReviewSource) -> list[tuple[str, str | None]]:
    """(role, column) of a file of human labels."""
    columns: list[tuple[str, str | None]] = [("join", source.join.column)]
    for side in source.sides.values():
        columns += [(f"authors.{author}", column) for author, column in side.authors.items()]
        columns.append(("adjudicated", side.adjudicated))
    return columns


def _case(row: Row, source: Source) -> CaseRow:
    def cell(column: str | None) -> str:
        return row.cells[column] if column else ""

    slices = {name: row.cells[column] for name, column in source.slices.items() if row.cells[column].strip()}
    if source.output and LENGTH_BAND not in source.slices:
        slices[LENGTH_BAND] = length_band(row.cells[source.output])
    case_id = row.cells[source.join.column] if source.join.column else str(row.number)
    return CaseRow(row.number, case_id, cell(source.input), slices, cell(source.partition), cell(source.cluster))


def _case_fault(what: str, case: CaseRow, source: Source) -> Problem:
    return Problem(
        what, source.file, case.number, source.join.column or "", value=case.case_id, allowed="one row per id"
    )


def _cells(row: Row, columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(row.cells[column] for column in columns)


def _judgment(row: Row, case_id: str, source: Source) -> JudgmentRow:
    return JudgmentRow(
        number=row.number,
        case_id=case_id,
        label=row.cells[source.label] if source.label else None,
        raw=row.cells[source.raw] if source.raw else "",
        seen_output=row.cells[source.output] if source.output else None,
        seen_evidence=_cells(row, source.evidence) if source.evidence else None,
        provenance={name: row.cells[col].strip() for name, col in source.provenance.items() if row.cells[col].strip()},
        score=row.cells[source.score].strip() if source.score else "",
    )


def _content(judgment: JudgmentRow) -> list[object]:
    seen: list[object] = [judgment.seen_output, judgment.seen_evidence]
    return [judgment.label, judgment.raw, *seen, dict(judgment.provenance), judgment.score]


def _labels(row: Row, case_id: str, side: str, columns: ReviewColumns) -> LabelRow:
    def label(column: str | None) -> str | None:
        return (row.cells[column].strip() or None) if column else None

    found = {author: label(column) for author, column in columns.authors.items()}
    authors: Mapping[str, str] = {author: text for author, text in found.items() if text is not None}
    return LabelRow(row.number, case_id, side, authors, label(columns.adjudicated))
