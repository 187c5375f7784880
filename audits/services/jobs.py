"""Work that a page asks for: written down, taken by one worker, ended with its result or its problems.

Light to import, for the pages; what a job does is in `audits.services.working`.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from audits.models import Audit, Job, JobKind, JobState
from audits.services.telling import import_tell
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.models import Author
from core.pulse import DEAD_AFTER
from judges.intake.streams import Meter
from judges.services.loads import CHUNK

log = logging.getLogger(__name__)

Row = TypeVar("Row")

JOB_ASKED, JOB_CANCELLED = "audits.job-asked", "audits.job-cancelled"
SILENT_FOR = DEAD_AFTER + timedelta(seconds=30)  # then the next one begins; by then its load counts as dead too
ATTEMPTS = 5  # of a job that ends its worker, or finds the database away, each time
SIGN_OF_LIFE = timedelta(seconds=1)
OFTEN = 100  # rows after which the clock is read
NO_PROGRESS: dict[str, Any] = {"progress": "", "done": None, "expected": None}
OPEN = (JobState.WAITING, JobState.RUNNING)


@transaction.atomic
def job_ask(
    *, kind: JobKind, actor: Author, now: datetime, audit: Audit | None = None, asked: dict[str, Any] | None = None
) -> Job:
    """Write down what is wanted; the event wakes a worker once this commits, and a sweeper finds it otherwise."""
    try:
        with transaction.atomic():
            job = Job.objects.create(
                project=actor.project, audit=audit, kind=kind, actor=actor, asked=asked or {}, asked_at=now
            )
    except IntegrityError as error:  # one_open_job_per_audit: a second press, or a second lead
        raise Refused(_under_way(audit)) from error
    event_record(name=JOB_ASKED, actor=actor, now=now, payload={"job": job.pk})
    return job


def _under_way(audit: Audit | None) -> Problem:
    return Problem(f"work on {audit} is under way already", allowed="wait until it has ended")


def job_take(*, job: int, now: datetime) -> Job | None:
    """The job, if it is there to be done: of two workers who ask, one gets it."""
    silent = Q(state=JobState.RUNNING, touched_at__lt=now - SILENT_FOR)
    if _end(Job.objects.filter(silent, pk=job, attempt__gte=ATTEMPTS), now, state=JobState.BROKEN):
        log.error("job %s ended its worker %s times", job, ATTEMPTS)
        return None
    free = Q(state=JobState.WAITING) | silent
    taken = Job.objects.filter(free, pk=job).update(
        state=JobState.RUNNING, touched_at=now, attempt=F("attempt") + 1, **NO_PROGRESS
    )
    return Job.objects.select_related("project", "actor__project", "audit").get(pk=job) if taken else None


def job_touch(*, job: Job, now: datetime) -> None:
    """The sign of life of the worker that has it."""
    _held(job).update(touched_at=now)


def job_done(*, job: Job, audit: Audit | None, now: datetime) -> bool:
    return _end(_held(job), now, state=JobState.DONE, audit=audit, outcome=job.outcome)


def job_refused(*, job: Job, error: InputError, now: datetime) -> bool:
    return _end(_held(job), now, state=JobState.REFUSED, problems=[problem.as_dict() for problem in error.problems])


def job_broken(*, job: Job, now: datetime) -> bool:
    return _end(_held(job), now, state=JobState.BROKEN)


@transaction.atomic
def _end(held: QuerySet[Job], now: datetime, **change: Any) -> bool:
    """Whether it was there to be ended: another worker may have it by now, or somebody cancelled it."""
    job = held.values_list("pk", flat=True).first()
    if job is None or not held.update(ended_at=now, **NO_PROGRESS, **change):
        return False
    import_tell(job=Job.objects.select_related("project", "audit").get(pk=job), now=now)
    return True


def _held(job: Job) -> QuerySet[Job]:
    return Job.objects.filter(pk=job.pk, state=JobState.RUNNING, attempt=job.attempt)


def may_cancel(job: Job) -> bool:
    """An intake, until it has opened its audit; all else is one transaction."""
    return job.kind == JobKind.INTAKE and job.is_open and job.audit_id is None


@transaction.atomic
def job_cancel(*, job: Job, actor: Author, now: datetime) -> None:
    """End an intake that has not opened its audit. Its worker notices with the next chunk, and leaves nothing."""
    may_be = Job.objects.filter(pk=job.pk, kind=JobKind.INTAKE, state__in=OPEN, audit=None)
    if not _end(may_be, now, state=JobState.CANCELLED):
        raise Refused(Problem(f"{job} cannot be cancelled", allowed="an intake that has not opened its audit"))
    event_record(name=JOB_CANCELLED, actor=actor, now=now, payload={"job": job.pk})


class JobStopped(Exception):
    """The job was cancelled, or is another worker's by now: stop, and leave nothing."""


class JobProgress:
    """Passes rows on, says about once a second how many have passed, or how much of their file is read where their
    number is not known, and stops with a job that was ended."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.said_at: datetime | None = None

    def __call__(
        self, what: str, rows: Iterator[Row], expected: int | None = None, meter: Meter | None = None
    ) -> Iterator[Row]:
        def say() -> None:
            if meter is None:
                self._say(f"{what}: {number:,}{total} rows", number, expected)
            else:
                self._say(f"{what}: {number:,} rows, {meter.done:,} of {meter.size:,} bytes", meter.done, meter.size)

        self._say(f"{what} …", None, None)
        total, number = "" if expected is None else f" of {expected:,}", 0
        for number, row in enumerate(rows, 1):
            if number % CHUNK == 0 or (number % OFTEN == 0 and self._due()):
                say()
            yield row
        say()

    def opened(self, audit: Audit) -> None:
        """Tie the audit to the job, in the transaction that opens it: from then on nobody can cancel."""
        try:
            with transaction.atomic():
                tied = _held(self.job).update(audit=audit)
        except IntegrityError as error:  # one_open_job_per_audit
            raise Refused(
                Problem(f"work on {audit} is under way already", allowed="wait until it has ended")
            ) from error
        if not tied:
            raise JobStopped

    def _due(self) -> bool:
        return self.said_at is None or timezone.now() - self.said_at >= SIGN_OF_LIFE

    def _say(self, words: str, done: int | None, expected: int | None) -> None:
        self.said_at = timezone.now()
        said = {"progress": words[:200], "done": done, "expected": expected, "touched_at": self.said_at}
        try:
            held = _held(self.job).update(**said)
        except OperationalError as error:
            if connection.vendor != "sqlite":
                raise
            # SQLite lets nobody write who still reads of a moment that has passed; the pulse says that we are alive.
            log.info("progress of %s was not noted (%s)", self.job, error)
            return
        if not held:
            raise JobStopped


def jobs_unattended(*, now: datetime) -> list[int]:
    """What the sweeper asks: jobs whose message was lost, or whose worker has been silent for long."""
    waiting = Q(state=JobState.WAITING) | Q(state=JobState.RUNNING, touched_at__lt=now - SILENT_FOR)
    return list(Job.objects.filter(waiting).order_by("asked_at").values_list("pk", flat=True))
