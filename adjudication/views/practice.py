"""Practising: cases whose label is known, and what it was, after each answer."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from adjudication.calibration import practice_queues
from adjudication.forms import DisputeForm
from adjudication.in_hand import lease_in_hand
from adjudication.models import Lease
from adjudication.services.calibrating import label_dispute
from adjudication.services.leases import Work, practice_claim
from adjudication.serving import queues_waiting
from adjudication.views.pages import feedback_screen, screen, told
from core.access import ProjectRequest, access
from core.errors import InputError
from core.models import Role

desk = access(Role.REVIEWER, Role.ADJUDICATOR)

BAD_INPUT = 422


@desk
@require_GET
def practice(request: ProjectRequest) -> HttpResponse:
    """The next case to practise on; on to the work where there is none."""
    now = timezone.now()
    for queue in practice_queues(request.project):
        if lease := practice_claim(practice=queue, actor=request.author, now=now):
            return screen(request, Work(lease, None, queues_waiting(request.project, request.author)), now)
    return redirect("adjudication:review", request.project.name)


@desk
@require_GET
def feedback(request: ProjectRequest, token: UUID) -> HttpResponse:
    return feedback_screen(request, _lease(request, token), timezone.now())


@desk
@require_POST
def dispute(request: ProjectRequest, token: UUID) -> HttpResponse:
    lease, form, now = _lease(request, token), DisputeForm(request.POST), timezone.now()
    if not form.is_valid():
        return told(request, form.sentences(), BAD_INPUT)
    try:
        label_dispute(lease=lease, actor=request.author, now=now, **form.cleaned_data)
    except InputError as error:
        return told(request, [f"{problem}." for problem in error.problems], BAD_INPUT)
    if request.headers.get("HX-Request"):
        return feedback_screen(request, lease, now)
    return redirect("adjudication:feedback", request.project.name, token)


def _lease(request: ProjectRequest, token: UUID) -> Lease:
    """Their own: anybody else's is not there."""
    lease = lease_in_hand(request.author, token)
    if lease is None:
        raise Http404
    return lease
