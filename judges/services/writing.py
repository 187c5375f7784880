"""Storing one chunk while the next is made ready."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import connection, transaction

Work = Callable[[], None]


class Writer:
    """Does pieces of writing in the order given, a transaction each.

    PostgreSQL stores a piece while Python is free for the next: there a thread with a connection of its own waits for
    it. Within a transaction, which nobody else sees into, and on SQLite, whose writing keeps this process busy, each
    piece is done before the next is taken.
    """

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None

    def write(self, work: Work) -> None:
        """Take a piece, once the one before it is stored; what kept that from being stored is raised here."""
        if connection.vendor == "sqlite" or connection.in_atomic_block:
            _stored(work)
            return
        self.finish()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "writer")
        self._last = self._thread.submit(_stored, work)

    def finish(self) -> None:
        """Everything taken is stored."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def close(self) -> None:
        """Let what was taken come to its end, whatever that is."""
        thread, self._thread, self._last = self._thread, None, None
        if thread is not None:
            thread.submit(_end_connection)
            thread.shutdown()


def _stored(work: Work) -> None:
    with transaction.atomic():
        work()


def _end_connection() -> None:
    connection.close()  # this thread's, and no other
