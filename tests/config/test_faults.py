"""A database that is away is no fault of ours, and what met it is done when it is back.

Under running processes: `tests/config/test_scale_out.py`, and `python -m benchmarks.faults` at full length.
"""

import json

import pytest
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import HttpResponse
from django.test import RequestFactory

from audits.models import Job, JobKind, JobState
from audits.services import working
from audits.services.jobs import ATTEMPTS, SILENT_FOR, job_ask
from core.models import Role
from core.views import server_error
from tests import factories
from tests.factories import NOW

CANARY = "Patient Kowalska born 1961 said that"


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_database_that_is_away_is_said_in_a_page_and_in_json(error: type[Exception]) -> None:
    page, document = _answer_after(error(CANARY), "text/html"), _answer_after(error(CANARY), "application/json")
    assert (page.status_code, page["Retry-After"]) == (document.status_code, document["Retry-After"]) == (503, "5")
    assert "The database does not answer" in page.content.decode()
    assert json.loads(document.content) == {
        "errors": [{"what": "the database does not answer", "allowed": "the same again, in a moment"}]
    }
    assert CANARY not in page.content.decode()


@pytest.mark.parametrize("error", [ValueError, DatabaseError])
def test_fault_of_ours_stays_one(error: type[Exception]) -> None:
    page = _answer_after(error(CANARY), "text/html")
    assert (page.status_code, page.has_header("Retry-After")) == (500, False)
    assert "Something went wrong here" in page.content.decode()
    assert CANARY not in page.content.decode()


def _answer_after(error: Exception, accept: str) -> HttpResponse:
    request = RequestFactory().get("/", headers={"Accept": accept})
    try:
        raise error  # noqa: TRY301 -- the handler asks what is being handled
    except Exception:
        return server_error(request)


@pytest.mark.django_db
def test_job_that_meets_a_database_that_restarts_begins_again_and_is_given_up_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lea = factories.make_person(factories.make_project(), "lea", Role.LEAD)
    audit = factories.make_audit(factories.make_swap(lea.project, {"a": ("Yes", "No")}))
    job, now = job_ask(kind=JobKind.REGISTER, actor=lea, audit=audit, now=NOW), NOW
    real = dict(working.WORK)

    def away(*_: object) -> None:
        raise OperationalError("the server closed the connection unexpectedly")

    monkeypatch.setitem(working.WORK, JobKind.REGISTER, away)
    for attempt in range(1, ATTEMPTS + 1):
        working.job_run(job=job.pk, clock=lambda now=now: now)  # type: ignore[misc]
        job.refresh_from_db()
        assert (job.state, job.attempt) == (JobState.RUNNING if attempt < ATTEMPTS else JobState.BROKEN, attempt)
        now += SILENT_FOR * 2
    again = job_ask(kind=JobKind.REGISTER, actor=lea, audit=audit, now=now)
    working.job_run(job=again.pk, clock=lambda: now)
    monkeypatch.setitem(working.WORK, JobKind.REGISTER, real[JobKind.REGISTER])
    working.job_run(job=again.pk, clock=lambda: now + SILENT_FOR * 2)
    assert Job.objects.get(pk=again.pk).state == JobState.DONE
