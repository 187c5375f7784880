from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from audits.calibration import calibration_context
from core.access import ProjectRequest, for_leads


@for_leads
@require_GET
def calibration(request: ProjectRequest) -> HttpResponse:
    return render(request, "audits/calibration.html", calibration_context(request.project))
