"""Keeping what a person has entered and not sent."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction

from adjudication.models import Draft, Item, Lease, LeaseEnd
from adjudication.models.reviews import Passage
from adjudication.services.leases import LeaseLost, lease_renew
from core.errors import Problem, Refused
from core.models import Author

Answers = Mapping[int, str | None]  # artifact -> label, or None for *cannot judge*; may be incomplete


@transaction.atomic
def draft_save(
    *,
    lease: Lease,
    actor: Author,
    answers: Answers,
    reasons: Sequence[str],
    rationale: str,
    spans: Sequence[Passage] = (),
    seconds: int,
    now: datetime,
) -> bool:
    """Keep the draft, and the slot with it; False where the slot has gone to somebody else.

    The text is kept either way: a lost slot is no reason to lose words. What was sent already is not a draft.
    """
    if lease.author_id != actor.pk:
        raise Refused(Problem("this lease is somebody else's"))
    Item.objects.select_for_update(no_key=True).get(pk=lease.item_id)
    lease.refresh_from_db(fields=["ended_at", "end", "expires_at"])
    if lease.end in (LeaseEnd.SUBMITTED, LeaseEnd.SKIPPED):
        return True  # a save that arrives after the answer it belongs to
    draft_store(lease.item_id, actor, answers, reasons, rationale, spans, seconds, now)
    try:
        lease_renew(lease=lease, actor=actor, now=now)
    except LeaseLost:
        return False
    return True


def draft_store(
    item: int,
    author: Author,
    answers: Answers,
    reasons: Sequence[str],
    rationale: str,
    spans: Sequence[Passage],
    seconds: int,
    now: datetime,
) -> None:
    content = {
        "labels": {str(artifact): label for artifact, label in answers.items()},
        "reasons": list(reasons),
        "rationale": rationale,
        "spans": [list(passage) for passage in spans],
        "seconds": seconds,
        "saved_at": now,
    }
    Draft.objects.update_or_create(item_id=item, author=author, defaults=content)


def draft_drop(item: int, author: Author) -> None:
    Draft.objects.filter(item_id=item, author=author).delete()
