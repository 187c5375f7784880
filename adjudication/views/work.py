from uuid import UUID

from django.http import Http404, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from adjudication.blind import sent_cases, skipped_cases
from adjudication.calibration import known_cases_left_count, practice_queues
from adjudication.in_hand import lease_in_hand
from adjudication.models import Lease, SlotKind
from adjudication.selectors import sent_by, sent_count, skipped_by, undoable, waiting_for
from adjudication.serving import queues_waiting
from adjudication.views.pages import blind_page, waiting_words
from core.access import ProjectRequest, access
from core.models import Role

PAGE = 50


@access(Role.REVIEWER, Role.ADJUDICATOR)
@require_GET
def work(request: ProjectRequest) -> HttpResponse:
    """What waits for this person, what they passed on and what they sent; nothing about why."""
    project, author = request.project, request.author
    leases = sent_by(author).select_related("item__case")
    before = request.GET.get("before")
    if before:
        leases = leases.filter(ended_at__lt=_cursor(request, before).ended_at)
    shown = list(leases[: PAGE + 1])
    queues = queues_waiting(project, author)
    undo = undoable(author, timezone.now())
    skips = [(skip.item, skip.reason, skip.at) for skip in skipped_by(author)[:PAGE]]
    context = {
        "adjudicator": request.role == Role.ADJUDICATOR,
        "reviews": waiting_words(waiting_for(queues, author, request.role, SlotKind.REVIEW)),
        "conflicts": waiting_words(waiting_for(queues, author, request.role, SlotKind.ADJUDICATION)),
        "practice": sum(known_cases_left_count(practice, author) for practice in practice_queues(project)),
        "sent_in_all": sent_count(author),
        "sent": sent_cases(project, shown[:PAGE], str(undo.token) if undo else ""),
        "older": str(shown[PAGE - 1].token) if len(shown) > PAGE else "",
        "skipped": skipped_cases(project, skips),
    }
    return blind_page(request, "adjudication/work.html", context)


def _cursor(request: ProjectRequest, token: str) -> Lease:
    """The lease that the page before ended with: one of their own, or there is no such page."""
    try:
        lease = lease_in_hand(request.author, UUID(token))
    except ValueError as error:
        raise Http404 from error
    if lease is None:
        raise Http404
    return lease
