from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from adjudication.forms import NewReasonForm, PlacementForm
from adjudication.models import ReasonCode, ReasonOwner, ReasonStage
from adjudication.selectors import reasons_given, reasons_of
from adjudication.services.reasons import reason_code_add, reason_code_place
from core.access import ProjectRequest, access
from core.errors import InputError, Problem, Refused
from core.models import Role

BAD_INPUT, REFUSED = 422, 409

owners = access(Role.OWNER)


@dataclass(frozen=True)
class ReasonRow:
    code: ReasonCode
    given: int
    form: PlacementForm


@owners
@require_http_methods(["GET", "POST"])
def reason_codes(request: ProjectRequest) -> HttpResponse:
    """The project's codes, and a form for one more."""
    if request.method == "GET":
        return _page(request, NewReasonForm())
    form = NewReasonForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=BAD_INPUT)
    try:
        reason_code_add(**form.cleaned_data, actor=request.author, now=timezone.now())
    except InputError as error:
        return _page(request, form, error.problems, error.status)
    return redirect("adjudication:reason-codes", request.project.name)


@owners
@require_POST
def reason_code(request: ProjectRequest, number: int) -> HttpResponse:
    """Another stage or owner for one code, or its retirement."""
    code = get_object_or_404(ReasonCode, project=request.project, pk=number)
    form = PlacementForm(request.POST)
    if not form.is_valid():
        problem = Problem("not a stage and an owner", value=code.code, allowed=_allowed())
        return _page(request, NewReasonForm(), (problem,), BAD_INPUT)
    try:
        reason_code_place(code=code, **form.cleaned_data, actor=request.author, now=timezone.now())
    except Refused as error:
        return _page(request, NewReasonForm(), error.problems, REFUSED)
    return redirect("adjudication:reason-codes", request.project.name)


def _page(
    request: ProjectRequest, form: NewReasonForm, problems: tuple[Problem, ...] = (), status: int = 200
) -> HttpResponse:
    given = reasons_given(request.project)
    rows = [
        ReasonRow(code, given.get(code.code, 0), PlacementForm(initial=_standing(code), auto_id=f"id_%s_{code.pk}"))
        for code in reasons_of(request.project)
    ]
    stages = [(stage, [row for row in rows if row.code.stage == stage]) for stage in ReasonStage]  # type: ignore[attr-defined]
    context = {"stages": [stage for stage in stages if stage[1]], "form": form, "problems": problems}
    return render(request, "adjudication/reason_codes.html", context, status=status)


def _standing(code: Any) -> dict[str, Any]:
    return {"revision": code.revision, "stage": code.stage, "owner": code.owner}


def _allowed() -> str:
    return f"{', '.join(ReasonStage.values)}; {', '.join(ReasonOwner.values)}"
