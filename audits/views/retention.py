from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from audits.retention_pages import retention_context
from audits.services.retaining import retention_ask
from core.access import ProjectRequest, access
from core.errors import InputError
from core.models import Role


@access(Role.OWNER)
@require_http_methods(["GET", "POST"])
def retention(request: ProjectRequest) -> HttpResponse:
    """What was dropped, and what would go; what is sent asks for the one or the other."""
    context = retention_context(request.project)
    if request.method == "GET":
        return render(request, "audits/retention.html", context)
    before, sent = request.POST.get("before", ""), request.POST
    try:
        job = retention_ask(
            before=before,
            drop=sent.get("do") == "drop",
            despite_undecided="despite_undecided" in sent,
            actor=request.author,
            now=timezone.now(),
        )
    except InputError as error:
        context |= {"problems": error.problems, "before": before}
        return render(request, "audits/retention.html", context, status=error.status)
    return redirect("audits:job", request.project.name, job.pk)
