from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from audits.models import Job, JobState
from audits.pages import job_context
from audits.services.uploads import intake_cancel, packet_name, packet_path, refused_path
from audits.views.access import for_leads
from audits.views.exports import saved_as
from core.access import ProjectRequest
from core.errors import Refused

PIECE = 1 << 16  # bytes


@for_leads
@require_GET
def job(request: ProjectRequest, number: int) -> HttpResponse:
    return render(request, "audits/job.html", job_context(_job(request, number), timezone.now()))


@for_leads
@require_GET
def job_live(request: ProjectRequest, number: int) -> HttpResponse:
    """How far it is: 204 while nothing has changed, and on to the audit when it is done."""
    context = job_context(_job(request, number), timezone.now())
    if request.GET.get("seen") == context["mark"]:
        return HttpResponse(status=204)
    answer = render(request, "audits/_job.html", context)
    told = context["refused_url"] or context["packet_url"] or context["job"].outcome
    if context["job"].state == JobState.DONE and not told:
        answer["HX-Redirect"] = context["done_url"]
    return answer


@for_leads
@require_POST
def job_cancelled(request: ProjectRequest, number: int) -> HttpResponse:
    """Back to its page, which says how it ended: it may have been done in that very moment."""
    job = _job(request, number)
    with suppress(Refused):
        intake_cancel(job=job, actor=request.author, now=timezone.now())
    return redirect("audits:job", request.project.name, job.pk)


@for_leads
@require_GET
def job_refused(request: ProjectRequest, number: int) -> StreamingHttpResponse:
    """The rows that an intake of the good ones left out."""
    path = refused_path(_job(request, number))
    if not path.is_file():
        raise Http404
    answer = StreamingHttpResponse(_pieces(path), content_type="text/csv; charset=utf-8")
    return saved_as(answer, "refused.csv")


@for_leads
@require_GET
def job_packet(request: ProjectRequest, number: int) -> StreamingHttpResponse:
    """The packet that a job made."""
    job = _job(request, number)
    path = packet_path(job)
    if job.audit is None or not path.is_file():
        raise Http404
    answer = StreamingHttpResponse(_pieces(path), content_type="application/zip")
    answer["Content-Length"] = path.stat().st_size
    return saved_as(answer, packet_name(job))


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


def _job(request: ProjectRequest, number: int) -> Job:
    return get_object_or_404(Job.objects.select_related("project", "audit"), project=request.project, pk=number)
