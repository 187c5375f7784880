"""Taking in cases and artifacts."""

from collections.abc import Iterable
from datetime import datetime

from core.identity import sequence_hash, text_hash, value_hash
from core.models import Project
from judges.intake.rows import ArtifactRow, CaseRow
from judges.models import Artifact, Case, CaseSet, SystemVersion
from judges.services.loads import LoadCounts, load_begin, load_rows
from judges.services.texts import texts_store


def case_set_load(
    *, project: Project, name: str, version: str, rows: Iterable[CaseRow], partition: str, file: str, now: datetime
) -> tuple[CaseSet, LoadCounts]:
    """Load a case set, or check that the one already there holds exactly these cases."""
    case_set = load_begin(CaseSet, now=now, project=project, name=name, version=version)

    def stored(case_ids: list[str]) -> dict[str, str]:
        fields = ("input_hash", "slices", "partition", "cluster")
        found = case_set.cases.filter(case_id__in=case_ids).values_list("case_id", *fields)
        return {case_id: value_hash(content) for case_id, *content in found}

    counts = load_rows(
        case_set,
        rows,
        write=lambda chunk: _write_cases(case_set, chunk, partition),
        given=lambda row: value_hash([text_hash(row.input), dict(row.slices), row.partition or partition, row.cluster]),
        stored=stored,
        count=case_set.cases.count,
        file=file,
    )
    return case_set, counts


def _write_cases(case_set: CaseSet, rows: list[CaseRow], partition: str) -> None:
    hashes = texts_store(project=case_set.project, texts=[row.input for row in rows])
    Case.objects.bulk_create(
        Case(
            case_set=case_set,
            case_id=row.case_id,
            input_hash=input_hash,
            slices=dict(row.slices),
            partition=row.partition or partition,
            cluster=row.cluster,
        )
        for row, input_hash in zip(rows, hashes, strict=True)
    )


def artifacts_load(
    *, case_set: CaseSet, system_version: str, rows: Iterable[ArtifactRow], file: str, now: datetime
) -> tuple[SystemVersion, LoadCounts]:
    """Load one system version's artifacts, or check that those already there are exactly these."""
    system = load_begin(SystemVersion, now=now, case_set=case_set, name=system_version)

    def stored(case_ids: list[str]) -> dict[str, str]:
        found = system.artifacts.filter(case__case_id__in=case_ids)
        hashes = found.values_list("case__case_id", "output_hash", "evidence_hash")
        return {case_id: value_hash(content) for case_id, *content in hashes}

    counts = load_rows(
        system,
        rows,
        write=lambda chunk: _write_artifacts(system, chunk),
        given=lambda row: value_hash([text_hash(row.output), sequence_hash(map(text_hash, row.evidence))]),
        stored=stored,
        count=system.artifacts.count,
        file=file,
    )
    return system, counts


def _write_artifacts(system: SystemVersion, rows: list[ArtifactRow]) -> None:
    cases = cases_by_id(system.case_set, [row.case_id for row in rows])
    texts_store(project=system.case_set.project, texts=[text for row in rows for text in (row.output, *row.evidence)])
    Artifact.objects.bulk_create(_artifact(system, cases[row.case_id], row) for row in rows)


def _artifact(system: SystemVersion, case: int, row: ArtifactRow) -> Artifact:
    output = text_hash(row.output)
    evidence = [text_hash(text) for text in row.evidence]
    return Artifact(
        case_id=case,
        system_version=system,
        parts=[["output", output], *([f"evidence {n}", sha256] for n, sha256 in enumerate(evidence, 1))],
        output_hash=output,
        evidence_hash=sequence_hash(evidence),
    )


def cases_by_id(case_set: CaseSet, case_ids: list[str]) -> dict[str, int]:
    """Primary keys of cases, in their latest version."""
    return dict(case_set.cases.filter(case_id__in=case_ids).order_by("version").values_list("case_id", "pk"))
