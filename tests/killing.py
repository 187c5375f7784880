"""Processes that die in the middle of what they do, at a place that can be counted."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any

from django.db import connection

FORK = multiprocessing.get_context("fork")


def killed_at(statement: int, work: Callable[[], object]) -> bool:
    """Do the work in a process that kill -9 meets before its so-manieth statement; False where it came to its end."""
    connection.close()
    process = FORK.Process(target=_die_at, args=(statement, work))
    process.start()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def _die_at(statement: int, work: Callable[[], object]) -> None:
    left = statement

    def count(execute: Any, *arguments: Any) -> Any:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return execute(*arguments)

    with connection.execute_wrapper(count):
        work()
