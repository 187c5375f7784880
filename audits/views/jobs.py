from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from audits.models import Job, JobState
from audits.pages import job_context
from audits.views.access import for_leads
from core.access import ProjectRequest


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
    if context["job"].state == JobState.DONE:
        answer["HX-Redirect"] = context["done_url"]
    return answer


def _job(request: ProjectRequest, number: int) -> Job:
    return get_object_or_404(Job.objects.select_related("project", "audit"), project=request.project, pk=number)
