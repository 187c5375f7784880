"""Role by route, over every route there is. A new route fails here until somebody has written down who it is for."""

import re
from itertools import product
from pathlib import Path

import pytest
from django.test import Client

from core.models import Author, Project, Role, Scope
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
    "tokens": OWNING,
    "token-revoke": OWNING,
    "webhooks": LEADING,
    "webhook": LEADING,
    "webhook-secret": LEADING,
    "webhook-end": LEADING,
    "webhook-again": LEADING,
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
    "audits:known-set": LEADING,
    "audits:anchor-file": LEADING,
    "audits:anchor-card": LEADING,
    "audits:audit-anchors": LEADING,
    "audits:retention": OWNING,
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
    "audits:inventory": LEADING,
    "audits:results": LEADING,
    "audits:packet": LEADING,
    "audits:report": LEADING,
    "audits:anchors": LEADING,
    "audits:reviews": LEADING,
}

# Of the API: who is let in, and which scopes a token needs to read and to write.
API: dict[str, tuple[set[Role], set[str], set[str]]] = {
    "api:project": (ALL, set(Scope.values), set()),
    "api:members": (OWNING, {"decide"}, {"decide"}),
    "api:member-role": (OWNING, {"decide"}, {"decide"}),
    "api:member-removal": (OWNING, {"decide"}, {"decide"}),
    "api:webhooks": (LEADING, {"webhooks"}, {"webhooks"}),
    "api:webhook": (LEADING, {"webhooks"}, {"webhooks"}),
    "api:webhook-secret": (LEADING, {"webhooks"}, {"webhooks"}),
    "api:webhook-end": (LEADING, {"webhooks"}, {"webhooks"}),
    "api:webhook-messages": (LEADING, {"webhooks"}, {"webhooks"}),
    "api:webhook-again": (LEADING, {"webhooks"}, {"webhooks"}),
    "desk-api:desk": (DESK, {"review"}, {"review"}),
    "desk-api:next": (DESK, {"review"}, {"review"}),
    "desk-api:practice": (DESK, {"review"}, {"review"}),
    "desk-api:keys": (DESK, {"review"}, {"review"}),
    "desk-api:submit": (DESK, {"review"}, {"review"}),
    "desk-api:draft": (DESK, {"review"}, {"review"}),
    "desk-api:skip": (DESK, {"review"}, {"review"}),
    "desk-api:undo": (DESK, {"review"}, {"review"}),
    "desk-api:differences": (DESK, {"review"}, {"review"}),
    "desk-api:feedback": (DESK, {"review"}, {"review"}),
    "desk-api:dispute": (DESK, {"review"}, {"review"}),
    "desk-api:skips": (LEADING, {"audits:read"}, {"audits:write"}),
    "desk-api:skips-lift": (LEADING, {"audits:read"}, {"audits:write"}),
    "desk-api:reason-codes": (OWNING, {"audits:read"}, {"decide"}),
    "desk-api:reason-code": (OWNING, {"audits:read"}, {"decide"}),
    "audits-api:intakes": (LEADING, {"audits:read"}, {"intake"}),
    "audits-api:jobs": (LEADING, {"intake", "audits:read"}, {"audits:write"}),
    "audits-api:job": (LEADING, {"intake", "audits:read"}, {"intake"}),
    "audits-api:job-cancel": (LEADING, {"intake", "audits:read"}, {"intake"}),
    "audits-api:job-refused": (LEADING, {"intake", "audits:read"}, {"intake"}),
    "audits-api:job-packet": (LEADING, {"exports:read"}, {"intake"}),
    "audits-api:anchor-sets": (LEADING, {"audits:read"}, {"intake"}),
    "audits-api:anchor-set": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:anchor-file": (LEADING, {"exports:read"}, {"audits:write"}),
    "audits-api:anchor-card": (LEADING, {"exports:read"}, {"audits:write"}),
    "audits-api:audit-anchors": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:packet": (LEADING, {"audits:read"}, {"exports:read"}),
    "audits-api:calibration": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:audits": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:audit": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:manifest": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:integrity": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:transitions": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:pairs": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:caches": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:readers": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:plan": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:register": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:extend": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:progress": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:looks": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:look": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:diagnoses": (LEADING, {"audits:read"}, {"decide"}),
    "audits-api:verdict": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:sign-offs": (LEADING, {"audits:read"}, {"decide"}),
    "audits-api:retention": (OWNING, {"decide"}, {"decide"}),
    "audits-api:known-set": (LEADING, {"audits:read"}, {"audits:write"}),
    "audits-api:inventory": (LEADING, {"audits:read"}, {"decide"}),
    "audits-api:holdout": (LEADING, {"audits:read"}, {"decide"}),
    "audits-api:labels": (LEADING, {"audits:read"}, {"intake"}),
    "audits-api:report": (LEADING, {"exports:read"}, {"audits:write"}),
    "audits-api:anchors": (LEADING, {"exports:read"}, {"audits:write"}),
    "audits-api:reviews": (LEADING, {"exports:read"}, {"audits:write"}),
}
IN_PROJECT |= {name: roles for name, (roles, _, _) in API.items()}
PUBLIC = {"healthz", "readyz", "metrics", "login", "sso", "sso-callback", "logout"}
PUBLIC |= {"api:schema", "api:docs", "api-nothing"}
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
    scopes = {route.name: (set(route.access.reads), set(route.access.writes)) for route in routes() if route.in_api}
    assert {name: needed for name, needed in scopes.items() if name in API} == {
        name: (reads, writes) for name, (_, reads, writes) in API.items()
    }


@pytest.mark.parametrize("method", METHODS)
def test_stranger_is_sent_to_sign_in(project: Project, method: str) -> None:
    for route in routes():
        if route.access.signed_in:
            answer = getattr(Client(), method)(route.url(project=project.name))
            if route.in_api:
                assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="api"'), route
            else:
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


@pytest.mark.parametrize("scope", Scope)
def test_token_is_held_to_its_scope_and_refusals_are_logged(
    project: Project, scope: Scope, caplog: pytest.LogCaptureFixture
) -> None:
    token = factories.make_token(project, scope)
    client = Client(headers={"Authorization": f"Bearer {token.key}"})
    for route, method in product([route for route in routes() if route.name in API], METHODS):
        roles, reads, writes = API[route.name]
        caplog.clear()
        url = route.url(project=project.name)
        answer = getattr(client, method)(url)
        needed = reads if method == "get" else writes
        allowed = token.role in roles and (scope in needed or not hasattr(route.view.view_class, method))
        assert (answer.status_code != 403) == allowed, (route, method, answer.status_code)
        assert answer.status_code < 500, route
        said = [record.getMessage() for record in caplog.records if record.name == "core.access"]
        right = token.role if token.role not in roles else f"a token for {scope}"
        assert said == [f"refused: {token.author} as {right} on {method.upper()} {url}"] * (not allowed), route


@pytest.mark.parametrize("method", METHODS)
def test_token_opens_no_other_project_and_no_page(project: Project, method: str) -> None:
    factories.make_project("other")
    pages = ("project", "tokens", "audits:list", "adjudication:work")
    for scope in (Scope.AUDITS_READ, Scope.REVIEW):
        client = Client(headers={"Authorization": f"Bearer {factories.make_token(project, scope).key}"})
        for route in routes():
            if route.name in API:
                there = getattr(client, method)(route.url(project="other"))
                missing = getattr(client, method)(route.url(project="no-such-project"))
                assert (there.status_code, there.content) == (404, missing.content), route
            elif route.name in pages:
                assert getattr(client, method)(route.url(project=project.name)).status_code == 302, route


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
