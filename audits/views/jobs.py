from contextlib import suppress

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from audits.exports.tables import CONTENT_TYPES
from audits.models import Job, JobState
from audits.pages import job_context
from audits.services.uploads import intake_cancel, packet_name, packet_path, refused_path
from core.access import ProjectRequest, for_leads
from core.errors import Refused
from core.sending import file_answer


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
    return file_answer(refused_path(_job(request, number)), name="refused.csv", content_type=CONTENT_TYPES["csv"])


@for_leads
@require_GET
def job_packet(request: ProjectRequest, number: int) -> StreamingHttpResponse:
    """The packet that a job made."""
    job = _job(request, number)
    if job.audit is None:
        raise Http404
    return file_answer(packet_path(job), name=packet_name(job), content_type="application/zip")


def _job(request: ProjectRequest, number: int) -> Job:
    return get_object_or_404(Job.objects.select_related("project", "audit"), project=request.project, pk=number)
