import logging
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render

from core.errors import InputError, Problem
from core.notices import notice

log = logging.getLogger(__name__)

ONLY_A_FORM = Problem("not a method of this address")


class Problems:
    """What a service refuses is said in its own words: 409 where the answer is no, 422 where the input is wrong.

    A view that can say it beside the field at fault catches the error itself. An address that only takes a form says
    so too, in the same words to everybody: who asks may be no member, and must learn nothing.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self.get_response(request)
        if isinstance(answer, HttpResponseNotAllowed) and not answer.content:
            said = notice(request, "405.html", answer.status_code, ONLY_A_FORM)
            said["Allow"] = answer["Allow"]
            return said
        return answer

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, InputError):
            return None
        log.info("%s on %s %s: %s", error.status, request.method, request.path, error)
        return render(request, "core/problem.html", {"problems": error.problems}, status=error.status)
