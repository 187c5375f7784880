"""Serving again what was passed on."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from adjudication.models import Item, ItemState, Lease, Slot, SlotKind, SlotState
from adjudication.services.settlements import slot_add
from adjudication.states import item_move, slot_move
from core.access import LEADING, require_role
from core.events import event_record
from core.models import Author


@transaction.atomic
def skips_lift(*, items: Iterable[int], actor: Author, now: datetime) -> int:
    """Let these items be served again to those who passed them on; how many there were comes back.

    Who had passed them on, when and why goes into the log. What everybody had passed on leaves the adjudicator, unless
    that person has it in hand or has decided.
    """
    require_role(actor, *LEADING)
    locked = Item.objects.select_for_update(no_key=True, of=("self",)).exclude(state=ItemState.SETTLED)
    found = list(locked.filter(pk__in=list(items), queue__project=actor.project_id, skips__isnull=False).order_by("pk"))
    for item in {item.pk: item for item in found}.values():
        passed_on = [
            {"author": skip.author_id, "at": skip.at.isoformat(), "reason": skip.reason} for skip in item.skips.all()
        ]
        item.skips.all().delete()
        if item.state == ItemState.CONFLICT:
            _back_to_reviewers(item)
        payload = {"item": item.pk, "skips": passed_on}
        event_record(name="adjudication.skips-lifted", actor=actor, now=now, payload=payload)
    return len({item.pk for item in found})


def _back_to_reviewers(item: Item) -> None:
    """As many answers as were given up when the item went to the adjudicator; none were where answers differed."""
    slot = item.slots.filter(kind=SlotKind.ADJUDICATION, state=SlotState.OPEN).order_by("n").last()
    if slot is None or Lease.objects.filter(slot=slot, ended_at__isnull=True).exists():
        return
    given_up = _given_up_for(slot)
    if given_up == 0:
        return
    slot_move(slot, SlotState.WITHDRAWN)
    item_move(item, ItemState.OPEN)
    for _ in range(given_up):
        slot_add(item, SlotKind.REVIEW)


def _given_up_for(slot: Slot) -> int:
    earlier = slot.item.slots.filter(kind=SlotKind.ADJUDICATION, n__lt=slot.n).aggregate(last=Max("n"))["last"] or 0
    return slot.item.slots.filter(kind=SlotKind.REVIEW, state=SlotState.WITHDRAWN, n__gt=earlier, n__lt=slot.n).count()
