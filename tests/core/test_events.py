"""An event is written with what it tells of, and a lost message loses nothing."""

import time

import pytest
from celery import Celery
from django.db import transaction

from adjudication.services.settlements import ITEM_SETTLED
from core.events import event_record
from core.models import Event
from core.services import operator_of
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database]


def _record(name: str = ITEM_SETTLED) -> Event:
    actor = operator_of(factories.make_project())
    return event_record(name=name, actor=actor, now=NOW, payload={"queue": 0, "number": 1})


def _waiting(app: Celery) -> int:
    with app.connection_for_read() as line:
        return int(line.default_channel.client.llen("celery"))


@pytest.mark.django_db
def test_event_keeps_who_when_and_what() -> None:
    event = Event.objects.get(pk=_record("core.tested").pk)
    assert (event.name, event.actor.pseudonym, event.at) == ("core.tested", "operator", NOW)
    assert event.payload == {"queue": 0, "number": 1}


@pytest.mark.django_db(transaction=True)
def test_broker_that_is_down_costs_less_than_3_seconds_and_no_event() -> None:
    operator_of(factories.make_project())
    began = time.monotonic()
    with transaction.atomic():
        _record()
    assert time.monotonic() - began < 3
    assert Event.objects.filter(name=ITEM_SETTLED).count() == 1


@pytest.mark.django_db(transaction=True)
def test_committed_event_wakes_its_task_once(celery_broker: Celery) -> None:
    with transaction.atomic():
        _record()
        assert _waiting(celery_broker) == 0
    assert _waiting(celery_broker) == 1


@pytest.mark.django_db(transaction=True)
def test_rolled_back_event_wakes_nothing_and_is_not_there(celery_broker: Celery) -> None:
    with transaction.atomic():
        _record()
        transaction.set_rollback(True)
    assert _waiting(celery_broker) == 0
    assert Event.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_event_that_nothing_follows_sends_nothing(celery_broker: Celery) -> None:
    _record("core.tested")
    assert _waiting(celery_broker) == 0
