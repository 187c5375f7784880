"""Storing chunks while the next is made ready."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import connection, transaction

LINES = 2  # pieces under way at a time: the server has one to store while the other is on its way to it

Work = Callable[[], None]


class Writer:
    """Does pieces of writing, a transaction each, several at a time and in no order.

    PostgreSQL stores pieces while Python is free for the next: there threads with a connection of their own wait for
    it. Within a transaction, which nobody else sees into, and on SQLite, whose writing keeps this process busy, each
    piece is done before the next is taken.
    """

    def __init__(self) -> None:
        self._threads: deque[ThreadPoolExecutor] = deque()
        self._under_way: deque[Future[None]] = deque()

    def write(self, work: Work) -> None:
        """Take a piece, once a line is free; what kept an earlier one from being stored is raised here."""
        if connection.vendor == "sqlite" or connection.in_atomic_block:
            _stored(work)
            return
        if not self._threads:
            self._threads.extend(ThreadPoolExecutor(1, f"writer-{number}") for number in range(LINES))
        if len(self._under_way) == LINES:
            self._under_way.popleft().result()
        self._under_way.append(self._threads[0].submit(_stored, work))
        self._threads.rotate()

    def finish(self) -> None:
        """Everything taken is stored."""
        while self._under_way:
            self._under_way.popleft().result()

    def close(self) -> None:
        """Let what was taken come to its end, whatever that is."""
        self._under_way.clear()
        while self._threads:
            thread = self._threads.pop()
            thread.submit(_end_connection)
            thread.shutdown()


def _stored(work: Work) -> None:
    with transaction.atomic():
        work()


def _end_connection() -> None:
    connection.close()  # this thread's, and no other
