"""What reviewers passed on, for those who lead."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from adjudication.selectors import skips_open
from adjudication.services.skips import skips_lift
from adjudication.skipped import SkipTold
from core.access import ProjectRequest, for_leads

PAGE = 50


@for_leads
@require_http_methods(["GET", "POST"])
def skipped(request: ProjectRequest) -> HttpResponse:
    """Who passed on what and why; and serving it to them again, one case or many."""
    if request.method == "POST":
        items = [int(item) for item in request.POST.getlist("items") if item.isascii() and item.isdigit()]
        lifted = skips_lift(items=items, actor=request.author, now=timezone.now())
        messages.success(request, f"Served again: {lifted} case{'' if lifted == 1 else 's'}.")
        return redirect(request.path)
    shown = [SkipTold.of(skip) for skip in skips_open(request.project)[: PAGE + 1]]
    context = {"skips": shown[:PAGE], "more": len(shown) > PAGE, "page_size": PAGE}
    return render(request, "adjudication/skipped.html", context)
