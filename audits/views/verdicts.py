from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from audits.forms import SignOffForm
from audits.services.signing import audit_sign_off
from audits.verdict_pages import verdict_context
from audits.views.access import audit_or_404, for_leads
from core.access import ProjectRequest
from core.errors import InputError, Problem


@for_leads
@require_http_methods(["GET", "POST"])
def verdict(request: ProjectRequest, name: str) -> HttpResponse:
    """The gate with its evidence, what is known beside it, and the sign-offs."""
    audit = audit_or_404(request, name)
    if request.method == "GET":
        return render(request, "audits/verdict.html", verdict_context(audit))
    form = SignOffForm(request.POST)
    problems: tuple[Problem, ...]
    if form.is_valid():
        try:
            audit_sign_off(audit=audit, **form.cleaned_data, actor=request.author, now=timezone.now())
        except InputError as error:
            problems, status = error.problems, error.status
        else:
            return redirect("audits:verdict", request.project.name, audit.name)
    else:
        problems, status = (Problem("not sent whole", allowed="a sign-off, as the form gives it"),), 422
    context = verdict_context(audit) | {"problems": problems, "given": request.POST}
    return render(request, "audits/verdict.html", context, status=status)
