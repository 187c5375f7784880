from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from audits.diagnosis_pages import diagnose_context
from audits.forms import DiagnosisForm
from audits.overview import address
from audits.services.diagnosing import case_diagnose
from audits.views.access import after_of, audit_or_404
from core.access import ProjectRequest, for_leads
from core.errors import InputError, Problem
from judges.models import Case


@for_leads
@require_http_methods(["GET", "POST"])
def diagnose(request: ProjectRequest, name: str) -> HttpResponse:
    """The cases that ask for a diagnosis, with a form each; what was said leads back to the same place of the list."""
    audit = audit_or_404(request, name)
    code, owner, after = request.GET.get("code", ""), request.GET.get("owner", ""), after_of(request)
    if request.method == "GET":
        return render(request, "audits/diagnose.html", diagnose_context(audit, code, owner, after))
    form = DiagnosisForm(request.POST)
    if not form.is_valid():
        problem = Problem("not sent whole", allowed="a case with its diagnosis, as the form gives them")
        return _refused(request, diagnose_context(audit, code, owner, after), (problem,), 422)
    given = form.cleaned_data
    case = get_object_or_404(Case, case_set=audit.comparison.case_set, pk=given.pop("case"))
    try:
        case_diagnose(audit=audit, case=case, **given, actor=request.author, now=timezone.now())
    except InputError as error:
        context = diagnose_context(audit, code, owner, after) | {"given": given | {"case": case.pk}, "opened": case.pk}
        return _refused(request, context, error.problems, error.status)
    query = {key: value for key, value in (("code", code), ("owner", owner), ("after", after)) if value}
    return redirect(f"{address('diagnose', audit)}?{urlencode(query)}#list")


def _refused(
    request: ProjectRequest, context: dict[str, object], problems: tuple[Problem, ...], status: int
) -> HttpResponse:
    return render(request, "audits/diagnose.html", context | {"problems": problems}, status=status)
