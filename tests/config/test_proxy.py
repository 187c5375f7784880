"""Behind a proxy that speaks TLS on another host and shows us under a path: what it sends us, and what we send back."""

import http.client
import re
import socket
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.db import connections

from adjudication.models import Review
from audits.models import Job
from audits.services.registering import audit_register
from config.embedded import await_web, embedded_web
from core.models import Role
from core.services import password_set
from tests import factories
from tests.config.test_env import started
from tests.factories import NOW
from tests.services import database_url

PASSWORD = "correct horse battery staple"
HOST, PREFIX = "audit.example", "/tertium"


class Visitor:
    """A browser at https://audit.example/tertium, and the proxy in between: it takes the path off and says who asks."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, path: str, body: bytes = b"", kind: str = "") -> tuple[int, str, str]:
        """Status, place and text. `path` is as the browser has it, with the prefix."""
        assert path.startswith(f"{PREFIX}/"), f"{path} leads out of the proxy's path"
        headers = {
            "Host": HOST,
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "192.0.2.7",
            "Origin": f"https://{HOST}",
            "Referer": f"https://{HOST}{PREFIX}/",
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
            "Content-Type": kind,
        }
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        line.request(method, path.removeprefix(PREFIX), body, headers)
        answer = line.getresponse()
        for value in answer.headers.get_all("Set-Cookie", []):
            for name, morsel in SimpleCookie(value).items():
                assert (morsel["path"], bool(morsel["secure"])) == (f"{PREFIX}/", True), name
                self.cookies[name] = morsel.value
        text = answer.read().decode()
        line.close()
        return answer.status, answer.headers.get("Location", ""), text

    def send(self, path: str, **fields: str) -> tuple[int, str, str]:
        data = urlencode({"csrfmiddlewaretoken": self.cookies["tertium_csrf"], **fields}).encode()
        return self.ask("POST", path, data, "application/x-www-form-urlencoded")


@pytest.fixture
def visitor(transactional_db: None, tmp_path: Path) -> Iterator[Visitor]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        "DATABASE_URL": database_url(connections["default"].settings_dict),
        "TERTIUM_VAR": str(tmp_path),
        "SECRET_KEY": "k" * 50,
        "TERTIUM_PRODUCTION": "True",
        "ALLOWED_HOSTS": HOST,
        "BEHIND_TLS_PROXY": "True",
        "TERTIUM_BASE_PATH": PREFIX,
    }
    with embedded_web(tmp_path, port=port, environment=environment) as process:
        await_web(tmp_path, process, port)
        yield Visitor(port)


def sign_in(visitor: Visitor, role: Role) -> str:
    """The sign-in page, which is as any other."""
    password_set(author=factories.make_person(factories.make_project("alpha"), role, role), password=PASSWORD)
    visitor.cookies.clear()
    status, _, page = visitor.ask("GET", f"{PREFIX}/login")
    assert status == 200
    status, place, _ = visitor.send(f"{PREFIX}/login", username=f"alpha-{role}", password=PASSWORD)
    assert (status, place) == (302, f"{PREFIX}/")
    return page


def test_sign_in_submit_upload_and_export_work(visitor: Visitor) -> None:
    """BEHAVIOUR 43."""
    project = factories.make_project("alpha")
    page = sign_in(visitor, Role.REVIEWER)
    inside = re.findall(r'(?:href|src|action)="(/[^"]*)"', page)
    assert len(inside) > 4
    assert [url for url in inside if not url.startswith(f"{PREFIX}/")] == []
    for file in (url for url in inside if "/static/" in url):
        assert visitor.ask("GET", file)[0] == 200, file

    factories.make_queue(project, items=1)
    status, _, page = visitor.ask("GET", f"{PREFIX}/p/alpha/review")
    form = re.search(r'<form id="answer" method="post" action="([^"]+)"', page)
    assert form is not None
    status, place, _ = visitor.send(form[1], only="1")
    assert (status, place, Review.objects.count()) == (302, f"{PREFIX}/p/alpha/review", 1)

    sign_in(visitor, Role.LEAD)
    audit = factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No")}))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    status, _, text = visitor.ask("GET", f"{PREFIX}/p/alpha/audits/{audit.name}/anchors.csv")
    assert (status, "case_id" in text.splitlines()[0]) == (200, True)
    for address, status in (("nowhere", 404), ("logout", 405)):
        found, _, text = visitor.ask("GET", f"{PREFIX}/{address}")
        assert (found, re.findall(r'<a href="(.*?)"', text)) == (status, [f"{PREFIX}/"])
    token = visitor.cookies["tertium_csrf"]
    body = (
        f'--b\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n{token}\r\n'
        '--b\r\nContent-Disposition: form-data; name="manifest"; filename="m.yaml"\r\n\r\nproject: alpha\r\n--b--\r\n'
    ).encode()
    status, place, _ = visitor.ask("POST", f"{PREFIX}/p/alpha/audits/new", body, "multipart/form-data; boundary=b")
    assert (status, place) == (302, f"{PREFIX}/p/alpha/jobs/{Job.objects.get().pk}")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        (
            {"TERTIUM_BASE_PATH": "tertium/"},
            "TERTIUM_BASE_PATH is 'tertium/'; allowed: a path as in /tertium, or nothing",
        ),
        ({"ALLOWED_HOSTS": "https://audit.example"}, "ALLOWED_HOSTS has 'https://audit.example'; allowed: host names"),
        ({"ALLOWED_HOSTS": "audit.example:8443"}, "ALLOWED_HOSTS has 'audit.example:8443'; allowed: host names alone"),
        ({"TERTIUM_PUBLIC_URL": "audit.example"}, "TERTIUM_PUBLIC_URL is 'audit.example'; allowed: an address that"),
        ({"BEHIND_TLS_PROXY": "yes"}, "BEHIND_TLS_PROXY is 'yes'; allowed: True, False"),
    ],
)
def test_wrong_setting_is_named_at_the_start(tmp_path: Path, setting: dict[str, str], says: str) -> None:
    """BEHAVIOUR 43."""
    start = started(TERTIUM_VAR=str(tmp_path), SECRET_KEY="k" * 50, **setting)
    assert start.returncode == 1
    assert f"ImproperlyConfigured: {says}" in start.stderr.splitlines()[-1]
