"""Work that a page asks for: written down, taken by one worker, ended with its result or its problems.

Light to import, for the pages; what a job does is in `audits.services.working`.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from audits.models import Audit, Job, JobKind, JobState
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.models import Author

Row = TypeVar("Row")

JOB_ASKED = "audits.job-asked"
SILENT_FOR = timedelta(minutes=10)  # after which a worker that died is replaced
SIGN_OF_LIFE = timedelta(seconds=1)
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
        raise Refused(Problem(f"work on {audit} is under way already", allowed="wait until it has ended")) from error
    event_record(name=JOB_ASKED, actor=actor, now=now, payload={"job": job.pk})
    return job


def job_take(*, job: int, now: datetime) -> Job | None:
    """The job, if it is there to be done: of two workers who ask, one gets it."""
    free = Q(state=JobState.WAITING) | Q(state=JobState.RUNNING, touched_at__lt=now - SILENT_FOR)
    taken = Job.objects.filter(free, pk=job).update(state=JobState.RUNNING, touched_at=now, progress="")
    return Job.objects.select_related("project", "actor__project", "audit").get(pk=job) if taken else None


def job_done(*, job: Job, audit: Audit, now: datetime) -> None:
    _end(job, now, state=JobState.DONE, audit=audit)


def job_refused(*, job: Job, error: InputError, now: datetime) -> None:
    _end(job, now, state=JobState.REFUSED, problems=[problem.as_dict() for problem in error.problems])


def job_broken(*, job: Job, now: datetime) -> None:
    _end(job, now, state=JobState.BROKEN)


def _end(job: Job, now: datetime, **change: Any) -> None:
    # Two may believe that they have a job, where one was silent for long: the first to end it is right.
    Job.objects.filter(pk=job.pk, state=JobState.RUNNING).update(ended_at=now, progress="", **change)


class JobProgress:
    """Passes rows on, and says how many have passed about once a second."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.said_at: datetime | None = None

    def __call__(self, what: str, rows: Iterator[Row]) -> Iterator[Row]:
        self._say(f"{what} …")
        for number, row in enumerate(rows, 1):
            if number % 500 == 0:
                self._say(f"{what}: {number:,} rows")
            yield row

    def _say(self, words: str) -> None:
        now = timezone.now()
        if self.said_at is None or now - self.said_at >= SIGN_OF_LIFE:
            self.said_at = now
            Job.objects.filter(pk=self.job.pk, state=JobState.RUNNING).update(progress=words[:200], touched_at=now)


def jobs_unattended(*, now: datetime) -> list[int]:
    """What the sweeper asks: jobs whose message was lost, or whose worker has been silent for long."""
    waiting = Q(state=JobState.WAITING) | Q(state=JobState.RUNNING, touched_at__lt=now - SILENT_FOR)
    return list(Job.objects.filter(waiting).order_by("asked_at").values_list("pk", flat=True))
