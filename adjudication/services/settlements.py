"""How answers become references."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import F, Max

from adjudication.models import (
    Item,
    ItemState,
    Queue,
    QueuePurpose,
    Reference,
    Review,
    Settlement,
    SettlementHow,
    Slot,
    SlotKind,
    SlotState,
)
from adjudication.selectors import has_reviewer_left
from adjudication.states import item_move
from core.events import event_record
from core.models import Author

ITEM_SETTLED = "adjudication.item-settled"
ENOUGH_TO_SAY_CANNOT_JUDGE = 2

Decision = Mapping[int, str | None]  # artifact -> label, or None where nobody can judge


def item_resolve(*, item: Item, actor: Author, now: datetime) -> None:
    """Settle the item, or find it in conflict, or leave it waiting. The caller holds its row lock.

    An item that is settled already gets here when an answer was taken back and given anew: the decision
    in force stays until another one replaces it, as a further revision. An item whose label is known is not settled
    by any answer.
    """
    if item.queue.purpose != QueuePurpose.SETTLE:
        return
    unanswered = item.slots.filter(state=SlotState.OPEN).exists()
    if unanswered and item.state == ItemState.OPEN:
        _wait_for_another(item, actor, now)
        return
    reviews = [review for review in _standing_reviews(item) if not review.surplus]
    decisions = {review.pk: _decision(review) for review in reviews}
    adjudications = [review for review in reviews if review.kind == SlotKind.ADJUDICATION]
    if adjudications:
        item_settle(
            item=item, how=SettlementHow.ADJUDICATED, decision=decisions[adjudications[-1].pk], actor=actor, now=now
        )
        return
    if unanswered or item.state == ItemState.CONFLICT:
        return
    first, *others = [decisions[review.pk] for review in reviews]
    if any(other != first for other in others):
        item_to_adjudicator(item=item, now=now, actor=actor)
    elif None in first.values() and len(reviews) < ENOUGH_TO_SAY_CANNOT_JUDGE:
        # One person alone does not declare a case underspecified.
        slot_add(item, SlotKind.REVIEW)
        _wait_for_another(item, actor, now)
    else:
        how = SettlementHow.UNANIMOUS if others else SettlementHow.SINGLE
        item_settle(item=item, how=how, decision=first, actor=actor, now=now)


def _wait_for_another(item: Item, actor: Author, now: datetime) -> None:
    """A further answer is needed: where nobody is left to give it, the adjudicator decides."""
    if item.state == ItemState.OPEN and not has_reviewer_left(item):
        item_to_adjudicator(item=item, actor=actor, now=now)


def item_to_adjudicator(*, item: Item, actor: Author, now: datetime) -> None:
    """Reviewers differ, or none of them would answer: an adjudicator decides. What is settled stays so until then."""
    if item.state != ItemState.SETTLED:
        item_move(item, ItemState.CONFLICT)
    item.slots.filter(state=SlotState.OPEN).update(state=SlotState.WITHDRAWN)
    slot_add(item, SlotKind.ADJUDICATION)
    event_record(name="adjudication.conflict-found", actor=actor, now=now, payload={"item": item.pk})


def item_settle(*, item: Item, how: SettlementHow, decision: Decision, actor: Author, now: datetime) -> Settlement:
    """Write the decision. An artifact that nobody can judge gets no reference, and the item is underspecified.

    The same decision, come about in the same way, is not written twice.
    """
    if None in decision.values():
        how = SettlementHow.UNDERSPECIFIED
    item.slots.filter(state=SlotState.OPEN).update(state=SlotState.WITHDRAWN)
    before = _in_force(item) if item.state == ItemState.SETTLED else None
    if before is None:
        item_move(item, ItemState.SETTLED)
    elif (before.how, _references(before)) == (how, _given(decision)):
        return before
    number = settlement_numbers(item.queue, 1)
    settlement = Settlement.objects.create(
        item=item,
        revision=1 + (before.revision if before else 0),
        queue=item.queue,
        number=number,
        how=how,
        actor=actor,
        at=now,
    )
    Reference.objects.bulk_create(
        Reference(settlement=settlement, artifact_id=artifact, label=label)
        for artifact, label in _given(decision).items()
    )
    announce_settlements(queue=item.queue, number=number, actor=actor, now=now)
    return settlement


def settlement_numbers(queue: Queue, wanted: int) -> int:
    """Reserve numbers; the last one comes back. The queue's row is locked until the commit, so that a
    reader who has seen a number has seen every smaller one."""
    Queue.objects.filter(pk=queue.pk).update(settled=F("settled") + wanted)
    return Queue.objects.values_list("settled", flat=True).get(pk=queue.pk)


def announce_settlements(*, queue: Queue, number: int, actor: Author, now: datetime) -> None:
    """The outbox entry for the settlements up to this number."""
    event_record(name=ITEM_SETTLED, actor=actor, now=now, payload={"queue": queue.pk, "number": number})


def _in_force(item: Item) -> Settlement | None:
    return item.settlements.order_by("revision").last()


def _references(settlement: Settlement) -> dict[int, str]:
    return dict(settlement.references.values_list("artifact", "label"))


def _given(decision: Decision) -> dict[int, str]:
    return {artifact: label for artifact, label in decision.items() if label is not None}


def _standing_reviews(item: Item) -> list[Review]:
    """Each author's latest answer that was not taken back, oldest first."""
    latest: dict[int, Review] = {}
    for review in item.reviews.filter(withdrawal=None).order_by("revision", "pk").prefetch_related("labels"):
        latest[review.author_id] = review
    return sorted(latest.values(), key=lambda review: review.pk)


def _decision(review: Review) -> dict[int, str | None]:
    return {label.artifact_id: label.label for label in review.labels.all()}


def slot_add(item: Item, kind: SlotKind) -> None:
    last = item.slots.aggregate(last=Max("n"))["last"] or 0
    Slot.objects.create(item=item, n=last + 1, kind=kind, queue=item.queue, rank=item.rank or 0, urgent=True)
