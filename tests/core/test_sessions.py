"""A session ends by itself: left alone for too long, or too old, whatever the browser says."""

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from core.models import Role
from core.sessions import BEGAN, SEEN, TOUCHED_EVERY
from tests import factories

pytestmark = pytest.mark.django_db

IDLE, ABSOLUTE = 8 * 60 * 60, 7 * 24 * 60 * 60


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(factories.make_person(factories.make_project("alpha"), "lea", Role.LEAD).user)
    return client


def aged(client: Client, **seconds_ago: int | None) -> Client:
    """The same session, as if it had begun and been seen so long ago; None: it does not say."""
    now, session = int(timezone.now().timestamp()), client.session
    for name, ago in seconds_ago.items():
        if ago is None:
            del session[name]
        else:
            session[name] = now - ago
    session.save()
    return client


def signed_in(client: Client, **headers: str) -> bool:
    return "Location" not in (answer := client.get("/p/alpha/audits", headers=headers)) and answer.status_code == 200


def test_limits_are_these() -> None:
    assert (settings.SESSION_IDLE_SECONDS, settings.SESSION_ABSOLUTE_SECONDS) == (IDLE, ABSOLUTE)


@pytest.mark.parametrize(("seen", "stays"), [(IDLE - 60, True), (IDLE, False)])
def test_session_left_alone_for_the_limit_has_ended(client: Client, seen: int, stays: bool) -> None:
    assert signed_in(aged(client, seen=seen)) is stays
    assert signed_in(client) is stays  # it does not come back


@pytest.mark.parametrize(("began", "stays"), [(ABSOLUTE - 60, True), (ABSOLUTE, False)])
def test_session_in_steady_use_ends_at_the_absolute_limit(client: Client, began: int, stays: bool) -> None:
    assert signed_in(aged(client, began=began, seen=1)) is stays


def test_session_that_does_not_say_when_it_began_has_ended(client: Client) -> None:
    assert not signed_in(aged(client, began=None))


def test_session_is_written_at_most_once_a_minute(client: Client) -> None:
    aged(client, seen=TOUCHED_EVERY - 5)
    before = client.session[SEEN]
    assert signed_in(client)
    assert client.session[SEEN] == before
    aged(client, seen=TOUCHED_EVERY)
    assert signed_in(client)
    assert client.session[SEEN] > before


def test_page_that_renews_itself_keeps_no_session_alive(client: Client) -> None:
    aged(client, seen=IDLE - 60)
    before = client.session[SEEN]
    assert signed_in(client, **{"X-Renewal": "true"})
    assert client.session[SEEN] == before


def test_open_page_is_told_that_its_session_ended(client: Client) -> None:
    aged(client, seen=IDLE)
    assert client.get("/p/alpha/audits", headers={"HX-Request": "true"}).status_code == 401


def test_ended_session_leaves_nothing_in_the_database(client: Client) -> None:
    from django.contrib.sessions.models import Session

    assert Session.objects.count() == 1
    signed_in(aged(client, began=ABSOLUTE))
    assert Session.objects.count() == 0


def test_signing_in_again_begins_anew(client: Client) -> None:
    began = aged(client, began=ABSOLUTE - 60).session[BEGAN]
    client.force_login(factories.make_person(factories.make_project("beta"), "lou", Role.LEAD).user)
    assert client.session[BEGAN] > began
