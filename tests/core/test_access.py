"""Who gets in: a view that does not say stops the start, and a project's pages open to its members alone."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import include, path
from django.utils import timezone

from core.access import ProjectRequest, access, public, refuse_undeclared, signed_in
from core.checks import every_view_says_who_may_see_it
from core.models import Author, Project, Role
from core.pages import links_of
from core.services import member_add, project_ensure

ROOT = Path(__file__).resolve().parents[2]


def forgotten(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


@public
def open_to_all(request: HttpRequest) -> HttpResponse:
    return HttpResponse("all")


@signed_in
def for_the_signed_in(request: HttpRequest) -> HttpResponse:
    return HttpResponse("signed in")


@access(Role.LEAD, Role.OWNER)
def for_leads(request: ProjectRequest) -> HttpResponse:
    return HttpResponse(f"{request.project.name} {request.role} {request.author.pseudonym}")


urlpatterns = [
    path("login", open_to_all, name="login"),
    path("all", open_to_all),
    path("signed-in", for_the_signed_in),
    path("p/<str:project>/lead", for_leads),
]


@pytest.fixture
def here() -> object:
    with override_settings(ROOT_URLCONF=__name__):
        yield


@pytest.fixture
def project(db: None) -> Project:
    return project_ensure(name="alpha", now=timezone.now())


def client_of(author: Author) -> Client:
    client = Client()
    client.force_login(author.user)
    return client


def test_undeclared_view_is_refused_with_its_route() -> None:
    patterns = [path("p/<str:project>/", include([path("secret", forgotten)]))]
    with pytest.raises(ImproperlyConfigured, match=r"^\(core.E001\) /p/<str:project>/secret: the view does not say"):
        refuse_undeclared(patterns)


def test_undeclared_view_stops_the_server_from_starting(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text(
        "from config.urls import *\nurlpatterns.append(path('planted', lambda request: None))\n"
    )
    command = [
        sys.executable,
        "-c",
        "import sys; sys.path.insert(0, sys.argv[1]); import config.settings\n"
        "config.settings.ROOT_URLCONF = 'planted'; import config.wsgi",
        str(tmp_path),
    ]
    kept = {"PATH": os.environ["PATH"], "TERTIUM_VAR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings"}
    start = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, check=False)
    assert start.returncode == 1
    assert "ImproperlyConfigured: (core.E001) /planted: the view does not say" in start.stderr.splitlines()[-1]


def test_undeclared_view_is_an_error_of_the_system_check() -> None:
    urlpatterns.append(path("forgotten", forgotten))
    try:
        with override_settings(ROOT_URLCONF=__name__):
            assert [error.id for error in every_view_says_who_may_see_it()] == ["core.E001"]
    finally:
        urlpatterns.pop()
    assert every_view_says_who_may_see_it() == []


def test_stranger_is_led_to_the_sign_in_wherever_the_project_is(here: None, project: Project) -> None:
    for name in ("alpha", "no-such-project"):
        answer = Client().get(f"/p/{name}/lead?a=1")
        assert (answer.status_code, answer["Location"]) == (302, f"/login?next=/p/{name}/lead%3Fa%3D1")


def test_form_sent_after_the_session_ended_leads_back_to_its_page(here: None, project: Project) -> None:
    """Not to its own address, which may answer nothing to look at."""
    page = "http://testserver/p/alpha/page"
    answer = Client().post("/p/alpha/lead", headers={"Referer": page})
    assert (answer.status_code, answer["Location"]) == (302, "/login?next=http%3A//testserver/p/alpha/page")
    assert Client().post("/p/alpha/lead")["Location"] == "/login?next=/"


def test_request_of_an_open_page_is_told_that_the_session_ended(here: None, project: Project) -> None:
    answer = Client().post("/p/alpha/lead", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.content) == (401, b"Sign in first.")


def test_another_projects_member_cannot_tell_it_from_none(here: None, project: Project) -> None:
    outsider = member_add(project=project_ensure(name="beta", now=timezone.now()), username="oz", role=Role.OWNER)
    client = client_of(outsider)
    there, missing = client.get("/p/alpha/lead"), client.get("/p/none/lead")
    assert there.status_code == missing.status_code == 404
    assert there.content == missing.content


def test_member_who_left_is_an_outsider(here: None, project: Project) -> None:
    lead = member_add(project=project, username="lea", role=Role.LEAD)
    project.memberships.all().delete()
    assert client_of(lead).get("/p/alpha/lead").status_code == 404


def test_wrong_role_is_refused_and_logged(here: None, project: Project, caplog: pytest.LogCaptureFixture) -> None:
    reviewer = member_add(project=project, username="rhea", role=Role.REVIEWER)
    with caplog.at_level(logging.WARNING, "core.access"):
        assert client_of(reviewer).get("/p/alpha/lead").status_code == 403
    said = [record.getMessage() for record in caplog.records if record.name == "core.access"]
    assert said == ["refused: rhea as reviewer on GET /p/alpha/lead"]


def test_view_knows_project_role_and_author_after_one_query(
    here: None, project: Project, django_assert_num_queries: object
) -> None:
    client = client_of(member_add(project=project, username="lea", role=Role.LEAD))
    with django_assert_num_queries(3):  # session, user, and the one of ours
        answer = client.get("/p/alpha/lead")
    assert answer.content == b"alpha lead lea"
    assert answer["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize(
    ("role", "address", "current", "beside"),
    [
        (Role.OWNER, "/p/p/webhooks/7", ["Settings"], ["Webhooks"]),
        (Role.OWNER, "/p/p/audits/swap/plan", ["Audits"], []),
        (Role.LEAD, "/p/p/webhooks/7", ["Webhooks"], []),
    ],
)
def test_pages_of_settings_stand_under_one_link(
    role: Role, address: str, current: list[str], beside: list[str]
) -> None:
    links, others = links_of("p", role, address)
    assert [link.label for link in links if link.current] == current
    assert [link.label for link in others if link.current] == beside
    assert all(link.url.startswith("/p/p/") for link in (*links, *others))
