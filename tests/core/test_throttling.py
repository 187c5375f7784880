"""Guessing passwords: stopped by account from wherever it comes, and by address whatever the account."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.http import HttpResponse
from django.test import Client

from core.models import Author, Role
from core.services import password_set
from tests import factories

pytestmark = [pytest.mark.database, pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]

PASSWORD = "correct horse battery staple"
LIMIT = 10
REFUSAL = "too many failed attempts to sign in; allowed: another one 15 minutes after the last"


@pytest.fixture
def lead(db: None) -> Author:
    author = factories.make_person(factories.make_project("alpha"), "lea", Role.LEAD)
    password_set(author=author, password=PASSWORD)
    return author


def attempt(
    username: str = "alpha-lea", password: str = "wrong", address: str = "192.0.2.1", **more: str
) -> HttpResponse:
    data = {"username": username, "password": password}
    return Client().post("/login", data, REMOTE_ADDR=address, **more)


def statuses(number: int, **how: str) -> list[int]:
    return [attempt(**how).status_code for _ in range(number)]


def test_account_is_closed_after_ten_failures_from_ten_addresses(lead: Author) -> None:
    found = [attempt(address=f"192.0.2.{n}").status_code for n in range(1, LIMIT + 1)]
    assert found == [200] * (LIMIT - 1) + [429]
    closed = attempt(password=PASSWORD, address="198.51.100.7")
    assert (closed.status_code, REFUSAL in closed.content.decode()) == (429, True)


def test_address_is_closed_after_ten_failures_on_ten_accounts(lead: Author) -> None:
    found = [attempt(username=f"guess-{n}").status_code for n in range(LIMIT)]
    assert found == [200] * (LIMIT - 1) + [429]
    assert attempt(password=PASSWORD).status_code == 429
    assert attempt(password=PASSWORD, address="198.51.100.7").status_code == 302


def test_account_that_is_not_there_is_closed_just_the_same(lead: Author) -> None:
    found = [attempt(username="nobody", address=f"192.0.2.{n}").status_code for n in range(1, LIMIT + 1)]
    assert found == [200] * (LIMIT - 1) + [429]


def test_success_in_between_forgives_no_failure(lead: Author) -> None:
    password_set(author=factories.make_person(lead.project, "mallory", Role.REVIEWER), password=PASSWORD)
    assert statuses(LIMIT - 1) == [200] * (LIMIT - 1)
    assert attempt(username="alpha-mallory", password=PASSWORD).status_code == 302
    assert attempt().status_code == 429


def test_it_opens_again_fifteen_minutes_after_the_last_failure(lead: Author) -> None:
    statuses(LIMIT)
    for row in AccessAttempt.objects.all():
        AccessAttempt.objects.filter(pk=row.pk).update(attempt_time=row.attempt_time - timedelta(minutes=15, seconds=1))
    assert attempt(password=PASSWORD).status_code == 302


def test_form_inside_an_open_page_gets_the_sentence_as_a_form(lead: Author) -> None:
    statuses(LIMIT)
    text = attempt(HTTP_HX_REQUEST="true").content.decode()
    assert text.lstrip().startswith("<form")
    assert REFUSAL in text


def test_no_password_is_kept(lead: Author) -> None:
    attempt(password="hush-hush-hush")
    kept = AccessAttempt.objects.get()
    assert "hush-hush-hush" not in f"{kept.get_data} {kept.post_data}"


def test_behind_the_proxy_the_address_is_what_the_proxy_saw(lead: Author, settings: Any) -> None:
    settings.BEHIND_TLS_PROXY = True
    for n in range(LIMIT):  # the visitor invents an address anew each time
        last = attempt(f"guess-{n}", address="10.0.0.1", HTTP_X_FORWARDED_FOR=f"203.0.113.{n}, 192.0.2.9")
    assert last.status_code == 429
    other = attempt(password=PASSWORD, address="10.0.0.1", HTTP_X_FORWARDED_FOR="192.0.2.10")
    assert other.status_code == 302


def test_without_a_proxy_a_visitor_cannot_invent_an_address(lead: Author) -> None:
    found = [attempt(f"guess-{n}", HTTP_X_FORWARDED_FOR=f"203.0.113.{n}").status_code for n in range(LIMIT)]
    assert found[-1] == 429


@pytest.mark.parametrize("chain", ["unknown", "192.0.2.9:4711", "", "' OR 1=1", "::ffff:192.0.2.9, "])
def test_what_is_no_address_counts_as_one_and_breaks_nothing(lead: Author, settings: Any, chain: str) -> None:
    settings.BEHIND_TLS_PROXY = True
    found = [attempt(f"guess-{n}", HTTP_X_FORWARDED_FOR=chain).status_code for n in range(LIMIT)]
    assert found == [200] * (LIMIT - 1) + [429]
    assert attempt(password=PASSWORD, HTTP_X_FORWARDED_FOR="192.0.2.10").status_code == 302
