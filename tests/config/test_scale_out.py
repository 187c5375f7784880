"""compose.yaml as processes: its commands and variables, two web servers, two workers and a clock on one PostgreSQL."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection, connections

from adjudication.models import Review
from audits.models import Look
from audits.services.registering import audit_register
from core.models import Role
from core.services import password_set
from tests import factories
from tests.config.test_proxy import PASSWORD, PREFIX, Visitor
from tests.factories import NOW
from tests.house import COMPOSE, ROOT, House, environment_of, house, until
from tests.services import database_url

CANARY = "Patient Kowalska born 1961 said that"
OURS = ("migrate", "web", "worker", "beat")


def test_every_variable_is_one_that_we_read_and_every_secret_is_asked_for() -> None:
    example = (ROOT / ".env.example").read_text()
    for service in OURS:
        for name in environment_of(service):
            assert re.search(rf"^#? ?{name}=", example, re.MULTILINE) or name == "WEB_CONCURRENCY", name
        raw = COMPOSE["services"][service]["environment"]
        assert {name for name, value in raw.items() if ":?" in value} == {"SECRET_KEY", "ALLOWED_HOSTS", "DATABASE_URL"}
    assert "POSTGRES_PASSWORD:?" in COMPOSE["services"]["database"]["environment"]["POSTGRES_PASSWORD"]


def test_only_the_web_server_is_reached_from_outside_and_only_from_this_host() -> None:
    ports = {name: service.get("ports", []) for name, service in COMPOSE["services"].items()}
    assert ports.pop("web") == ["127.0.0.1:8000:8000"]
    assert not any(ports.values())


@contextmanager
def closed(database: str) -> Iterator[None]:
    """Nobody is let in, and whoever was in is thrown out: to its clients, a server that is down."""
    url = re.sub(r"/[^/?]*\?", "/postgres?", database_url(connections["default"].settings_dict))
    connection.close()
    with psycopg.connect(url, autocommit=True) as line:
        line.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS false')
        line.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database])
        try:
            yield
        finally:
            line.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS true')


@pytest.fixture
def stack(transactional_db: None, tmp_path: Path) -> Iterator[House]:
    """Two web servers, two workers and a clock, once everything runs."""
    database = database_url(connections["default"].settings_dict)
    with house(tmp_path, database, TERTIUM_BASE_PATH=PREFIX, WEB_CONCURRENCY="1") as built:
        built.start("broker")
        built.start("migrate")
        assert built.processes["migrate"].wait(60) == 0
        built.start("worker", "worker-2", "beat", "web", "web-2")
        yield built


@pytest.mark.database
@pytest.mark.skipif(connection.vendor != "postgresql", reason="several machines share PostgreSQL, never an SQLite file")
def test_what_one_server_takes_the_other_shows_and_any_worker_computes_also_after_the_database_was_away(
    stack: House,
) -> None:
    project = factories.make_project("alpha")
    audit = factories.make_audit(factories.make_swap(project, dict.fromkeys("abc", ("Yes", "No"))))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    password_set(author=factories.make_person(project, "m", Role.REVIEWER), password=PASSWORD)
    first, second = (Visitor(stack.ports[name]) for name in ("web", "web-2"))
    first.ask("GET", f"{PREFIX}/login")
    assert first.send(f"{PREFIX}/login", username="alpha-m", password=PASSWORD)[0] == 302
    second.cookies = first.cookies  # one browser, whatever server the proxy picks
    for visitor in (second, first):
        assert visitor.send(form_of(visitor), only="1")[0] == 302
    assert Review.objects.count() == 2
    look = until(lambda: Look.objects.filter(audit=audit, watermark=2).first())
    assert look.labels == 2
    assert Look.objects.filter(audit=audit).count() <= 2

    form = form_of(first)
    with closed(str(connection.settings_dict["NAME"])):
        answers = [visitor.send(form, only="1", rationale=CANARY) for visitor in (first, second)]
        answers.append(first.ask("GET", f"{PREFIX}/p/alpha/work"))
        assert [status for status, _, _ in answers] == [503] * 3
        for _, _, text in answers:
            assert "The database does not answer" in text
            assert "Traceback" not in text
        assert Visitor(first.port).ask("GET", f"{PREFIX}/readyz")[2] == "not ready: the database does not answer\n"
    assert second.send(form, only="1", rationale=CANARY)[0] == 302
    assert [review.rationale for review in Review.objects.order_by("pk")] == ["", "", CANARY]
    until(lambda: Look.objects.filter(audit=audit, watermark=3).first())
    assert [name for name, process in stack.processes.items() if process.poll() is not None] == ["migrate"]
    for name in stack.processes:
        assert CANARY not in stack.log(name).read_text()


def form_of(visitor: Visitor) -> str:
    """Where the answer to the case in hand goes."""
    page = visitor.ask("GET", f"{PREFIX}/p/alpha/review")[2]
    form = re.search(r'<form id="answer" method="post" action="([^"]+)"', page)
    assert form is not None
    return form[1]
