from collections.abc import Callable

from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from audits.forms import InventoryForm, SignOffForm
from audits.models import Audit
from audits.services.signing import audit_sign_off, inventory_state
from audits.verdict_pages import verdict_context
from audits.views.access import audit_or_404
from core.access import ProjectRequest, for_leads
from core.errors import InputError, Problem


@for_leads
@require_http_methods(["GET", "POST"])
def verdict(request: ProjectRequest, name: str) -> HttpResponse:
    """The gate with its evidence, what is known beside it, and the sign-offs."""
    audit = audit_or_404(request, name)
    if request.method == "GET":
        return render(request, "audits/verdict.html", verdict_context(audit))
    return _stated(request, audit, SignOffForm(request.POST), audit_sign_off, "given")


@for_leads
@require_POST
def inventory(request: ProjectRequest, name: str) -> HttpResponse:
    """What the cutover touches outside, said anew."""
    form = InventoryForm(request.POST)
    return _stated(request, audit_or_404(request, name), form, inventory_state, "inventory_given")


def _stated(
    request: ProjectRequest, audit: Audit, form: Form, state: Callable[..., object], given: str
) -> HttpResponse:
    """Back to the page with what was stated; or the page again with why it was not."""
    problems: tuple[Problem, ...]
    if form.is_valid():
        try:
            state(audit=audit, **form.cleaned_data, actor=request.author, now=timezone.now())
        except InputError as error:
            problems, status = error.problems, error.status
        else:
            return redirect("audits:verdict", request.project.name, audit.name)
    else:
        problems, status = (Problem("not sent whole", allowed="all that the form gives"),), 422
    context = verdict_context(audit) | {"problems": problems, given: request.POST}
    return render(request, "audits/verdict.html", context, status=status)
