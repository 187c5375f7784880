"""The case in hand, and what can be done with it."""

from collections.abc import Iterable
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from adjudication.blind import blind_comparison
from adjudication.forms import AnswerForm, SkipForm
from adjudication.in_hand import lease_in_hand
from adjudication.models import Lease, SlotKind
from adjudication.selectors import reasons_of
from adjudication.services.drafts import draft_save
from adjudication.services.leases import LeaseLost, work_claim
from adjudication.services.presentations import presentation_ensure
from adjudication.services.reviews import item_skip, review_submit
from adjudication.services.undo import review_undo
from adjudication.views.pages import Notice, blind_page, feedback_screen, screen, told
from core.access import ProjectRequest, access
from core.errors import InputError, Refused
from core.models import Role

desk = access(Role.REVIEWER, Role.ADJUDICATOR)

BAD_INPUT, REFUSED = 422, 409
LOST = (
    "This case is no longer yours: your time on it ran out, and it went on to a colleague or has its answers. "
    "What you wrote is kept as your draft. Go on with the next case."
)


@desk
@require_GET
def review(request: ProjectRequest) -> HttpResponse:
    now = timezone.now()
    passed_on = "passed-on" in request.GET
    work = work_claim(project=request.project, actor=request.author, now=now, passed_on=passed_on)
    return screen(request, work, now)


@desk
@require_POST
def review_send(request: ProjectRequest, token: UUID) -> HttpResponse:
    lease = _lease(request, token)
    form = _answer_form(request, lease, complete=True)
    if not form.is_valid():
        return told(request, form.sentences(), BAD_INPUT)
    try:
        sent = review_submit(lease=lease, actor=request.author, now=timezone.now(), **form.content())
    except LeaseLost:
        draft_save(lease=lease, actor=request.author, now=timezone.now(), **form.content())
        return told(request, [LOST], REFUSED)
    except InputError as error:
        return told(request, _sentences(error), error.status)
    if lease.slot.kind == SlotKind.PRACTICE:
        return _feedback(request, lease)
    # An answer beyond what the item needed is kept, and nothing hangs on it.
    undo = "" if sent.surplus else str(token)
    return _next(request, Notice("success", "Saved."), undo, request.POST.get("ahead", ""))


@desk
@require_POST
def draft(request: ProjectRequest, token: UUID) -> HttpResponse:
    """Keep what is entered so far, and the case with it."""
    lease = _lease(request, token)
    form = _answer_form(request, lease, complete=False)
    if not form.is_valid():
        return told(request, form.sentences(), BAD_INPUT)
    held = draft_save(lease=lease, actor=request.author, now=timezone.now(), **form.content())
    return HttpResponse(status=204) if held else told(request, [LOST], REFUSED)


@desk
@require_POST
def skip(request: ProjectRequest, token: UUID) -> HttpResponse:
    form = SkipForm(request.POST)
    if not form.is_valid():
        return told(request, form.sentences(), BAD_INPUT)
    try:
        item_skip(
            lease=_lease(request, token),
            actor=request.author,
            reason=form.cleaned_data["reason"],
            now=timezone.now(),
        )
    except LeaseLost:
        return told(request, [LOST], REFUSED)
    return _next(request, Notice("info", "Passed on. It goes to a colleague first."))


@desk
@require_POST
def undo(request: ProjectRequest, token: UUID) -> HttpResponse:
    try:
        review_undo(lease=_lease(request, token), actor=request.author, now=timezone.now())
    except Refused as error:
        return told(request, _sentences(error), REFUSED)
    return _next(request, Notice("info", "Your last answer is back. It counts again when you save it."))


@desk
@require_GET
def differences(request: ProjectRequest, token: UUID) -> HttpResponse:
    """Where the outputs of a case differ: the texts alone for the page that shows them, which then marks them."""
    lease = _lease(request, token)
    presentation = presentation_ensure(item=lease.item, author=request.author, now=timezone.now())
    sides = blind_comparison(lease, presentation)
    if not sides:
        raise Http404
    part = "_differences" if request.headers.get("HX-Request") else "differences"
    return blind_page(request, f"adjudication/{part}.html", {"sides": sides})


def _lease(request: ProjectRequest, token: UUID) -> Lease:
    """Their own: anybody else's is not there."""
    lease = lease_in_hand(request.author, token)
    if lease is None:
        raise Http404
    return lease


def _answer_form(request: ProjectRequest, lease: Lease, *, complete: bool) -> AnswerForm:
    presentation = presentation_ensure(item=lease.item, author=request.author, now=timezone.now())
    labels = lease.item.queue.rubric.labels

    def codes() -> Iterable[str]:
        return [reason.code for reason in reasons_of(request.project)]

    return AnswerForm(request.POST, presentation=presentation, labels=labels, codes=codes, complete=complete)


def _next(request: ProjectRequest, notice: Notice, undo: str | None = None, shown: str = "") -> HttpResponse:
    if not request.headers.get("HX-Request"):
        return redirect("adjudication:review", request.project.name)
    now = timezone.now()
    work = work_claim(project=request.project, actor=request.author, now=now)
    return screen(request, work, now, [notice], undo, shown)


def _feedback(request: ProjectRequest, lease: Lease) -> HttpResponse:
    if not request.headers.get("HX-Request"):
        return redirect("adjudication:feedback", request.project.name, lease.token)
    return feedback_screen(request, lease, timezone.now())


def _sentences(error: InputError) -> list[str]:
    return [str(problem)[:1].upper() + str(problem)[1:] + "." for problem in error.problems]
