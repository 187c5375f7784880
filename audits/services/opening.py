"""Opening an audit: everything a manifest names is checked, then taken in, then set against each other."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from adjudication.models import Queue
from adjudication.services.queues import queue_open
from audits.manifest.refusals import NONE_REFUSED, Refusals
from audits.manifest.specs import Manifest
from audits.models import Audit, AuditState, JobKind
from audits.services.columns import columns_check
from audits.services.sizing import draft_size
from audits.services.telling import import_without_job_tell
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
from judges.intake.problems import FurtherProblems, Problems
from judges.intake.rows import CaseIndex, CaseRow, LabelRow, Tally
from judges.intake.specs import SIDES, SideName, SideSpec, Source
from judges.intake.streams import Meter
from judges.models import Artifact, Case, CaseSet, Comparison, Judgment, Reader, Reading, Run, SystemVersion
from judges.progress import Progress, silent
from judges.recorded import Intake as IntakeReport
from judges.services.cases import artifacts_load, case_set_load
from judges.services.comparisons import Further, comparison_count, comparison_store
from judges.services.holdouts import refuse_retired_named
from judges.services.loads import Load, LoadCounts, loading
from judges.services.publishing import (
    generator_ensure,
    mapping_publish,
    reader_ensure,
    rubric_conflict,
    rubric_publish,
)
from judges.services.rows import tables_measure
from judges.services.runs import run_load
from judges.summaries import summary_of

LISTED_VALUES = 20
OLD_NEW: dict[SideName, str] = {"baseline": "old", "candidate": "new"}


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
    opened: Callable[[Audit], None] | None = None,
    refusals: Refusals = NONE_REFUSED,
) -> Opened:
    """Take in what the manifest names into the actor's project, and leave a draft audit. The same manifest
    again changes nothing.

    Every file is read once, to its end: rows land in chunks that nobody sees, and all problems are raised at
    once. All that the manifest brings is then made visible by one transaction, of which `opened` is a part; one
    bad row anywhere, and it is removed. What `refusals` names is told already, and left out. `opened` is a job's, which
    tells webhooks of its end itself.
    """
    project = actor.project
    _refuse_another_project(project, manifest)
    _refuse_another_plan(project, manifest)
    _refuse_retired_holdout(project, manifest)
    problems = FurtherProblems(frozenset(refusals.rows))
    index = CaseIndex(refusals.cases)
    with loading(project=project, now=now, problems=problems, index=index) as load, _thread_beside() as beside:
        intake = _Intake(manifest, load, progress, index, beside)
        comparison, further = intake.read()
        known = IntakeReport([one.as_dict() for one in intake.files], len(refusals.rows), len(refusals.cases))
        summary = comparison_count(comparison, progress, further=further, intake=known)
        with transaction.atomic():
            load.complete()
            comparison = comparison_store(comparison, summary, further=further)
            audit = _draft(manifest, project, comparison, actor, now)
            if opened:
                opened(audit)
            else:
                import_without_job_tell(kind=JobKind.INTAKE, brought=audit, now=now)
    draft_size(audit=audit)
    columns_check(audit=audit, manifest=manifest, labels=_labels(manifest, intake.index, problems))
    return Opened(audit, intake.files, summary_of(comparison).integrity)


@contextmanager
def _thread_beside() -> Iterator[ThreadPoolExecutor]:
    """For what needs no turn of Python's. What it has not begun when the block ends is left."""
    pool = ThreadPoolExecutor(1, "beside")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _refuse_retired_holdout(project: Project, manifest: Manifest) -> None:
    """What was opened on a holdout before that was read stays; nothing new is decided on it."""
    known = Audit.objects.filter(project=project, name=manifest.migration_id, manifest_hash=manifest.hash)
    if "holdout" in manifest.partitions and not known.exists():
        refuse_retired_named(project, manifest.partitions["holdout"], key="partitions.holdout")


class _Intake:
    """One manifest on its way in, under one load."""

    def __init__(
        self, manifest: Manifest, load: Load, progress: Progress, index: CaseIndex, beside: ThreadPoolExecutor
    ) -> None:
        self.manifest = manifest
        self.load = load
        self.progress = progress
        self.index = index
        self.files: list[FileReading] = []
        judged = [*manifest.sources, *(one.source for one in manifest.further_runs)]
        paths = [manifest.path(source) for source in judged if source.judgments_of]
        self.hashes = {path: beside.submit(files_hash, path) for path in dict.fromkeys(paths)}

    def read(self) -> tuple[Comparison, list[Further]]:
        """Every file, and what is compared; or all problems."""
        problems = self.load.problems
        self._publish()
        published = problems.total
        case_set, sound = self._cases()
        before = problems.total
        _check_columns(self.manifest, problems)
        # Without the cases and the columns nothing that follows would be told truly.
        if not sound or problems.total > before:
            problems.raise_if_any()
        # Artifacts first, wherever they stand: a judgment is of an artifact.
        systems = self._artifacts(case_set)
        tables_measure(Case, Artifact)
        whole = problems.total == published
        sides = {
            side: self._run(self.manifest.sides[side], self.manifest.source_of(side), systems, whole) for side in SIDES
        }
        further = [
            Further(OLD_NEW[one.side], one.role, *self._run(one.spec, one.source, systems, whole))
            for one in self.manifest.further_runs
        ]
        for review in self.manifest.reviews_there:
            for _ in read_labels(self.manifest.path(review), review, self.index, problems=problems):
                pass
        problems.raise_if_any()
        self.load.store_texts(self.progress)
        tables_measure(Judgment, Reading)
        return self._comparison(sides), further

    def _publish(self) -> None:
        project = self.load.project
        if conflict := rubric_conflict(project=project, spec=self.manifest.rubric):
            self.load.conflict(conflict)
        for mapping in self.manifest.mappings.values():
            mapping_publish(project=project, spec=mapping, load=self.load)

    def _cases(self) -> tuple[CaseSet, bool]:
        """The case set, and whether every row of its file was sound."""
        manifest, load = self.manifest, self.load
        path, source = _located(manifest)
        reading = FileReading(source.file, "cases", Tally())
        seen: dict[str, set[str]] = {name: set() for name, _ in manifest.blocking_slices}
        before = load.faults
        meter = Meter(path)
        rows = read_cases(path, source, self.index, problems=load.problems, tally=reading.tally, meter=meter)
        case_set, reading.loaded = case_set_load(
            project=load.project,
            name=manifest.case_set_name,
            version=manifest.case_set_version,
            follows=manifest.case_set_follows,
            rows=_noting_slices(self.progress(reading.what, rows, None, meter), seen),
            partition=manifest.partition,
            file=source.file,
            now=load.now,
            load=load,
        )
        self.files.append(reading)
        sound = load.faults == before
        if sound:
            _check_blocking(manifest, seen, load.problems)
        return case_set, sound

    def _artifacts(self, case_set: CaseSet) -> dict[str, SystemVersion]:
        """One system version in a swap, two in an upgrade, by name."""
        systems: dict[str, SystemVersion] = {}
        for source in self.manifest.sources:
            for name in dict.fromkeys(self.manifest.sides[side].system_version for side in source.artifacts_of):
                reading = FileReading(source.file, f"artifacts of {name}", Tally())
                systems[name], reading.loaded = artifacts_load(
                    case_set=case_set,
                    system_version=name,
                    rows=self._rows(source, reading),
                    file=source.file,
                    now=self.load.now,
                    load=self.load,
                )
                self.files.append(reading)
        return systems

    def _run(
        self, spec: SideSpec, source: Source, systems: dict[str, SystemVersion], whole: bool
    ) -> tuple[Run, Reader]:
        load, side = self.load, source.judgments_of
        what = f"judgments of {side}" if source.further is None else f"{source.further} of {side}, run {spec.run}"
        reading = FileReading(source.file, what, Tally())
        reader = reader_ensure(project=load.project, spec=spec.reader, load=load)
        run, reading.loaded = run_load(
            generator=generator_ensure(project=load.project, spec=spec.generator, load=load),
            system=systems[spec.system_version],
            spec=spec,
            rows=self._rows(source, reading),
            file=source.file,
            now=load.now,
            reader=reader,
            load=load,
            whole=whole,
            file_hash=self.hashes[self.manifest.path(source)].result(),
            reading_hash=source.reading_hash(),
        )
        self.files.append(reading)
        return run, reader

    def _rows(self, source: Source, reading: FileReading) -> Iterator[Any]:
        read = read_judgments if source.judgments_of else read_artifacts
        path, cases = self.manifest.path(source), _located(self.manifest)
        rows = read(path, source, self.index, cases=cases, problems=self.load.problems, tally=reading.tally)
        return self.progress(reading.what, rows, len(self.index))

    def _comparison(self, sides: dict[SideName, tuple[Run, Reader]]) -> Comparison:
        manifest = self.manifest
        (old, old_reader), (new, new_reader) = (sides[side] for side in SIDES)
        return Comparison(
            project=self.load.project,
            name=manifest.migration_id,
            kind=manifest.kind,
            case_set=old.case_set,
            partition=manifest.partition,
            old_run=old,
            old_reader=old_reader,
            new_run=new,
            new_reader=new_reader,
            labels=[label.label for label in manifest.rubric.scale],
            rules=asdict(manifest.integrity),
            slices=list(manifest.slices),
            blocking_slices=[f"{name}={value}" for name, value in manifest.blocking_slices],
            repeat_summary=manifest.repeats.summary,
        )


def _noting_slices(rows: Iterator[CaseRow], seen: dict[str, set[str]]) -> Iterator[CaseRow]:
    """Pass cases on, and note which values the slices named in `seen` have."""
    for row in rows:
        for name, values in seen.items():
            values.add(row.slices.get(name, ""))
        yield row


def _labels(manifest: Manifest, index: CaseIndex, problems: Problems) -> Iterator[tuple[LabelRow, str]]:
    for review in manifest.reviews_there:
        for row in read_labels(manifest.path(review), review, index, problems=problems):
            yield row, review.mapping


def _check_columns(manifest: Manifest, problems: Problems) -> None:
    """Columns of every other file, so that a fault in the cases does not hide them."""
    for source in manifest.sources[1:]:
        columns_are_there(source_columns(source), tables_of(manifest.path(source), source), problems)
    for review in manifest.reviews_there:
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


def _located(manifest: Manifest) -> tuple[Any, Source]:
    return manifest.path(manifest.case_source), manifest.case_source


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
