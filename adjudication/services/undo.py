"""Taking an answer back."""

from datetime import datetime

from django.db import transaction

from adjudication.models import Item, ItemState, Lease, LeaseEnd, Review, SlotKind, SlotState, Withdrawal
from adjudication.selectors import UNDO_WITHIN, standing_review
from adjudication.services.drafts import draft_store
from adjudication.services.leases import LEASE
from adjudication.states import item_move, slot_move
from core.errors import Problem, Refused
from core.events import event_record
from core.models import Author


class TooLate(Refused):
    """One sentence for every cause, so that it tells nothing about what others did."""

    def __init__(self) -> None:
        super().__init__(Problem("this answer cannot be taken back any more"))


@transaction.atomic
def review_undo(*, lease: Lease, actor: Author, now: datetime) -> Lease:
    """Take back the answer sent under this lease; the item returns to its author, answers and all.

    Nothing is unsaid: the review stays with a withdrawal beside it, and a decision that it made stays in
    force until another replaces it. Refused once others have worked on from it.
    """
    item = Item.objects.select_for_update(no_key=True).get(pk=lease.item_id)
    lease = Lease.objects.select_related("slot").get(pk=lease.pk)
    review = standing_review(item, actor)
    if lease.author_id != actor.pk:
        raise Refused(Problem("this lease is somebody else's"))
    if lease.end != LeaseEnd.SUBMITTED or lease.ended_at is None or review is None:
        raise TooLate
    if review.kind == SlotKind.PRACTICE:  # its author has seen the label
        raise TooLate
    if now - lease.ended_at > UNDO_WITHIN or lease.slot.state != SlotState.DONE:
        raise TooLate
    if review.kind == SlotKind.REVIEW:
        _take_from_the_adjudicator(item)
    Withdrawal.objects.create(review=review, actor=actor, at=now)
    slot_move(lease.slot, SlotState.OPEN)
    _as_draft(review, actor, now)
    event_record(name="adjudication.review-withdrawn", actor=actor, now=now, payload={"review": review.pk})
    return Lease.objects.create(slot=lease.slot, item=item, author=actor, taken_at=now, expires_at=now + LEASE)


def _take_from_the_adjudicator(item: Item) -> None:
    """The conflict that the answer made goes with it, unless somebody has it in hand or has decided it."""
    if item.reviews.filter(kind=SlotKind.ADJUDICATION, withdrawal=None).exists():
        raise TooLate
    slots = list(item.slots.select_for_update().filter(kind=SlotKind.ADJUDICATION, state=SlotState.OPEN))
    if Lease.objects.filter(slot__in=slots, ended_at__isnull=True).exists():
        raise TooLate
    for slot in slots:
        slot_move(slot, SlotState.WITHDRAWN)
    if item.state == ItemState.CONFLICT:
        item_move(item, ItemState.OPEN)


def _as_draft(review: Review, actor: Author, now: datetime) -> None:
    answers = dict(review.labels.values_list("artifact", "label"))
    reasons = list(review.reasons.order_by("pk").values_list("code", flat=True))
    spans = list(review.spans.order_by("pk").values_list("artifact", "part", "start", "end"))
    draft_store(review.item_id, actor, answers, reasons, review.rationale, spans, review.seconds or 0, now)
