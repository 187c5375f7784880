from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from audits.overview import standings_page, waits_for_lead
from core.access import ProjectRequest, for_leads


@for_leads
@require_GET
def audit_list(request: ProjectRequest) -> HttpResponse:
    before = request.GET.get("before", "")
    standings, more = standings_page(request.project, int(before) if before.isdecimal() else None)
    waiting = [] if before else waits_for_lead(request.project, standings)
    context = {"standings": standings, "waiting": waiting, "more": more, "first": not before}
    return render(request, "audits/list.html", context)
