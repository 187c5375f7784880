"""Work that a page asks for: written down first, done once, found again when its message or its worker was lost."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from audits.models import Audit, Job, JobKind, JobState
from audits.services.jobs import (
    SILENT_FOR,
    JobProgress,
    JobStopped,
    job_ask,
    job_broken,
    job_cancel,
    job_done,
    job_refused,
    job_take,
    jobs_unattended,
)
from core.errors import InputError, Problem, Refused
from core.models import Author, Event, Project
from tests import factories
from tests.factories import NOW


@pytest.fixture
def audit(db: None) -> Audit:
    comparison = factories.make_swap(factories.make_project(), {"a": ("Yes", "No"), "b": ("Yes", "Yes")})
    return factories.make_audit(comparison)


@pytest.fixture
def lea(audit: Audit) -> Author:
    return factories.make_person(audit.project, "lea")


def ask(audit: Audit, author: Author) -> Job:
    return job_ask(kind=JobKind.REGISTER, actor=author, audit=audit, now=NOW)


@pytest.mark.database
def test_audit_has_one_open_job_and_another_when_that_has_ended(audit: Audit, lea: Author) -> None:
    job = ask(audit, lea)
    with pytest.raises(Refused, match="is under way already"):
        ask(audit, lea)
    taken = job_take(job=job.pk, now=NOW)
    assert taken is not None
    with pytest.raises(Refused, match="is under way already"):
        ask(audit, lea)
    job_done(job=taken, audit=audit, now=NOW)
    assert ask(audit, lea).state == JobState.WAITING


@pytest.mark.database
def test_job_goes_to_one_of_two_workers(audit: Audit, lea: Author) -> None:
    job = ask(audit, lea)
    assert job_take(job=job.pk, now=NOW) is not None
    assert job_take(job=job.pk, now=NOW) is None


def test_job_of_a_worker_that_went_silent_is_taken_over(audit: Audit, lea: Author) -> None:
    job = ask(audit, lea)
    job_take(job=job.pk, now=NOW)
    assert jobs_unattended(now=NOW + SILENT_FOR) == []
    assert jobs_unattended(now=NOW + SILENT_FOR + timedelta(seconds=1)) == [job.pk]
    assert job_take(job=job.pk, now=NOW + SILENT_FOR + timedelta(seconds=1)) is not None


@pytest.mark.database
def test_problem_with_a_character_that_cannot_be_stored_is_told_all_the_same(lea: Author) -> None:
    """PostgreSQL keeps neither in JSON: the job would have begun again until it was given up."""
    job = job_take(job=job_ask(kind=JobKind.INTAKE, actor=lea, now=NOW).pk, now=NOW)
    assert job is not None
    fault = Problem("no such column", file="cases.tsv", row=1, value="id\x00", allowed="a\ud800, b")
    assert job_refused(job=job, error=InputError(fault), now=NOW)
    job.refresh_from_db()
    told = {"what": "no such column", "file": "cases.tsv", "row": 1, "value": "id\u2400", "allowed": "a\ufffd, b"}
    assert (job.state, job.problems) == ("refused", [told])


def test_rows_pass_through_unchanged_and_are_counted(
    audit: Audit, lea: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_take(job=ask(audit, lea).pk, now=NOW)
    assert job is not None
    monkeypatch.setattr("audits.services.jobs.SIGN_OF_LIFE", timedelta(0))
    assert list(JobProgress(job)("cases", iter(range(1250)), 5000)) == list(range(1250))
    job.refresh_from_db()
    assert (job.progress, job.done, job.expected) == ("cases: 1,250 of 5,000 rows", 1250, 5000)


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_work_goes_on_that_shows_its_progress_while_it_reads_and_others_write(
    audit: Audit, lea: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite keeps whoever reads of a moment that has passed from writing; the next that can be noted is."""
    job = job_take(job=ask(audit, lea).pk, now=NOW)
    assert job is not None
    monkeypatch.setattr("audits.services.jobs.OFTEN", 1)
    monkeypatch.setattr("audits.services.jobs.SIGN_OF_LIFE", timedelta(0))
    there = list(ContentType.objects.order_by("pk"))
    rows = JobProgress(job)("rows", ContentType.objects.order_by("pk").iterator(chunk_size=1))
    read = [next(rows)]
    with ThreadPoolExecutor() as pool:
        pool.submit(_written_meanwhile).result()
    assert [*read, *rows] == there
    job.refresh_from_db()
    assert (job.state, job.progress) == (JobState.RUNNING, f"rows: {len(there)} rows")
    assert Project.objects.filter(name="meanwhile").exists()


def _written_meanwhile() -> None:
    Project.objects.create(name="meanwhile", created_at=NOW)
    connection.close()


def test_worker_that_lost_its_job_stops_and_does_not_end_it(audit: Audit, lea: Author) -> None:
    """It was silent for long, another took over, and then it wakes."""
    asked = ask(audit, lea)
    first = job_take(job=asked.pk, now=NOW)
    later = NOW + SILENT_FOR + timedelta(seconds=1)
    second = job_take(job=asked.pk, now=later)
    assert first is not None
    assert second is not None
    with pytest.raises(JobStopped):
        next(JobProgress(first)("cases", iter(range(10))))
    assert not job_broken(job=first, now=later)
    asked.refresh_from_db()
    assert (asked.state, asked.attempt) == (JobState.RUNNING, 2)
    assert job_done(job=second, audit=audit, now=later)


@pytest.mark.parametrize("kind", [JobKind.REGISTER, JobKind.EXTEND])
def test_only_an_intake_can_be_cancelled(audit: Audit, lea: Author, kind: JobKind) -> None:
    job = job_ask(kind=kind, actor=lea, audit=audit, now=NOW)
    with pytest.raises(Refused, match="cannot be cancelled"):
        job_cancel(job=job, actor=lea, now=NOW)
    assert Job.objects.get().state == JobState.WAITING


def test_intake_that_has_opened_its_audit_cannot_be_cancelled(audit: Audit, lea: Author) -> None:
    asked = job_ask(kind=JobKind.INTAKE, actor=lea, now=NOW)
    job = job_take(job=asked.pk, now=NOW)
    assert job is not None
    JobProgress(job).opened(audit)
    with pytest.raises(Refused, match="cannot be cancelled"):
        job_cancel(job=job, actor=lea, now=NOW)
    assert job_done(job=job, audit=audit, now=NOW)


def test_intake_that_was_cancelled_opens_no_audit(audit: Audit, lea: Author) -> None:
    job = job_take(job=job_ask(kind=JobKind.INTAKE, actor=lea, now=NOW).pk, now=NOW)
    assert job is not None
    job_cancel(job=job, actor=lea, now=NOW)
    with pytest.raises(JobStopped):
        JobProgress(job).opened(audit)
    assert not job_done(job=job, audit=audit, now=NOW)
    assert Event.objects.get(name="audits.job-cancelled").actor == lea


@pytest.mark.django_db(transaction=True)
def test_worker_does_what_was_asked_within_moments(
    celery_broker: Celery, worker: str, audit: Audit, lea: Author, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "VAR_DIR", tmp_path)
    job = ask(audit, lea)
    deadline = time.monotonic() + 20
    while Job.objects.get(pk=job.pk).is_open and time.monotonic() < deadline:
        time.sleep(0.1)
    assert Job.objects.get(pk=job.pk).state == JobState.DONE
    assert audit.registrations.get().actor == lea
