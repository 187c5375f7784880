"""Whoever works for long goes on giving signs of life, whatever one of them meets."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from core import pulse as pulses
from core.pulse import pulse
from judges.models import CaseSet
from judges.services.loads import loading
from tests import factories


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulses, "EVERY", 0.01)


@pytest.mark.django_db
def test_beats_come_until_the_block_ends_and_one_that_the_database_refuses_is_left_out() -> None:
    beats: list[int] = []
    enough = threading.Event()

    def beat() -> None:
        beats.append(threading.get_ident())
        if len(beats) == 5:
            enough.set()
        if len(beats) == 2:
            raise OperationalError("database is locked")

    with pulse(beat):
        assert enough.wait(20)
    ended = len(beats)
    time.sleep(0.05)
    assert len(beats) == ended
    assert threading.get_ident() not in beats


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_load_that_does_one_thing_for_long_is_not_taken_for_dead() -> None:
    project, now = factories.make_project(), timezone.now()
    long_ago = now - timedelta(hours=1)
    with loading(project=project, now=now) as load:
        load.begin(CaseSet, project=project, name="cases", version="1")
        CaseSet.objects.update(touched_at=long_ago)
        deadline = time.monotonic() + 20
        while CaseSet.objects.get().touched_at < now and time.monotonic() < deadline:
            time.sleep(0.01)
        assert CaseSet.objects.get().touched_at >= now
    assert not CaseSet.objects.exists()
    connection.close()
