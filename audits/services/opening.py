"""Opening an audit: everything a manifest names is checked, then taken in, then set against each other."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from django.db import transaction

from adjudication.models import Queue
from adjudication.services.queues import queue_open
from audits.manifest.specs import Manifest
from audits.models import Audit, AuditState
from audits.services.columns import columns_check
from audits.services.sizing import draft_size
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.identity import files_hash, value_hash
from core.models import Author, Project
from judges.intake.columns import (
    read_artifacts,
    read_cases,
    read_judgments,
    read_labels,
    review_columns,
    source_columns,
)
from judges.intake.joins import columns_are_there, tables_of
from judges.intake.problems import Problems
from judges.intake.rows import CaseIndex, LabelRow, Tally
from judges.intake.specs import SIDES, ReviewSource, SideName, SideSpec, Source
from judges.models import CaseSet, Comparison, Reader, Run, SystemVersion
from judges.services.cases import artifacts_load, case_set_load
from judges.services.comparisons import Further, comparison_open
from judges.services.loads import LoadCounts
from judges.services.publishing import generator_ensure, mapping_publish, reader_ensure, rubric_publish
from judges.services.runs import run_load
from judges.summaries import summary_of

LISTED_VALUES = 20
OLD_NEW: dict[SideName, str] = {"baseline": "old", "candidate": "new"}

Row = TypeVar("Row")
Progress = Callable[[str, Iterator[Any]], Iterator[Any]]


def silent(what: str, rows: Iterator[Row]) -> Iterator[Row]:
    return rows


@dataclass
class FileReading:
    """What one reading of one file came to."""

    file: str
    what: str
    tally: Tally
    loaded: LoadCounts = field(default_factory=LoadCounts)

    def as_dict(self) -> dict[str, Any]:
        return {"file": self.file, "what": self.what, **asdict(self.tally), **asdict(self.loaded)}


@dataclass
class Opened:
    audit: Audit
    files: list[FileReading]
    integrity: dict[str, Any]


def audit_open(
    *,
    manifest: Manifest,
    actor: Author,
    now: datetime,
    progress: Progress = silent,
    checked: CaseIndex | None = None,
) -> Opened:
    """Take in what the manifest names into the actor's project, and leave a draft audit. The same manifest
    again changes nothing.

    Every file is read and checked before anything is stored, so that one bad row anywhere leaves nothing
    behind; `checked` is what `manifest_check` gave, where the caller had to know before. Rows then land in
    chunks under their load, which shows only when it is complete.
    """
    project = actor.project
    _refuse_another_project(project, manifest)
    _refuse_another_plan(project, manifest)
    index = manifest_check(manifest, progress) if checked is None else checked
    rubric = rubric_publish(project=project, spec=manifest.rubric)
    for mapping in manifest.mappings.values():
        mapping_publish(project=project, spec=mapping)
    files: list[FileReading] = []
    case_set = _load_cases(manifest, project, now, progress, files)
    systems = _load_artifacts(manifest, case_set, index, now, progress, files)
    load = partial(_load_run, manifest, systems, index, now, progress, files)
    sides = {side: load(side, manifest.sides[side], manifest.source_of(side)) for side in SIDES}
    further = [
        Further(OLD_NEW[one.side], one.role, *load(one.side, one.spec, one.source)) for one in manifest.further_runs
    ]
    comparison = comparison_open(
        project=project,
        name=manifest.migration_id,
        kind=manifest.kind,
        partition=manifest.partition,
        old=sides["baseline"],
        new=sides["candidate"],
        labels=rubric.labels,
        rules=asdict(manifest.integrity),
        slices=list(manifest.slices),
        blocking_slices=[f"{name}={value}" for name, value in manifest.blocking_slices],
        further=further,
        repeat_summary=manifest.repeats.summary,
        files=[one.as_dict() for one in files],
    )
    audit = _draft(manifest, project, comparison, actor, now)
    draft_size(audit=audit)
    columns_check(audit=audit, manifest=manifest, labels=_labels(manifest, index))
    return Opened(audit, files, summary_of(comparison).integrity)


def manifest_check(manifest: Manifest, progress: Progress = silent) -> CaseIndex:
    """Read every file to its end and raise all problems at once; nothing is stored."""
    problems = Problems()
    index = CaseIndex()
    seen: dict[str, set[str]] = {name: set() for name, _ in manifest.blocking_slices}
    for case in progress("checking cases", read_cases(*_located(manifest), index, problems=problems)):
        for name, values in seen.items():
            values.add(case.slices.get(name, ""))
    _check_columns(manifest, problems)
    problems.raise_if_any()
    _check_blocking(manifest, seen, problems)
    _check_sources(manifest, index, problems, progress)
    for review in _reviews_there(manifest):
        for _ in read_labels(manifest.path(review), review, index, problems=problems):
            pass
    problems.raise_if_any()
    return index


def _reviews_there(manifest: Manifest) -> list[ReviewSource]:
    """Files of labels that exist by now: most come only after the draw."""
    return [review for review in manifest.reviews if set(review.layout.files) <= set(manifest.paths)]


def _labels(manifest: Manifest, index: CaseIndex) -> Iterator[tuple[LabelRow, str]]:
    for review in _reviews_there(manifest):
        for row in read_labels(manifest.path(review), review, index):
            yield row, review.mapping


def _check_columns(manifest: Manifest, problems: Problems) -> None:
    """Columns of every other file, so that a fault in the cases does not hide them."""
    for source in manifest.sources[1:]:
        columns_are_there(source_columns(source), tables_of(manifest.path(source), source), problems)
    for review in _reviews_there(manifest):
        columns_are_there(review_columns(review), tables_of(manifest.path(review), review), problems)


def _check_blocking(manifest: Manifest, seen: dict[str, set[str]], problems: Problems) -> None:
    """A blocking slice that no case is in would protect nothing, without a word."""
    for place, (name, value) in enumerate(manifest.blocking_slices):
        if value not in seen[name]:
            allowed = ", ".join(f"{name}={found}" for found in sorted(seen[name])[:LISTED_VALUES])
            problems.add(
                Problem(
                    "no case is in this slice",
                    file=manifest.name,
                    key=f"blocking_slices[{place}]",
                    value=f"{name}={value}",
                    allowed=allowed,
                )
            )


def _check_sources(manifest: Manifest, index: CaseIndex, problems: Problems, progress: Progress) -> None:
    """Artifacts first, wherever they stand: a judgment is of an artifact."""
    answered: dict[str, set[str]] = {side.system_version: set() for side in manifest.sides.values()}
    for source in manifest.sources:
        if not source.judgments_of:
            rows = progress(f"checking {source.file}", _rows(manifest, source, index, problems, Tally()))
            cases = {row.case_id for row in rows}
            for side in source.artifacts_of:
                answered[manifest.sides[side].system_version] |= cases
    sound = not problems.total
    for source in manifest.sources:
        if source.judgments_of:
            system = manifest.sides[source.judgments_of].system_version
            for row in progress(f"checking {source.file}", _rows(manifest, source, index, problems, Tally())):
                if sound and row.case_id not in answered[system]:
                    what = f"a judgment of a case for which {system} has no artifact"
                    problems.add(Problem(what, file=source.file, row=row.number, value=row.case_id))


def _located(manifest: Manifest) -> tuple[Any, Source]:
    return manifest.path(manifest.case_source), manifest.case_source


def _rows(
    manifest: Manifest, source: Source, index: CaseIndex, problems: Problems | None, tally: Tally
) -> Iterator[Any]:
    if source.judgments_of:
        return read_judgments(
            manifest.path(source), source, index, cases=_located(manifest), problems=problems, tally=tally
        )
    if source.artifacts_of:
        return read_artifacts(
            manifest.path(source), source, index, cases=_located(manifest), problems=problems, tally=tally
        )
    return iter(())


def _refuse_another_project(project: Project, manifest: Manifest) -> None:
    if manifest.project != project.name:
        what = "the manifest is for another project"
        raise InputError(Problem(what, file=manifest.name, key="project", value=manifest.project, allowed=project.name))


def _refuse_another_plan(project: Project, manifest: Manifest) -> None:
    existing = Audit.objects.filter(project=project, name=manifest.migration_id).first()
    if existing is not None and existing.state != AuditState.DRAFT and existing.manifest_hash != manifest.hash:
        raise InputError(
            Problem(
                f"an audit of this name is registered from another manifest (stored {existing.manifest_hash[:12]}, "
                f"given {manifest.hash[:12]})",
                file=manifest.name,
                key="migration_id",
                value=manifest.migration_id,
                allowed="the same manifest, or another migration_id",
            )
        )


def _load_cases(
    manifest: Manifest, project: Project, now: datetime, progress: Progress, files: list[FileReading]
) -> CaseSet:
    path, source = _located(manifest)
    reading = FileReading(source.file, "cases", Tally())
    case_set, reading.loaded = case_set_load(
        project=project,
        name=manifest.case_set_name,
        version=manifest.case_set_version,
        rows=progress("cases", read_cases(path, source, CaseIndex(), tally=reading.tally)),
        partition=manifest.partition,
        file=source.file,
        now=now,
    )
    files.append(reading)
    return case_set


def _load_artifacts(
    manifest: Manifest,
    case_set: CaseSet,
    index: CaseIndex,
    now: datetime,
    progress: Progress,
    files: list[FileReading],
) -> dict[str, SystemVersion]:
    """One system version in a swap, two in an upgrade, by name."""
    systems: dict[str, SystemVersion] = {}
    for source in manifest.sources:
        for name in dict.fromkeys(manifest.sides[side].system_version for side in source.artifacts_of):
            reading = FileReading(source.file, f"artifacts of {name}", Tally())
            systems[name], reading.loaded = artifacts_load(
                case_set=case_set,
                system_version=name,
                rows=progress(reading.what, _rows(manifest, source, index, None, reading.tally)),
                file=source.file,
                now=now,
            )
            files.append(reading)
    return systems


def _load_run(
    manifest: Manifest,
    systems: dict[str, SystemVersion],
    index: CaseIndex,
    now: datetime,
    progress: Progress,
    files: list[FileReading],
    side: SideName,
    spec: SideSpec,
    source: Source,
) -> tuple[Run, Reader]:
    project = systems[spec.system_version].case_set.project
    what = f"judgments of {side}" if source.further is None else f"{source.further} of {side}, run {spec.run}"
    reading = FileReading(source.file, what, Tally())
    run, reading.loaded = run_load(
        generator=generator_ensure(project=project, spec=spec.generator),
        system=systems[spec.system_version],
        spec=spec,
        rows=progress(reading.what, _rows(manifest, source, index, None, reading.tally)),
        file=source.file,
        now=now,
        file_hash=files_hash(manifest.path(source)),
        reading_hash=source.reading_hash(),
    )
    files.append(reading)
    return run, reader_ensure(project=project, spec=spec.reader)


@transaction.atomic
def _draft(manifest: Manifest, project: Project, comparison: Comparison, actor: Author, now: datetime) -> Audit:
    rubric = rubric_publish(project=project, spec=manifest.rubric)
    queue = queue_open(project=project, name=manifest.migration_id, rubric=rubric)
    plan = asdict(manifest.plan)
    content = {
        "manifest": manifest.text,
        "manifest_hash": manifest.hash,
        "plan": plan,
        "review": asdict(manifest.review) | {"sources": [asdict(review) for review in manifest.reviews]},
    }
    audit, created = Audit.objects.get_or_create(
        project=project,
        name=manifest.migration_id,
        defaults={"comparison": comparison, "rubric": rubric, "queue": queue, "opened_at": now, **content},
    )
    # A draft follows its manifest until it is registered.
    changed = not created and audit.manifest_hash != manifest.hash
    if changed:
        if Audit.objects.filter(pk=audit.pk, state=AuditState.DRAFT).update(rubric=rubric, **content) != 1:
            raise Refused(Problem(f"{audit} was registered meanwhile", allowed="another migration_id"))
        Queue.objects.filter(pk=queue.pk).update(rubric=rubric)
        audit.refresh_from_db()
    if created or changed:
        payload = {"audit": audit.pk, "manifest": manifest.hash, "plan": value_hash(plan)}
        name = "audits.audit-opened" if created else "audits.draft-changed"
        event_record(name=name, actor=actor, now=now, payload=payload)
    return audit
