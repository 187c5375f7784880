"""Submitting an answer, and passing an item on."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from adjudication.models import (
    Item,
    ItemState,
    Label,
    Lease,
    LeaseEnd,
    Presentation,
    Review,
    ReviewReason,
    Skip,
    Slot,
    SlotKind,
    SlotState,
)
from adjudication.reasons import check_reasons
from adjudication.selectors import has_reviewer_left
from adjudication.services.drafts import draft_drop
from adjudication.services.leases import lease_end
from adjudication.services.settlements import item_resolve, item_to_adjudicator
from adjudication.states import slot_move
from core.access import require_role
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.models import Author, Role
from core.texts import require_storable

LONGEST_CODE = 60
MOST_SECONDS = 2**31 - 1  # what the column holds

Answers = Mapping[int, str | None]  # artifact -> label, or None for *cannot judge*


@transaction.atomic
def review_submit(
    *,
    lease: Lease,
    actor: Author,
    answers: Answers,
    reasons: Sequence[str] = (),
    rationale: str = "",
    seconds: int | None = None,
    now: datetime,
) -> Review:
    """Store one person's answer and let the item settle, conflict or wait, in one transaction.

    Sent twice, it is stored once: the first answer comes back. Raises `Refused` where the lease was
    lost to somebody else.
    """
    # The item alone: a lock on its queue would let answers in only one by one from their very start.
    locked = Item.objects.select_for_update(no_key=True, of=("self",))
    item = locked.select_related("queue__rubric").get(pk=lease.item_id)
    lease = Lease.objects.select_related("slot").get(pk=lease.pk)
    if lease.author_id != actor.pk:
        raise Refused(Problem("this lease is somebody else's"))
    if lease.end == LeaseEnd.SUBMITTED:
        return Review.objects.filter(item=item, author=actor).latest("revision")
    require_role(actor, Role.REVIEWER, Role.ADJUDICATOR)  # it may have been taken since the claim
    check_answers(item, answers)
    check_words(reasons, rationale)
    check_reasons(reasons, rationale)
    lease_end(lease=lease, end=LeaseEnd.SUBMITTED, now=now)
    surplus = not _slot_answered(lease.slot)
    review = Review.objects.create(
        item=item,
        author=actor,
        revision=1 + (item.reviews.filter(author=actor).aggregate(last=Max("revision"))["last"] or 0),
        kind=lease.slot.kind,
        surplus=surplus,
        presentation=Presentation.objects.filter(item=item, author=actor).first(),
        rationale=rationale,
        # A browser's odd clock is no reason to lose an answer.
        seconds=seconds if seconds is not None and 0 <= seconds <= MOST_SECONDS else None,
        at=now,
    )
    Label.objects.bulk_create(
        Label(review=review, artifact_id=artifact, label=label) for artifact, label in answers.items()
    )
    ReviewReason.objects.bulk_create(ReviewReason(review=review, code=code) for code in dict.fromkeys(reasons))
    draft_drop(item.pk, actor)
    event_record(name="adjudication.review-submitted", actor=actor, now=now, payload={"review": review.pk})
    if not surplus:
        item_resolve(item=item, actor=actor, now=now)
    return review


def check_answers(item: Item, answers: Answers) -> None:
    shown = set(item.shown.values_list("artifact", flat=True))
    if set(answers) != shown:
        raise InputError(Problem("an answer is needed for each artifact shown, and for no other"))
    labels = item.queue.rubric.labels
    wrong = [label for label in answers.values() if label is not None and label not in labels]
    if wrong:
        raise InputError(Problem("not a label of the scale", value=wrong[0], allowed=", ".join(labels)))


def check_words(reasons: Sequence[str], rationale: str) -> None:
    require_storable("rationale", rationale)
    for code in reasons:
        require_storable("reasons", code, longest=LONGEST_CODE)


def _slot_answered(slot: Slot) -> bool:
    """False where the item got all it needed while this answer was under way."""
    try:
        slot_move(slot, SlotState.DONE)
    except Refused:
        return False
    return True


@transaction.atomic
def item_skip(*, lease: Lease, actor: Author, reason: str = "", now: datetime) -> None:
    """Pass an item on. It goes first to the next reviewer, and after all have skipped it to the adjudicator."""
    require_storable("reason", reason)
    item = Item.objects.select_for_update(no_key=True).get(pk=lease.item_id)
    if lease.author_id != actor.pk:
        raise Refused(Problem("this lease is somebody else's"))
    lease_end(lease=lease, end=LeaseEnd.SKIPPED, now=now)
    Skip.objects.get_or_create(item=item, author=actor, defaults={"at": now, "reason": reason})
    Slot.objects.filter(pk=lease.slot_id).update(urgent=True)
    event_record(name="adjudication.item-skipped", actor=actor, now=now, payload={"item": item.pk})
    if item.state == ItemState.OPEN and lease.slot.kind == SlotKind.REVIEW and not has_reviewer_left(item):
        item_to_adjudicator(item=item, now=now, actor=actor)
