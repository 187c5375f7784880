"""Role by route, over every route there is. A new route fails here until somebody has written down who it is for."""

import re
from pathlib import Path

import pytest
from django.test import Client

from core.models import Author, Project, Role
from tests import factories
from tests.routes import routes

pytestmark = pytest.mark.django_db

DESK = {Role.REVIEWER, Role.ADJUDICATOR}
LEADING = {Role.LEAD, Role.OWNER}
OWNING = {Role.OWNER}
ALL = set(Role)

# Of a project: the roles that are let in.
IN_PROJECT: dict[str, set[Role]] = {
    "project": ALL,
    "members": OWNING,
    "member-role": OWNING,
    "member-removal": OWNING,
    "adjudication:work": DESK,
    "adjudication:differences": DESK,
    "adjudication:keys": DESK,
    "adjudication:review": DESK,
    "adjudication:send": DESK,
    "adjudication:draft": DESK,
    "adjudication:skip": DESK,
    "adjudication:skipped": LEADING,
    "adjudication:undo": DESK,
    "adjudication:practice": DESK,
    "adjudication:feedback": DESK,
    "adjudication:dispute": DESK,
    "adjudication:reason-codes": OWNING,
    "adjudication:reason-code": OWNING,
    "audits:list": LEADING,
    "audits:new": LEADING,
    "audits:preview-new": LEADING,
    "audits:preview": LEADING,
    "audits:calibration": LEADING,
    "audits:anchor-sets": LEADING,
    "audits:anchor-set": LEADING,
    "audits:anchor-file": LEADING,
    "audits:anchor-card": LEADING,
    "audits:audit-anchors": LEADING,
    "audits:job": LEADING,
    "audits:job-live": LEADING,
    "audits:job-cancel": LEADING,
    "audits:job-refused": LEADING,
    "audits:job-packet": LEADING,
    "audits:integrity": LEADING,
    "audits:transitions": LEADING,
    "audits:pairs": LEADING,
    "audits:caches": LEADING,
    "audits:readers": LEADING,
    "audits:diagnose": LEADING,
    "audits:holdout": LEADING,
    "audits:changes": LEADING,
    "audits:plan": LEADING,
    "audits:plan-chart": LEADING,
    "audits:register": LEADING,
    "audits:extend": LEADING,
    "audits:monitor": LEADING,
    "audits:monitor-live": LEADING,
    "audits:looks": LEADING,
    "audits:chart": LEADING,
    "audits:verdict": LEADING,
    "audits:results": LEADING,
    "audits:packet": LEADING,
    "audits:report": LEADING,
    "audits:anchors": LEADING,
    "audits:reviews": LEADING,
}
PUBLIC = {"healthz", "readyz", "metrics", "login", "sso", "sso-callback", "logout"}
SIGNED_IN = {"home", "account", "password", "second-factor", "second-factor-remove"}
METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture
def project() -> Project:
    return factories.make_project()


def client_of(author: Author) -> Client:
    client = Client()
    client.force_login(author.user)
    return client


def test_every_route_is_in_the_table() -> None:
    named = {route.name for route in routes()}
    assert named == {*IN_PROJECT, *PUBLIC, *SIGNED_IN}
    assert {route.name for route in routes() if route.in_project} == set(IN_PROJECT)


def test_every_view_declares_what_the_table_says() -> None:
    declared = {route.name: (route.access.signed_in, set(route.access.roles)) for route in routes()}
    expected = {name: (True, roles) for name, roles in IN_PROJECT.items()}
    expected |= {name: (False, set()) for name in PUBLIC} | {name: (True, set()) for name in SIGNED_IN}
    assert declared == expected


@pytest.mark.parametrize("method", METHODS)
def test_stranger_is_sent_to_sign_in(project: Project, method: str) -> None:
    for route in routes():
        if route.access.signed_in:
            answer = getattr(Client(), method)(route.url(project=project.name))
            assert (answer.status_code, answer["Location"].startswith("/login?next=")) == (302, True), route


@pytest.mark.parametrize("method", METHODS)
def test_outsider_cannot_tell_the_project_from_none(project: Project, method: str) -> None:
    outsider = client_of(factories.make_person(factories.make_project("elsewhere"), "oz", Role.OWNER))
    for route in routes():
        if route.in_project:
            there = getattr(outsider, method)(route.url(project=project.name))
            missing = getattr(outsider, method)(route.url(project="no-such-project"))
            assert (there.status_code, there.content) == (404, missing.content), route


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("role", Role)
def test_wrong_role_is_refused_and_logged(
    project: Project, role: Role, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    """BEHAVIOUR 42."""
    person = factories.make_person(project, "m", role)
    member = client_of(person)
    for route in routes():
        if route.in_project:
            caplog.clear()
            url = route.url(project=project.name)
            answer = getattr(member, method)(url)
            refused = role not in IN_PROJECT[route.name]
            assert (answer.status_code == 403) == refused, (route, answer.status_code)
            assert answer.status_code < 500, route
            said = [record.getMessage() for record in caplog.records if record.name == "core.access"]
            assert said == [f"refused: {person} as {role} on {method.upper()} {url}"] * refused, route


@pytest.mark.parametrize("role", [*Role, None])
def test_every_answer_carries_a_policy_without_inline_code(project: Project, role: Role | None) -> None:
    client = client_of(factories.make_person(project, "m", role)) if role else Client()
    for route in routes():
        policy = client.get(route.url(project=project.name)).get("Content-Security-Policy", "")
        assert "default-src 'self'" in policy or "default-src 'none'" in policy, route
        assert "unsafe" not in policy, route
    assert "default-src 'self'" in client.get("/nothing/here")["Content-Security-Policy"]


def test_no_template_needs_more_than_the_policy_gives() -> None:
    folder = Path(__file__).resolve().parents[1] / "templates"
    inline = re.compile(r"<script(?![^>]*\bsrc=)|\sstyle=|\son[a-z]+=|javascript:|<style", re.IGNORECASE)
    found = {file.name for file in folder.rglob("*.html") if inline.search(file.read_text())}
    assert found == {"report.html"}  # one file to keep, with a policy of its own that lets just its style through
