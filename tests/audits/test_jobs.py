"""Work that a page asks for: written down first, done once, found again when its message or its worker was lost."""

import time
from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery
from django.conf import settings

from audits.models import Audit, Job, JobKind, JobState
from audits.services.jobs import SILENT_FOR, JobProgress, job_ask, job_done, job_take, jobs_unattended
from core.errors import Refused
from core.models import Author
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


def test_rows_pass_through_unchanged_and_are_counted(
    audit: Audit, lea: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = ask(audit, lea)
    job_take(job=job.pk, now=NOW)
    monkeypatch.setattr("audits.services.jobs.SIGN_OF_LIFE", timedelta(0))
    assert list(JobProgress(job)("checking cases.tsv", iter(range(1200)))) == list(range(1200))
    job.refresh_from_db()
    assert job.progress == "checking cases.tsv: 1,000 rows"


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
