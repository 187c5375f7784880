"""Signs of life: whoever has taken something says so from a thread of its own, however long a step of the work is.

A process that is killed falls silent, and another takes over. A busy machine delays a beat: several may be missing.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread

from django.db import DatabaseError, connection

log = logging.getLogger(__name__)

EVERY = 10.0  # seconds
DEAD_AFTER = timedelta(minutes=1)  # without a sign of life


@contextmanager
def pulse(beat: Callable[[], object]) -> Iterator[None]:
    """Call `beat` every now and then while the block runs. One that the database refuses is left out."""
    over = Event()
    thread = Thread(target=_beat_until, args=(over, beat), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _beat_until(over: Event, beat: Callable[[], object]) -> None:
    while not over.wait(EVERY):
        try:
            beat()
        except DatabaseError as error:
            log.info("a sign of life did not come through (%s)", type(error).__name__)
        finally:
            connection.close()
