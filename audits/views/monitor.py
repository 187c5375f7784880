from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from audits.models import LookChart
from audits.monitor import looks_page, monitor_context, watch_mark
from audits.pages import audit_context
from audits.reuse import reused_sources
from audits.views.access import audit_or_404
from core.access import ProjectRequest, for_leads


@for_leads
@require_GET
def monitor(request: ProjectRequest, name: str) -> HttpResponse:
    audit = audit_or_404(request, name)
    now = timezone.now()
    context = monitor_context(audit, watch_mark(audit, now), now)
    context = audit_context(audit, "monitor", context["standing"]) | context | {"reused": reused_sources(audit)}
    return render(request, "audits/monitor.html", context)


@for_leads
@require_GET
def monitor_live(request: ProjectRequest, name: str) -> HttpResponse:
    """The part that moves: 204 while it is as the page has it."""
    audit, now = audit_or_404(request, name), timezone.now()
    mark = watch_mark(audit, now)
    if request.GET.get("seen") == mark:
        return HttpResponse(status=204)
    return render(request, "audits/_monitor_live.html", monitor_context(audit, mark, now))


@for_leads
@require_GET
def looks(request: ProjectRequest, name: str) -> HttpResponse:
    audit = audit_or_404(request, name)
    before = request.GET.get("before", "")
    context = looks_page(audit, int(before) if before.isdecimal() else None)
    return render(request, "audits/looks.html", audit_context(audit, "monitor") | context)


@for_leads
@require_GET
def chart(request: ProjectRequest, name: str, look: int) -> HttpResponse:
    """The chart as an image: what an image shows runs nothing."""
    found = get_object_or_404(LookChart.objects.exclude(svg=""), look=look, look__audit=audit_or_404(request, name))
    return HttpResponse(found.svg, content_type="image/svg+xml")
