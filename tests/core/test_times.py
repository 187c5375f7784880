"""Times leave the database as texts, the same from SQLite and PostgreSQL."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from core.models import Event
from core.services import operator_of
from core.times import Written
from tests import factories

pytestmark = [pytest.mark.database, pytest.mark.django_db]

TIMES = [
    datetime(2026, 11, 30, 9, 5, 0, tzinfo=UTC),
    datetime(2026, 11, 30, 9, 5, 0, 120, tzinfo=UTC),
    datetime(2026, 11, 30, 9, 5, 7, 999_000, tzinfo=UTC),
    datetime(1999, 12, 31, 23, 30, 0, 1, tzinfo=timezone(timedelta(hours=-5))),
]


@pytest.mark.parametrize("at", TIMES)
def test_time_is_written_as_python_writes_it_in_utc(at: datetime) -> None:
    actor = operator_of(factories.make_project())
    event = Event.objects.create(project=actor.project, name="x", actor=actor, at=at, payload={})
    assert Event.objects.values_list(Written("at"), flat=True).get(pk=event.pk) == at.astimezone(UTC).isoformat()
