"""Signing in and out, on the page and inside an open one."""

import pytest
from django.test import Client
from django.utils import timezone

from core.models import Author, Role
from core.services import member_add, project_ensure

PASSWORD = "correct horse battery staple"
OPEN_PAGE = {"HX-Request": "true"}


@pytest.fixture
def lead(db: None) -> Author:
    author = member_add(project=project_ensure(name="alpha", now=timezone.now()), username="lea", role=Role.LEAD)
    author.user.set_password(PASSWORD)
    author.user.save()
    return author


def test_sign_in_leads_to_the_only_project(lead: Author) -> None:
    client = Client()
    answer = client.post("/login", {"username": "lea", "password": PASSWORD}, follow=True)
    assert answer.redirect_chain[:2] == [("/", 302), ("/p/alpha/", 302)]


def test_wrong_password_says_nothing_about_the_account(lead: Author) -> None:
    known = Client().post("/login", {"username": "lea", "password": "wrong"}).content.decode()
    unknown = Client().post("/login", {"username": "leo", "password": "wrong"}).content.decode()
    sentence = "Please enter a correct username and password."
    assert (known.count(sentence), unknown.count(sentence)) == (1, 1)


def test_sign_in_never_leads_to_another_host(lead: Author) -> None:
    data = {"username": "lea", "password": PASSWORD, "next": "https://evil.example/"}
    assert Client().post("/login", data)["Location"] == "/"


def test_open_page_gets_the_form_alone_and_then_nothing(lead: Author) -> None:
    client = Client()
    form = client.get("/login", headers=OPEN_PAGE)
    assert form.content.decode().lstrip().startswith("<form")
    wrong = client.post("/login", {"username": "lea", "password": "wrong"}, headers=OPEN_PAGE)
    assert "Please enter a correct username" in wrong.content.decode()
    assert client.post("/login", {"username": "lea", "password": PASSWORD}, headers=OPEN_PAGE).status_code == 204
    assert client.get("/login", headers=OPEN_PAGE).status_code == 204


@pytest.mark.parametrize(
    ("page", "then"), [("http://testserver/account", "http://testserver/account"), ("https://evil.example/", "/")]
)
def test_signing_in_goes_on_with_a_page_of_this_host_alone(lead: Author, page: str, then: str) -> None:
    answer = Client().post("/login", {"username": "lea", "password": PASSWORD, "next": page})
    assert (answer.status_code, answer["Location"]) == (302, then)


def test_signing_out_needs_a_post(lead: Author) -> None:
    client = Client()
    client.force_login(lead.user)
    assert client.get("/logout").status_code == 405
    assert client.post("/logout")["Location"] == "/login"
    assert client.get("/")["Location"] == "/login?next=/"


def test_every_answer_carries_the_policy_that_lets_no_inline_code_run(db: None) -> None:
    answer = Client().get("/login")
    assert sorted(answer["Content-Security-Policy"].split("; ")) == [
        "base-uri 'none'",
        "default-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "object-src 'none'",
    ]
    assert (answer["X-Frame-Options"], answer["X-Content-Type-Options"]) == ("DENY", "nosniff")
    assert "<style" not in answer.content.decode()


def test_static_files_are_served_without_being_collected(db: None) -> None:
    for file in ("css/base.css", "js/requests.js", "django_htmx/htmx-2.min.js"):
        answer = Client().get(f"/static/{file}")
        assert (answer.status_code, answer.getvalue()[:1] != b"") == (200, True)
