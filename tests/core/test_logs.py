"""A log holds no text of a case: the text is planted where errors quote, and looked for in every line."""

import json
import logging
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from celery import shared_task
from django.conf import settings
from django.db import DataError, IntegrityError, OperationalError
from django.test import Client
from django.utils.module_loading import import_string

from audits.models import Audit, Job, JobKind
from audits.services.jobs import job_ask
from audits.services.working import job_run
from core.errors import InputError, Problem, Refused
from core.logs import JsonFormatter, LineFormatter
from core.models import Role
from tests import factories
from tests.factories import NOW

CANARY = "Patient Kowalska born 1961 said that"
log = logging.getLogger("tests.logs")
FORMATTERS = [LineFormatter, JsonFormatter]


@pytest.fixture(params=FORMATTERS)
def written(request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """All that is logged while a test runs, at every level, as the formatter writes it."""
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(request.param())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream.getvalue
    root.removeHandler(handler)
    root.setLevel(level)


def raised(error: BaseException) -> None:
    error.__cause__ = KeyError(CANARY)
    try:
        raise error
    except type(error):
        log.exception("it broke on %s", "row 7")


@pytest.mark.parametrize("kind", [ValueError, KeyError, IntegrityError, DataError, UnicodeError])
def test_exception_is_logged_by_its_kind_and_place(written: Callable[[], str], kind: type[Exception]) -> None:
    raised(kind(f"Failing row contains ({CANARY})"))
    said = written()
    assert CANARY not in said
    assert "it broke on row 7" in said
    assert said.count(kind.__name__) >= 1
    assert "in raised" in said


def test_fault_of_the_machine_keeps_its_words(written: Callable[[], str]) -> None:
    log.warning("away: %s", OperationalError("connection refused"))
    assert "away: connection refused" in written()


@pytest.mark.parametrize("kind", [InputError, Refused])
def test_problem_is_logged_without_the_value(written: Callable[[], str], kind: type[InputError]) -> None:
    found = Problem("no such label", file="a.csv", row=3, column="label", value=CANARY, allowed=CANARY)
    log.info("refused: %s", kind(found))
    said = written()
    assert "refused: a.csv, row 3, column label: no such label" in said
    assert CANARY not in said


@shared_task
def breaking(text: str) -> None:
    raise ValueError(text)


def test_task_that_broke_is_logged_without_its_arguments_and_message(written: Callable[[], str]) -> None:
    breaking.apply(args=(CANARY,))
    said = written()
    assert "tests.core.test_logs.breaking" in said
    assert "ValueError" in said
    assert CANARY not in said


@pytest.mark.django_db
def test_intake_of_a_file_with_faults_logs_none_of_its_texts(
    written: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from audits.synthetic import synthetic_project

    folder = settings.VAR_DIR / "uploads" / ("f" * 24)
    synthetic_project(folder, name="planted", project="alpha", seed="5", number=20)
    baseline = folder / "baseline.csv"
    lines = baseline.read_text().splitlines(keepends=True)
    baseline.write_text("".join(lines) + CANARY + "," * lines[0].count(",") + "\n")
    candidate = folder / "candidate.csv"  # without its header: the first row's texts are the columns there are
    candidate.write_text(",".join([CANARY] * 3) + "\n" + "".join(candidate.read_text().splitlines(keepends=True)[1:]))
    lead = factories.make_person(factories.make_project("alpha"), "lea", Role.LEAD)
    asked = {"folder": folder.name, "manifest": "manifest.yaml"}
    for audit_open in (None, lambda **_: raised_by_the_database()):
        job = job_ask(kind=JobKind.INTAKE, actor=lead, now=NOW, asked=asked)
        if audit_open:
            monkeypatch.setattr("audits.services.working.load_manifest", lambda *_, **__: None)
            monkeypatch.setattr("audits.services.working.audit_open", audit_open)
        job_run(job=job.pk, clock=lambda: NOW)
    states = list(Job.objects.order_by("pk").values_list("state", flat=True))
    assert states == ["refused", "broken"]
    assert any(CANARY in str(problem) for problem in Job.objects.first().problems)  # the lead is told
    said = written()
    assert "refused: " in said
    assert "intake" in said
    assert CANARY not in said
    assert not Audit.objects.exists()


def raised_by_the_database() -> None:
    raise IntegrityError(f'null value in column "x"\nDETAIL:  Failing row contains (1, {CANARY}).')


@pytest.mark.django_db
def test_page_that_breaks_or_refuses_logs_none_of_what_was_sent(
    written: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reviewer = factories.make_person(factories.make_project("alpha"), "r")
    lease = factories.claim(factories.make_queue(reviewer.project, items=1), reviewer)
    client = Client(raise_request_exception=False)
    client.force_login(reviewer.user)
    place = f"/p/alpha/review/{lease.token}"
    assert client.post(place, {"only": CANARY, "rationale": f"\x00{CANARY}"}).status_code < 500

    def breaks(**_: object) -> None:
        raise ValueError(CANARY)

    monkeypatch.setattr("adjudication.views.review.review_submit", breaks)
    assert client.post(place, {"only": "1", "rationale": CANARY}).status_code == 500
    said = written()
    assert f"Internal Server Error: {place}" in said
    assert CANARY not in said


def test_json_lines_are_documents_of_one_line(written: Callable[[], str], request: pytest.FixtureRequest) -> None:
    raised(ValueError("x"))
    log.warning("second\nline %s", 1)
    if request.node.callspec.params["written"] is JsonFormatter:
        first, second = [json.loads(line) for line in written().splitlines()]
        assert (first["level"], first["logger"], first["message"]) == ("ERROR", "tests.logs", "it broke on row 7")
        assert second["message"] == "second\nline 1"
        assert "exception" not in second


def test_both_formats_are_the_ones_that_the_settings_offer() -> None:
    offered = {import_string(formatter["()"]) for formatter in settings.LOGGING["formatters"].values()}
    assert offered == set(FORMATTERS)
