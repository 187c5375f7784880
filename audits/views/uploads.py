from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from audits.pages import upload_context
from audits.services.uploads import intake_ask, too_large
from core.access import ProjectRequest, for_leads
from core.errors import InputError, Problem

TOO_LARGE, BAD_INPUT = 413, 422
DRAINED = 64 * 2**20  # a browser that is still sending would not read the answer


View = Callable[..., HttpResponse]


def within_limit(refused: Callable[[ProjectRequest, Problem], HttpResponse]) -> Callable[[View], View]:
    """Refuse what is above the limit by its announced size, before a byte of it is kept. `refused` shows it."""

    def limit(view: View) -> View:
        @wraps(view)
        def limited(request: ProjectRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            size = int(request.headers.get("Content-Length") or 0)
            problem = too_large(size)
            if problem is None:
                return view(request, *args, **kwargs)
            request.read(min(size, DRAINED))
            return refused(request, problem)

        return limited

    return limit


def upload_refused(request: ProjectRequest, problem: Problem) -> HttpResponse:
    context = upload_context(request.project.name, (problem,))
    return render(request, "audits/new.html", context, status=TOO_LARGE)


# The token is checked inside: checking it first would read the whole upload before its size is judged.
@csrf_exempt
@for_leads
@require_http_methods(["GET", "POST"])
@within_limit(upload_refused)
@csrf_protect
def new(request: ProjectRequest) -> HttpResponse:
    if request.method == "GET":
        return render(request, "audits/new.html", upload_context(request.project.name))
    try:
        manifest, files = request.FILES.get("manifest"), request.FILES.getlist("files")
        good_rows = "good_rows" in request.POST
        job = intake_ask(manifest=manifest, files=files, actor=request.author, now=timezone.now(), good_rows=good_rows)
    except InputError as error:
        context = upload_context(request.project.name, error.problems)
        return render(request, "audits/new.html", context, status=BAD_INPUT)
    return redirect("audits:job", request.project.name, job.pk)
