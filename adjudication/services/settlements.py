"""How answers become references."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import Max

from adjudication.models import (
    Item,
    ItemState,
    Label,
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
from core.rows import Joined, one_value

ITEM_SETTLED = "adjudication.item-settled"
ENOUGH_TO_SAY_CANNOT_JUDGE = 2

_UNANSWERED = "SELECT 1 FROM adjudication_slot WHERE item_id = %(item)s AND state = 'open' LIMIT 1"

Decision = Mapping[int, str | None]  # artifact -> label, or None where nobody can judge


def item_resolve(*, item: Item, actor: Author, now: datetime) -> None:
    """Settle the item, or find it in conflict, or leave it waiting. The caller holds its row lock.

    An item that is settled already gets here when an answer was taken back and given anew: the decision
    in force stays until another one replaces it, as a further revision. An item whose label is known is not settled
    by any answer.
    """
    if item.queue.purpose != QueuePurpose.SETTLE:
        return
    unanswered = one_value(_UNANSWERED, {"item": item.pk}) is not None
    if unanswered and item.state == ItemState.OPEN:
        _wait_for_another(item, actor, now)
        return
    answers = [(review, decision) for review, decision in _standing(item) if not review.surplus]
    adjudications = [decision for review, decision in answers if review.kind == SlotKind.ADJUDICATION]
    if adjudications:
        item_settle(item=item, how=SettlementHow.ADJUDICATED, decision=adjudications[-1], actor=actor, now=now)
        return
    if unanswered or item.state == ItemState.CONFLICT:
        return
    first, *others = [decision for _, decision in answers]
    if any(other != first for other in others):
        item_to_adjudicator(item=item, now=now, actor=actor)
    elif None in first.values() and len(answers) < ENOUGH_TO_SAY_CANNOT_JUDGE:
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
    raised = "UPDATE adjudication_queue SET settled = settled + %(wanted)s WHERE id = %(queue)s RETURNING settled"
    return int(one_value(raised, {"wanted": wanted, "queue": queue.pk}))


def announce_settlements(*, queue: Queue, number: int, actor: Author, now: datetime) -> None:
    """The outbox entry for the settlements up to this number."""
    event_record(name=ITEM_SETTLED, actor=actor, now=now, payload={"queue": queue.pk, "number": number})


def _in_force(item: Item) -> Settlement | None:
    return item.settlements.order_by("revision").last()


def _references(settlement: Settlement) -> dict[int, str]:
    return dict(settlement.references.values_list("artifact", "label"))


def _given(decision: Decision) -> dict[int, str]:
    return {artifact: label for artifact, label in decision.items() if label is not None}


_ANSWERS = Joined(r=Review, l=Label)
_STANDING = f"""
SELECT {_ANSWERS.columns}
FROM adjudication_review r
JOIN adjudication_label l ON l.review_id = r.id
LEFT JOIN adjudication_withdrawal w ON w.review_id = r.id
WHERE r.item_id = %(item)s AND w.id IS NULL
ORDER BY r.revision, r.id"""  # noqa: S608 -- from names of our own models


def _standing(item: Item) -> list[tuple[Review, dict[int, str | None]]]:
    """Each author's latest answer that was not taken back, oldest first, with what it says."""
    latest: dict[int, tuple[Review, dict[int, str | None]]] = {}
    for review, label in _ANSWERS.ask(_STANDING, {"item": item.pk}):
        before = latest.get(review.author_id)
        if before is None or before[0] != review:
            before = latest[review.author_id] = (review, {})
        before[1][label.artifact_id] = label.label
    return sorted(latest.values(), key=lambda answer: answer[0].pk)


def slot_add(item: Item, kind: SlotKind) -> None:
    last = item.slots.aggregate(last=Max("n"))["last"] or 0
    Slot.objects.create(item=item, n=last + 1, kind=kind, queue=item.queue, rank=item.rank or 0, urgent=True)
