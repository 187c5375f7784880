"""What the machine around us asks: alive, ready, how much waits, and what is wrong."""

import json
import re
import time
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from celery import Celery
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from adjudication.models import Settlement
from audits.models import Audit, Job, JobKind
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from config import doctor
from config.metrics import COUNTED
from core.checks import public_url_leads_here
from core.events import event_record
from core.records import install_triggers
from tests import factories
from tests.config.test_guards import drop_one_trigger

pytestmark = [pytest.mark.database]

TOKEN = "t" * 40


@pytest.fixture
def token(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN


@pytest.fixture
def audit(db: None) -> Audit:
    verdicts = dict.fromkeys("abc", ("Yes", "No"))
    audit = factories.make_audit(factories.make_swap(factories.make_project("alpha"), verdicts))
    audit_register(audit=audit, actor=factories.operator(audit), now=timezone.now())
    return audit


def scraped() -> dict[str, float]:
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


def asked(path: str) -> tuple[int, str]:
    answer = Client().get(path)
    return answer.status_code, answer.content.decode()


@pytest.mark.django_db
def test_prepared_and_guarded_database_is_ready() -> None:
    assert (asked("/healthz"), asked("/readyz")) == ((200, "ok\n"), (200, "ready\n"))


@pytest.mark.django_db(transaction=True)
def test_missing_trigger_is_not_ready_but_alive() -> None:
    drop_one_trigger()
    assert asked("/readyz") == (503, "not ready: triggers are missing on core_event: manage.py migrate\n")
    assert asked("/healthz")[0] == 200
    install_triggers(connection)
    assert asked("/readyz")[0] == 200


@pytest.mark.django_db
def test_database_that_is_away_or_waits_for_a_migration_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> str:
        raise DatabaseError("hush: postgresql://ann:secret@db")

    monkeypatch.setattr("core.checks.unprepared", lambda: True)
    assert asked("/readyz") == (503, "not ready: the database is not prepared: manage.py migrate\n")
    monkeypatch.setattr("core.checks.unprepared", away)
    assert asked("/readyz") == (503, "not ready: the database does not answer\n")


@pytest.mark.django_db
def test_metrics_are_shown_for_the_token_alone(settings: Any) -> None:
    def status(**headers: str) -> int:
        return Client().get("/metrics", headers=headers).status_code

    assert settings.METRICS_TOKEN is None
    assert (status(), status(Authorization="Bearer None"), status(Authorization="Bearer ")) == (404, 404, 404)
    settings.METRICS_TOKEN = TOKEN
    assert (status(), status(Authorization=f"Bearer {TOKEN}x"), status(Authorization=TOKEN)) == (404, 404, 404)
    assert status(Authorization=f"Bearer {TOKEN}") == 200


@pytest.mark.django_db
def test_metrics_say_what_waits_and_for_how_long(audit: Audit, token: None) -> None:
    now, ann = timezone.now(), factories.make_person(audit.project, "ann")
    empty = scraped()
    assert (empty["tertium_queue_depth review"], empty["tertium_queue_depth adjudication"]) == (3, 0)
    assert (empty["tertium_leases"], empty["tertium_oldest_lease_seconds"], empty["tertium_looks_due"]) == (0, 0, 0)
    assert "tertium_look_latency_seconds" not in empty

    factories.answer(audit.queue, ann, "pass", now - timedelta(seconds=100))
    factories.claim(audit.queue, ann, now - timedelta(seconds=50))
    Job.objects.create(
        project=audit.project, kind=JobKind.INTAKE, actor=ann, asked_at=now - timedelta(seconds=20), state="running"
    )
    Job.objects.create(project=audit.project, kind=JobKind.INTAKE, actor=ann, asked_at=now, state="broken")
    due = scraped()
    assert (due["tertium_queue_depth review"], due["tertium_leases"], due["tertium_looks_due"]) == (2, 1, 1)
    assert 50 <= due["tertium_oldest_lease_seconds"] < 80
    assert 100 <= due["tertium_oldest_due_look_seconds"] < 130
    assert 20 <= due["tertium_oldest_job_seconds"] < 50
    assert (due["tertium_jobs running"], due["tertium_jobs broken"], due["tertium_jobs waiting"]) == (1, 1, 0)

    settled = Settlement.objects.get().at
    looks_bring_up_to_date(audit=audit, clock=lambda: settled + timedelta(seconds=7))
    looked = scraped()
    assert (looked["tertium_look_latency_seconds"], looked["tertium_looks_due"]) == (7, 0)
    assert looked["tertium_oldest_due_look_seconds"] == 0


@pytest.mark.django_db
def test_broker_that_is_away_is_a_figure_and_no_error(token: None) -> None:
    found = scraped()
    assert found["tertium_broker_up"] == 0
    assert not [name for name in found if name.startswith(("tertium_tasks", "tertium_broker_messages"))]


@pytest.fixture
def counted(celery_broker: Celery) -> Celery:
    with celery_broker.connection_for_write() as line:
        line.default_channel.client.delete(COUNTED)
    return celery_broker


@pytest.mark.django_db(transaction=True)
def test_worker_counts_its_tasks_and_failures_for_every_web_process(counted: Celery, worker: str, token: None) -> None:
    counted.send_task("core.tasks.sessions_clear")
    counted.send_task("core.tasks.sessions_clear", kwargs={"no": "such argument"})
    expected = {f"tertium_tasks_total {state} core.tasks.sessions_clear" for state in ("SUCCESS", "FAILURE")}
    deadline = time.monotonic() + 30
    while not expected <= set(found := scraped()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [found[name] for name in sorted(expected)] == [1, 1]
    assert (found["tertium_broker_up"], found["tertium_broker_messages"]) == (1, 0)

    report = examined()
    assert [name for name, finding in report.items() if not finding["well"]] == []
    assert re.search(rf"{worker} answered within", report["workers"]["found"])


def examined(code: int = 0) -> dict[str, dict[str, Any]]:
    """What doctor finds, by name; it must end with this exit code."""
    out = StringIO()
    try:
        call_command("doctor", "--json", stdout=out)
        ended = 0
    except SystemExit as left:
        ended = int(left.code or 0)
    assert ended == code, out.getvalue()
    report = json.loads(out.getvalue())
    assert report["well"] is (code == 0)
    return {finding["name"]: finding for finding in report["findings"]}


@pytest.mark.django_db
def test_doctor_says_what_is_wrong_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        call_command("doctor")
    lines = {line.split()[1]: line for line in capsys.readouterr().out.splitlines()}
    assert left.value.code == 1
    assert list(lines) == ["settings", "database", "migrations", "triggers", "clock", "storage", "broker"]
    assert [name for name, line in lines.items() if line.startswith("FAIL")] == ["broker"]
    assert lines["broker"].endswith("answers are stored all the same, looks wait; start it, or correct REDIS_URL")
    assert "answers" in lines["database"]


@pytest.mark.django_db
def test_doctor_sees_a_public_address_that_leads_elsewhere(settings: Any) -> None:
    settings.ALLOWED_HOSTS, settings.BASE_PATH = ["audit.example"], "/tertium"
    settings.PUBLIC_URL = "https://audit.example:8443/tertium"
    assert public_url_leads_here() == []
    settings.PUBLIC_URL = "https://other.example"
    found = examined(1)["settings"]
    assert "other.example: its host is none of ALLOWED_HOSTS (audit.example)" in found["found"]
    assert "its path is none, TERTIUM_BASE_PATH is /tertium" in found["found"]


@pytest.mark.django_db(transaction=True)
def test_doctor_names_the_table_that_is_open() -> None:
    drop_one_trigger()
    found = examined(1)["triggers"]
    assert (found["well"], found["found"]) == (
        False,
        "missing on core_event: what these tables hold may have been altered",
    )
    assert found["do"].startswith("manage.py migrate installs them")


@pytest.mark.django_db
def test_doctor_sees_a_clock_that_went_back(monkeypatch: pytest.MonkeyPatch) -> None:
    actor = factories.make_person(factories.make_project("alpha"), "ann")
    event_record(name="core.tested", actor=actor, now=timezone.now() + timedelta(hours=1), payload={})
    assert "later than now" in examined(1)["clock"]["found"]
    real = timezone.now
    monkeypatch.setattr(doctor.timezone, "now", lambda: real() + timedelta(minutes=3))
    assert re.match(r"1[78]\d s from the database's", examined(1)["clock"]["found"])


@pytest.mark.django_db
def test_doctor_sees_storage_that_is_full_or_closed(settings: Any, tmp_path: Any) -> None:
    settings.UPLOAD_LIMIT = 10**18
    assert examined(1)["storage"]["do"] == "make room: 1000000000.0 GB, for one upload of the largest size"
    settings.VAR_DIR = tmp_path / "gone"
    assert "cannot be written (No such file or directory)" in examined(1)["storage"]["found"]


@pytest.mark.django_db
def test_doctor_asks_no_further_where_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise DatabaseError("connection refused\nand more")

    monkeypatch.setattr(doctor.connection, "cursor", away)
    report = examined(1)
    assert report["database"]["found"] == "does not answer (connection refused)"
    assert not {"migrations", "triggers", "clock"} & set(report)


@pytest.mark.django_db
def test_doctor_sees_an_unprepared_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "unprepared", lambda: True)
    assert examined(1)["migrations"]["do"] == "manage.py migrate"


@pytest.mark.django_db(transaction=True)
def test_doctor_and_metrics_see_that_no_worker_answers(
    celery_broker: Celery, token: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = scraped()["tertium_broker_messages"]
    celery_broker.send_task("core.tasks.sessions_clear")
    assert scraped()["tertium_broker_messages"] == waiting + 1
    monkeypatch.setattr(doctor, "PING_SECONDS", 0.2)
    report = examined(1)
    assert [name for name, finding in report.items() if not finding["well"]] == ["workers"]
    assert report["workers"]["do"] == "celery -A config worker -B"
