"""How the desk's pages are made: from blind values alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpResponse
from django.middleware.csrf import get_token
from django.template.loader import get_template

from adjudication.blind import BlindItem, blind_feedback, blind_item
from adjudication.in_hand import draft_of, key_choice_of
from adjudication.keys import PageKeys, page_keys_of
from adjudication.models import Lease, SlotKind
from adjudication.selectors import (
    COUNTED_UP_TO,
    sent_count,
    skipped_by,
    undoable,
    waiting_count,
)
from adjudication.services.leases import Work
from adjudication.services.presentations import presentation_ensure
from core.access import ProjectRequest
from core.models import Role
from core.pages import page_frame

HEADINGS = {
    SlotKind.REVIEW: "Review a case",
    SlotKind.ADJUDICATION: "Settle a case",
    SlotKind.PRACTICE: "Practise on a case",
    SlotKind.ANCHOR: "Review a case",
}
MOST_LOADED_AHEAD = 300_000  # characters: a longer case comes when it is wanted
ONWARD = "X-Desk-Onward"  # the header of an answer that goes with what the browser shows already


@dataclass(frozen=True)
class Notice:
    level_tag: str
    text: str

    def __str__(self) -> str:
        return self.text


def blind_page(
    request: ProjectRequest,
    template: str,
    context: Mapping[str, Any],
    notices: Iterable[Notice] = (),
    status: int = 200,
) -> HttpResponse:
    """Render without the request: no context processor adds what `blind` did not let through."""
    values = {**context, "frame": page_frame(request), "csrf_token": get_token(request), "messages": tuple(notices)}
    return HttpResponse(get_template(template).render(values), status=status)


def screen(
    request: ProjectRequest,
    work: Work,
    now: datetime,
    notices: Iterable[Notice] = (),
    undo: str | None = None,
    shown: str = "",
) -> HttpResponse:
    """The case in hand with the one after it, or that nothing waits; a part of the page where the page is there
    already. `shown` is the token of the case that a browser has shown by itself, from what it had loaded ahead:
    where that is the one in hand now, only the one after it is sent. `undo` spares looking for the last answer."""
    choice = key_choice_of(request.author)
    page = page_keys_of(choice.keys)
    context: dict[str, Any] = {"heading": "Nothing is waiting", "keys": page, "keys_off": choice.off}
    lease, ahead = work.lease, work.ahead
    if lease is None:
        context["passed_on"] = skipped_by(request.author).exists()
    else:
        context["heading"] = HEADINGS[SlotKind(lease.slot.kind)]
        loaded = ahead and _laid_out(request, ahead, now, page)
        context["ahead"] = loaded if loaded and loaded.length <= MOST_LOADED_AHEAD else None
    if undo is None:
        last = undoable(request.author, now)
        undo = str(last.token) if last else ""
    context |= {
        "undo": undo,
        "sent": sent_count(request.author),
        "waiting": waiting_words(waiting_count(work.queues, request.author, Role(request.role))),
    }
    if lease is not None and shown == str(lease.token):
        answer = blind_page(request, "adjudication/_onward.html", context, notices)
        answer[ONWARD] = "yes"
        return answer
    context["item"] = lease and _laid_out(request, lease, now, page)
    template = "adjudication/_desk.html" if request.headers.get("HX-Request") else "adjudication/review.html"
    return blind_page(request, template, context, notices)


def _laid_out(request: ProjectRequest, lease: Lease, now: datetime, page: PageKeys) -> BlindItem:
    presentation = presentation_ensure(item=lease.item, author=request.author, now=now)
    # Nobody has written yet about what is laid before them for the first time.
    draft = draft_of(lease.item, request.author) if presentation.at < now else None
    return blind_item(lease, presentation, draft, page)


def feedback_screen(request: ProjectRequest, lease: Lease, now: datetime) -> HttpResponse:
    """A practice case after its answer; what has none yet has no such page."""
    presentation = presentation_ensure(item=lease.item, author=request.author, now=now)
    feedback = blind_feedback(lease, presentation)
    if feedback is None:
        raise Http404
    template = "adjudication/_feedback.html" if request.headers.get("HX-Request") else "adjudication/feedback.html"
    return blind_page(
        request, template, {"feedback": feedback, "keys": page_keys_of(key_choice_of(request.author).keys)}
    )


def told(request: ProjectRequest, sentences: Iterable[str], status: int) -> HttpResponse:
    """Say why not, and leave the page with what was typed as it is."""
    notices = [Notice("error", sentence) for sentence in sentences]
    part = request.headers.get("HX-Request")
    return blind_page(request, "adjudication/_told.html" if part else "adjudication/told.html", {}, notices, status)


def waiting_words(number: int) -> str:
    return f"{number:,}" if number < COUNTED_UP_TO else f"more than {COUNTED_UP_TO:,}"
