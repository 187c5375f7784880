from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from audits.forms import asked_labels
from audits.models import ChangeChart, JobKind, PlanChart
from audits.pages import integrity_context, results_context, transitions_context
from audits.plan_pages import extend_context, plan_context
from audits.samples import extended_sample
from audits.services.jobs import job_ask
from audits.services.uploads import packet_ask
from audits.views.access import audit_or_404
from core.access import ProjectRequest, for_leads
from core.errors import InputError


@for_leads
@require_GET
def integrity(request: ProjectRequest, name: str) -> HttpResponse:
    return render(request, "audits/integrity.html", integrity_context(audit_or_404(request, name)))


@for_leads
@require_GET
def transitions(request: ProjectRequest, name: str) -> HttpResponse:
    return render(request, "audits/transitions.html", transitions_context(audit_or_404(request, name)))


@for_leads
@require_GET
def changes(request: ProjectRequest, name: str) -> HttpResponse:
    """The chart of changed verdicts as an image: what an image shows runs nothing."""
    found = get_object_or_404(ChangeChart.objects.exclude(svg=""), audit=audit_or_404(request, name))
    return HttpResponse(found.svg, content_type="image/svg+xml")


@for_leads
@require_GET
def plan(request: ProjectRequest, name: str) -> HttpResponse:
    return render(request, "audits/plan.html", plan_context(audit_or_404(request, name)))


@for_leads
@require_GET
def plan_chart(request: ProjectRequest, name: str, number: int) -> HttpResponse:
    """The chart of width against labels as an image: what an image shows runs nothing."""
    charts = PlanChart.objects.filter(sizing__audit=audit_or_404(request, name)).exclude(svg="")
    return HttpResponse(get_object_or_404(charts, pk=number).svg, content_type="image/svg+xml")


@for_leads
@require_POST
def register(request: ProjectRequest, name: str) -> HttpResponse:
    audit = audit_or_404(request, name)
    job = job_ask(kind=JobKind.REGISTER, audit=audit, actor=request.author, now=timezone.now())
    return redirect("audits:job", request.project.name, job.pk)


@for_leads
@require_POST
def packet(request: ProjectRequest, name: str) -> HttpResponse:
    job = packet_ask(audit=audit_or_404(request, name), actor=request.author, now=timezone.now())
    return redirect("audits:job", request.project.name, job.pk)


@for_leads
@require_http_methods(["GET", "POST"])
def extend(request: ProjectRequest, name: str) -> HttpResponse:
    audit, now = audit_or_404(request, name), timezone.now()
    context = extend_context(audit, now)
    if request.method == "GET":
        return render(request, "audits/extend.html", context)
    try:
        labels = extended_sample(audit, asked_labels(request.POST, context["rows"]))
        job = job_ask(kind=JobKind.EXTEND, audit=audit, actor=request.author, now=now, asked={"labels": labels})
    except InputError as error:
        return render(request, "audits/extend.html", context | {"problems": error.problems}, status=422)
    return redirect("audits:job", request.project.name, job.pk)


@for_leads
@require_GET
def results(request: ProjectRequest, name: str) -> HttpResponse:
    return render(request, "audits/results.html", results_context(audit_or_404(request, name)))
