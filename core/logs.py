"""What a log line may say. A log goes where cases may not: it never quotes what an error quotes of its input."""

import copy
import json
import logging
import traceback
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import ConnectionError as RedisConnectionError

from core.errors import InputError

# What these say is about the machine. Any other exception may hold a piece of a text: a value that does not fit, a row
# that a constraint refused.
ABOUT_THE_MACHINE = (OSError, ImproperlyConfigured, OperationalError, InterfaceError, BrokerError, RedisConnectionError)


def discreet(value: Any) -> Any:
    """An exception as a log may have it: where and what, without what was found and what else there was: the columns of
    a file that has no header are the texts of its first case."""
    if isinstance(value, InputError):
        return "; ".join(str(replace(problem, value=None, allowed="")) for problem in value.problems)
    if isinstance(value, BaseException) and not isinstance(value, ABOUT_THE_MACHINE):
        return type(value).__name__
    return value


class LineFormatter(logging.Formatter):
    """One line for people; the frames of an exception below it."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        return super().format(_discreet_record(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 -- the base class names it
        return _frames(ei)


class JsonFormatter(logging.Formatter):
    """One JSON document a line, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        record = _discreet_record(record)
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        if record.exc_info:
            said["exception"] = _frames(record.exc_info)
        return json.dumps(said, ensure_ascii=False)


def _discreet_record(record: logging.LogRecord) -> logging.LogRecord:
    shown = copy.copy(record)
    shown.exc_text = None
    if isinstance(record.args, dict):
        shown.args = {name: discreet(value) for name, value in record.args.items()}
        if record.name == "celery.app.trace" and record.exc_info:
            # Celery writes the exception, the task's arguments and the traceback into the message as texts.
            shown.args |= {"exc": discreet(record.exc_info[1]), "traceback": "", "args": "", "kwargs": ""}
    elif record.args:
        shown.args = tuple(discreet(value) for value in record.args)
    return shown


def _frames(exc_info: Any) -> str:
    """Where it happened, call by call, and the kind of each exception in the chain."""
    error, chain = exc_info[1], []
    while error is not None and len(chain) < 10:
        frames = "".join(traceback.format_tb(error.__traceback__))
        said = discreet(error)
        what = said if isinstance(said, str) else f"{type(error).__name__}: {said}"
        chain.append(f"{frames}{what}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n\nwhich came of:\n".join(chain)
