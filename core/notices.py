"""What is said in place of a page: to people as a page, to programs in the shape of the API."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from core.errors import Problem


def notice(request: HttpRequest, template: str, status: int, problem: Problem, **context: str) -> HttpResponse:
    """The same to everybody: who asks may be no member, and must learn nothing."""
    wanted = request.get_preferred_type(["text/html", "application/json"])
    if wanted == "application/json" or f"{request.path_info}/".startswith("/api/"):
        return JsonResponse({"errors": [problem.as_dict()]}, status=status)
    return render(None, template, {"start": f"{settings.BASE_PATH}/", **context}, status=status)
