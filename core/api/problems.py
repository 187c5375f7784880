"""One shape of errors for the API: `{"errors": […]}`, each with the words that page and command use."""

import logging
import math
from collections.abc import Iterable, Iterator
from typing import Any

from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response

from core.errors import InputError, Problem

log = logging.getLogger(__name__)

BAD_REQUEST, FORBIDDEN, NOT_FOUND, REFUSED, TOO_LARGE, BAD_INPUT = 400, 403, 404, 409, 413, 422
ALLOWED = "; allowed: "  # between what is wrong and what would be right, in the words of a field
UNREADABLE = (BadRequest, SuspiciousOperation, UnreadablePostError, exceptions.ParseError)


class TooLarge(Exception):
    """The body is above the limit; nothing of it was kept."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def problems_answer(problems: Iterable[Problem], status: int, headers: dict[str, str] | None = None) -> Response:
    return Response({"errors": [problem.as_dict() for problem in problems]}, status=status, headers=headers)


def answer_for(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler. None: a fault of ours, which is a 500."""
    if isinstance(error, InputError):
        log.info("%s on %s %s: %s", error.status, context["request"].method, context["request"].path, error)
        return problems_answer(error.problems, error.status)
    if isinstance(error, TooLarge):
        return problems_answer([error.problem], TOO_LARGE)
    if isinstance(error, Http404):
        return problems_answer([Problem("there is nothing here")], NOT_FOUND)
    if isinstance(error, PermissionDenied):
        return problems_answer([Problem("you may not do this")], FORBIDDEN)
    if isinstance(error, UNREADABLE):
        return problems_answer([Problem(f"the request cannot be read: {error}")], BAD_REQUEST)
    if isinstance(error, exceptions.ValidationError):
        return problems_answer(field_problems(error.detail), BAD_INPUT)
    if isinstance(error, exceptions.APIException):
        return problems_answer([_problem(error)], error.status_code, _headers(error))
    return None


def _problem(error: exceptions.APIException) -> Problem:
    words = str(error.detail).rstrip(".")
    return Problem(words[:1].lower() + words[1:])


def _headers(error: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(math.ceil(wait))
    return headers


def field_problems(detail: Any, key: str = "") -> Iterator[Problem]:
    """What a serializer found wrong, field by field."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            whole = str(name) in ("non_field_errors", "detail")
            yield from field_problems(inner, key if whole else f"{key}.{name}" if key else str(name))
    elif isinstance(detail, list):
        for inner in detail:
            yield from field_problems(inner, key)
    else:
        words, _, allowed = str(detail).rstrip(".").partition(ALLOWED)
        yield Problem(words[:1].lower() + words[1:], key=key, allowed=allowed)
