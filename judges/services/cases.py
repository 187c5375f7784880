"""Taking in cases and artifacts."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from core.errors import InputError, Problem
from core.identity import sequence_hash, text_hash, value_hash
from core.models import Project
from judges.intake.rows import ArtifactRow, CaseRow
from judges.models import Artifact, Case, CaseSet, LoadState, SystemVersion
from judges.services.loads import chunks, load_begin, load_complete, load_remove, load_touch
from judges.services.texts import texts_store


@dataclass
class Loaded:
    """What a load did: rows made, and rows that were there already with the same content."""

    created: int = 0
    duplicate: int = 0


def case_set_load(
    *, project: Project, name: str, version: str, rows: Iterable[CaseRow], partition: str, file: str, now: datetime
) -> tuple[CaseSet, Loaded]:
    """Load a case set, or check that the one already there holds exactly these cases."""
    case_set = load_begin(CaseSet, now=now, project=project, name=name, version=version)
    loaded = Loaded()
    if case_set.state == LoadState.COMPLETE:
        _check_cases(case_set, rows, partition, file, loaded)
        return case_set, loaded
    try:
        for chunk in chunks(rows):
            _write_cases(case_set, chunk, partition)
            loaded.created += len(chunk)
        load_complete(case_set)
    except BaseException:
        load_remove(case_set)
        raise
    return case_set, loaded


@transaction.atomic
def _write_cases(case_set: CaseSet, rows: list[CaseRow], partition: str) -> None:
    load_touch(case_set)
    hashes = texts_store(project=case_set.project, texts=[row.input for row in rows])
    Case.objects.bulk_create(
        Case(
            case_set=case_set,
            case_id=row.case_id,
            input_hash=input_hash,
            slices=dict(row.slices),
            partition=row.partition or partition,
            cluster=row.cluster or "",
        )
        for row, input_hash in zip(rows, hashes, strict=True)
    )


def _check_cases(case_set: CaseSet, rows: Iterable[CaseRow], partition: str, file: str, loaded: Loaded) -> None:
    problems: list[Problem] = []
    for chunk in chunks(rows):
        stored = {case.case_id: case for case in case_set.cases.filter(case_id__in=[row.case_id for row in chunk])}
        for row in chunk:
            case = stored.get(row.case_id)
            given = _case_content(text_hash(row.input), dict(row.slices), row.partition or partition, row.cluster)
            if case is None:
                problems.append(_frozen(case_set, file, row.number, row.case_id))
            elif (there := _case_content(case.input_hash, case.slices, case.partition, case.cluster)) != given:
                problems.append(_conflict(file, row.number, f"case {row.case_id}", there, given))
            else:
                loaded.duplicate += 1
    raise_conflicts(problems, f"case set {case_set}", case_set.cases.count(), loaded, file)


def artifacts_load(
    *, case_set: CaseSet, system_version: str, rows: Iterable[ArtifactRow], file: str, now: datetime
) -> tuple[SystemVersion, Loaded]:
    """Load one system version's artifacts, or check that those already there are exactly these."""
    system = load_begin(SystemVersion, now=now, case_set=case_set, name=system_version)
    loaded = Loaded()
    if system.state == LoadState.COMPLETE:
        _check_artifacts(system, rows, file, loaded)
        return system, loaded
    try:
        for chunk in chunks(rows):
            _write_artifacts(system, chunk)
            loaded.created += len(chunk)
        load_complete(system)
    except BaseException:
        load_remove(system)
        raise
    return system, loaded


@transaction.atomic
def _write_artifacts(system: SystemVersion, rows: list[ArtifactRow]) -> None:
    load_touch(system)
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


def _check_artifacts(system: SystemVersion, rows: Iterable[ArtifactRow], file: str, loaded: Loaded) -> None:
    problems: list[Problem] = []
    for chunk in chunks(rows):
        stored = {
            case_id: (output, evidence)
            for case_id, output, evidence in system.artifacts.filter(
                case__case_id__in=[row.case_id for row in chunk]
            ).values_list("case__case_id", "output_hash", "evidence_hash")
        }
        for row in chunk:
            given = (text_hash(row.output), sequence_hash(text_hash(text) for text in row.evidence))
            there = stored.get(row.case_id)
            if there is None:
                problems.append(_frozen(system, file, row.number, row.case_id))
            elif there != given:
                what = f"the artifact of case {row.case_id} by {system}"
                problems.append(_conflict(file, row.number, what, value_hash(there), value_hash(given)))
            else:
                loaded.duplicate += 1
    raise_conflicts(problems, f"system version {system}", system.artifacts.count(), loaded, file)


def raise_conflicts(problems: list[Problem], owner: str, stored: int, loaded: Loaded, file: str) -> None:
    """Refuse what differs from a complete load; so is a part of it, which would pass for the whole."""
    if not problems and loaded.duplicate != stored:
        what = f"{owner} is frozen with {stored} rows, {loaded.duplicate} given"
        problems.append(Problem(what, file=file, allowed="the same rows, or a new version"))
    if problems:
        raise InputError(problems)


def cases_by_id(case_set: CaseSet, case_ids: list[str]) -> dict[str, int]:
    """Primary keys of cases, in their latest version."""
    return dict(case_set.cases.filter(case_id__in=case_ids).order_by("version").values_list("case_id", "pk"))


def _case_content(input_hash: str, slices: dict[str, str], partition: str, cluster: str) -> str:
    return value_hash([input_hash, slices, partition, cluster])


def _conflict(file: str, row: int, what: str, stored: str, given: str) -> Problem:
    return Problem(
        f"{what} is stored with other content (stored {stored[:12]}, given {given[:12]})",
        file=file,
        row=row,
        allowed="the same content, or a new version",
    )


def _frozen(owner: object, file: str, row: int, case_id: str) -> Problem:
    return Problem(f"{owner} is frozen and has no case {case_id}", file=file, row=row, allowed="a new version")
