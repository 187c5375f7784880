"""How the desk's pages are made: from blind values alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.template.loader import get_template

from adjudication.blind import blind_item
from adjudication.models import Lease
from adjudication.selectors import COUNTED_UP_TO, draft_of, sent_count, skipped_by, undoable, waiting_count
from adjudication.services.presentations import presentation_ensure
from core.access import ProjectRequest
from core.models import Role
from core.pages import page_frame


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


def screen(request: ProjectRequest, lease: Lease | None, now: datetime, notices: Iterable[Notice] = ()) -> HttpResponse:
    """The case in hand, or that nothing waits; the part of the page alone where the page is there already."""
    item = None
    if lease is not None:
        presentation = presentation_ensure(item=lease.item, author=request.author, now=now)
        item = blind_item(lease, presentation, draft_of(lease.item, request.author))
    undo = undoable(request.author, now)
    context = {
        "item": item,
        "sent": sent_count(request.author),
        "waiting": waiting_words(waiting_count(request.project, request.author, Role(request.role))),
        "undo": str(undo.token) if undo else "",
        "passed_on": item is None and skipped_by(request.author).exists(),
    }
    template = "adjudication/_desk.html" if request.headers.get("HX-Request") else "adjudication/review.html"
    return blind_page(request, template, context, notices)


def told(request: ProjectRequest, sentences: Iterable[str], status: int) -> HttpResponse:
    """Say why not, and leave the page with what was typed as it is."""
    notices = [Notice("error", sentence) for sentence in sentences]
    part = request.headers.get("HX-Request")
    return blind_page(request, "adjudication/_told.html" if part else "adjudication/told.html", {}, notices, status)


def waiting_words(number: int) -> str:
    return f"{number:,}" if number < COUNTED_UP_TO else f"more than {COUNTED_UP_TO:,}"
