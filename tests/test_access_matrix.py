"""Role by route, over every route there is. A new route fails here until somebody has written down who it is for."""

import pytest
from django.test import Client

from core.models import Author, Project, Role
from tests import factories
from tests.routes import routes

pytestmark = pytest.mark.django_db

DESK = {Role.REVIEWER, Role.ADJUDICATOR}
LEADING = {Role.LEAD, Role.OWNER}
ALL = set(Role)

# Of a project: the roles that are let in.
IN_PROJECT: dict[str, set[Role]] = {
    "project": ALL,
    "adjudication:work": DESK,
    "adjudication:review": DESK,
    "adjudication:send": DESK,
    "adjudication:draft": DESK,
    "adjudication:skip": DESK,
    "adjudication:undo": DESK,
    "audits:list": LEADING,
    "audits:new": LEADING,
    "audits:preview-new": LEADING,
    "audits:preview": LEADING,
    "audits:job": LEADING,
    "audits:job-live": LEADING,
    "audits:job-cancel": LEADING,
    "audits:integrity": LEADING,
    "audits:transitions": LEADING,
    "audits:changes": LEADING,
    "audits:plan": LEADING,
    "audits:register": LEADING,
    "audits:extend": LEADING,
    "audits:monitor": LEADING,
    "audits:monitor-live": LEADING,
    "audits:looks": LEADING,
    "audits:chart": LEADING,
    "audits:results": LEADING,
    "audits:report": LEADING,
    "audits:anchors": LEADING,
    "audits:reviews": LEADING,
}
PUBLIC = {"healthz", "login", "logout"}
SIGNED_IN = {"home"}
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
def test_wrong_role_is_refused(project: Project, role: Role, method: str) -> None:
    member = client_of(factories.make_person(project, "m", role))
    for route in routes():
        if route.in_project:
            answer = getattr(member, method)(route.url(project=project.name))
            assert (answer.status_code == 403) == (role not in IN_PROJECT[route.name]), (route, answer.status_code)
            assert answer.status_code < 500, route
