from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from audits.pages import holdout_context
from audits.pairs import caches_context, pairs_context, readers_context
from audits.views.access import after_of, audit_or_404
from core.access import ProjectRequest, for_leads
from core.errors import InputError
from judges.services.holdouts import holdout_open


@for_leads
@require_GET
def pairs(request: ProjectRequest, name: str) -> HttpResponse:
    asked = request.GET
    context = pairs_context(
        audit_or_404(request, name), asked.get("case", ""), asked.get("state", ""), after_of(request)
    )
    return render(request, "audits/pairs.html", context)


@for_leads
@require_GET
def caches(request: ProjectRequest, name: str) -> HttpResponse:
    return render(request, "audits/caches.html", caches_context(audit_or_404(request, name), after_of(request)))


@for_leads
@require_GET
def readers(request: ProjectRequest, name: str) -> HttpResponse:
    return render(request, "audits/readers.html", readers_context(audit_or_404(request, name), request.GET.dict()))


@for_leads
@require_http_methods(["GET", "POST"])
def holdout(request: ProjectRequest, name: str) -> HttpResponse:
    """What a holdout is, and the one way to read it."""
    audit = audit_or_404(request, name)
    context = holdout_context(audit)
    if request.method == "GET":
        return render(request, "audits/holdout.html", context)
    reason = request.POST.get("reason", "")
    try:
        holdout_open(case_set=audit.comparison.case_set, reason=reason, actor=request.author, now=timezone.now())
    except InputError as error:
        problems = {"problems": error.problems, "reason": reason}
        return render(request, "audits/holdout.html", context | problems, status=422)
    return redirect("audits:holdout", request.project.name, audit.name)
