"""Taking in cases and artifacts."""

from collections.abc import Callable, Iterable
from datetime import datetime

from core.identity import sequence_hash, text_hash, value_hash
from core.models import Project
from judges.intake.rows import ArtifactRow, CaseRow
from judges.models import Artifact, Case, CaseSet, SystemVersion
from judges.services.loads import Load, LoadCounts, load_rows, part_of
from judges.services.rows import as_json, found, rows_write

CASE = ("case_set_id", "case_id", "version", "input_hash", "slices", "partition", "cluster")
CASES_BY_ID = "SELECT case_id, id FROM judges_case WHERE case_id {keys} AND case_set_id = %s"
NO_EVIDENCE = sequence_hash(())
ARTIFACT = ("case_id", "system_version_id", "parts", "output_hash", "evidence_hash")


def case_set_load(
    *,
    project: Project,
    name: str,
    version: str,
    rows: Iterable[CaseRow],
    partition: str,
    file: str,
    now: datetime,
    load: Load | None = None,
) -> tuple[CaseSet, LoadCounts]:
    """Load a case set, or check that the one already there holds exactly these cases.

    With `load`, it becomes visible with everything else that is part of that.
    """
    with part_of(load, project=project, now=now) as part:
        case_set = part.begin(CaseSet, project=project, name=name, version=version)

        def stored(case_ids: list[str]) -> dict[str, str]:
            fields = ("input_hash", "slices", "partition", "cluster")
            rows = case_set.cases.filter(case_id__in=case_ids).values_list("case_id", *fields)
            return {case_id: value_hash(content) for case_id, *content in rows}

        def given(row: CaseRow) -> str:
            return value_hash([text_hash(row.input), dict(row.slices), row.partition or partition, row.cluster])

        counts = load_rows(
            part,
            case_set,
            rows,
            prepare=lambda chunk: _cases_written(part, case_set, chunk, partition),
            given=given,
            stored=stored,
            count=case_set.cases.count,
            file=file,
        )
    return case_set, counts


def _cases_written(load: Load, case_set: CaseSet, rows: list[CaseRow], partition: str) -> Callable[[], None]:
    values = [
        (
            case_set.pk,
            row.case_id,
            1,
            load.texts.add(row.input),
            as_json(dict(row.slices)),
            row.partition or partition,
            row.cluster,
        )
        for row in rows
    ]
    return lambda: rows_write(Case, CASE, values)


def artifacts_load(
    *,
    case_set: CaseSet,
    system_version: str,
    rows: Iterable[ArtifactRow],
    file: str,
    now: datetime,
    load: Load | None = None,
) -> tuple[SystemVersion, LoadCounts]:
    """Load one system version's artifacts, or check that those already there are exactly these."""
    with part_of(load, project=case_set.project, now=now) as part:
        system = part.begin(SystemVersion, case_set=case_set, name=system_version)

        def stored(case_ids: list[str]) -> dict[str, str]:
            artifacts = system.artifacts.filter(case__case_id__in=case_ids)
            hashes = artifacts.values_list("case__case_id", "output_hash", "evidence_hash")
            return {case_id: value_hash(content) for case_id, *content in hashes}

        def given(row: ArtifactRow) -> str:
            return value_hash([text_hash(row.output), sequence_hash(map(text_hash, row.evidence))])

        counts = load_rows(
            part,
            system,
            rows,
            prepare=lambda chunk: _artifacts_written(part, system, chunk),
            given=given,
            stored=stored,
            count=system.artifacts.count,
            file=file,
        )
    return system, counts


def _artifacts_written(load: Load, system: SystemVersion, rows: list[ArtifactRow]) -> Callable[[], None]:
    cases = dict(found(CASES_BY_ID, [row.case_id for row in rows], system.case_set_id))
    values = []
    for row in rows:
        output = load.texts.add(row.output)
        evidence = [load.texts.add(text) for text in row.evidence]
        parts = [["output", output], *([f"evidence {n}", sha256] for n, sha256 in enumerate(evidence, 1))]
        evidence_hash = sequence_hash(evidence) if evidence else NO_EVIDENCE
        values.append((cases[row.case_id], system.pk, as_json(parts), output, evidence_hash))
    return lambda: rows_write(Artifact, ARTIFACT, values)
