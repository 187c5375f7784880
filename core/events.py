"""Writing events, and waking what follows them."""

import logging
from datetime import datetime
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from core.models import Author, Event

log = logging.getLogger(__name__)


def event_record(*, name: str, actor: Author, now: datetime, payload: dict[str, Any]) -> Event:
    """Write an event in the caller's transaction; once that commits, wake the task that follows it."""
    event = Event.objects.create(project_id=actor.project_id, name=name, actor=actor, at=now, payload=payload)
    task = settings.EVENT_TASKS.get(name)
    if task:
        wake(task, payload)
    return event


def wake(task: str, arguments: dict[str, Any]) -> None:
    """Send a task on its way once what the caller writes has been committed."""
    transaction.on_commit(lambda: _send(task, arguments))


def _send(task: str, arguments: dict[str, Any]) -> None:
    try:
        current_app.send_task(task, kwargs=arguments)
    except (OperationalError, RedisError, OSError) as error:
        # The event is stored: the sweeper finds what this message would have started.
        # Without a broker of their own, commands often run where no worker does: nothing is wrong there.
        level = logging.WARNING if settings.BROKER_EXPECTED else logging.INFO
        log.log(level, "no worker could be told of %s, it waits for the next sweep (%s)", task, error)
