"""compose.yaml as processes: its commands and variables, two web servers, two workers and a clock on one PostgreSQL."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import connection, connections

from adjudication.models import Review
from audits.models import Look
from audits.services.registering import audit_register
from config.embedded import await_web, broker_binary, embedded_web
from core.models import Role
from core.services import password_set
from tests import factories
from tests.config.test_proxy import HOST, PASSWORD, PREFIX, Visitor
from tests.factories import NOW
from tests.services import database_url

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
OURS = ("migrate", "web", "worker", "beat")
GIVEN = {"SECRET_KEY": "k" * 50, "ALLOWED_HOSTS": HOST, "POSTGRES_PASSWORD": "x", "METRICS_TOKEN": ""}


def environment_of(service: str) -> dict[str, str]:
    """A service's variables, with what the file leaves to the environment filled in."""

    def fill(found: re.Match[str]) -> str:
        return GIVEN.get(found[1], found[3] if found[2] == ":-" else "")

    named = COMPOSE["services"][service]["environment"]
    return {name: re.sub(r"\$\{(\w+)(:[-?])([^}]*)\}", fill, value) for name, value in named.items()}


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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(
    command: list[str], log: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until(what: Callable[[], Any], seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert found, f"not within {seconds} s"
    return found


def accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@pytest.fixture
def stack(transactional_db: None, tmp_path: Path) -> Iterator[list[int]]:
    """The ports of two web servers, once everything runs."""
    redis, webs = free_port(), [free_port(), free_port()]
    plain = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    known = {
        "DATABASE_URL": database_url(connections["default"].settings_dict),
        "REDIS_URL": f"redis://127.0.0.1:{redis}/0",
        "TERTIUM_PRODUCTION": "True",  # as in the image
        "TERTIUM_VAR": str(tmp_path),
        "TERTIUM_BASE_PATH": PREFIX,
    }
    broker = [broker_binary(), "--port", str(redis), "--bind", "127.0.0.1", "--dir", str(tmp_path), "--save", ""]

    def command_of(service: str) -> list[str]:
        program, *arguments = COMPOSE["services"][service]["command"]
        moved = [argument.replace("/var/lib/tertium", str(tmp_path)) for argument in arguments]
        return [sys.executable, *moved] if program == "python" else [sys.executable, "-m", program, *moved]

    with contextlib.ExitStack() as running_now:
        running_now.enter_context(running(broker, tmp_path / "broker.log"))
        until(lambda: accepts(redis), 10)
        subprocess.run(command_of("migrate"), cwd=ROOT, env=plain | environment_of("migrate") | known, check=True)
        for number, service in enumerate(("worker", "worker", "beat")):
            log = tmp_path / f"{service}-{number}.log"
            running_now.enter_context(running(command_of(service), log, plain | environment_of(service) | known))
        for number, port in enumerate(webs):
            folder = tmp_path / f"web-{number}"
            web = running_now.enter_context(embedded_web(folder, port=port, environment=environment_of("web") | known))
            await_web(folder, web, port)
        yield webs


@pytest.mark.database
@pytest.mark.skipif(connection.vendor != "postgresql", reason="several machines share PostgreSQL, never an SQLite file")
def test_what_one_server_takes_the_other_shows_and_any_worker_computes(stack: list[int]) -> None:
    project = factories.make_project("alpha")
    audit = factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No"), "b": ("Yes", "Yes")}))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    password_set(author=factories.make_person(project, "m", Role.REVIEWER), password=PASSWORD)
    first, second = (Visitor(port) for port in stack)
    first.ask("GET", f"{PREFIX}/login")
    assert first.send(f"{PREFIX}/login", username="alpha-m", password=PASSWORD)[0] == 302
    second.cookies = first.cookies  # one browser, whatever server the proxy picks
    for visitor in (second, first):
        form = re.search(
            r'<form id="answer" method="post" action="([^"]+)"', visitor.ask("GET", f"{PREFIX}/p/alpha/review")[2]
        )
        assert form is not None
        assert visitor.send(form[1], only="1")[0] == 302
    assert Review.objects.count() == 2
    look = until(lambda: Look.objects.filter(audit=audit, watermark=2).first())
    assert look.labels == 2
    assert Look.objects.filter(audit=audit).count() <= 2
