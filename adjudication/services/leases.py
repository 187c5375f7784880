"""Who holds a slot now."""

from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from adjudication.models import Lease, LeaseEnd, Queue, Slot, SlotKind, SlotState
from adjudication.selectors import slots_open_to
from core.access import require_role
from core.errors import Problem, Refused
from core.models import Author, Project, Role

LEASE = timedelta(minutes=30)
MOST_TRIES = 100  # a try is lost only to somebody else's success


class LeaseLost(Refused):
    """The slot went to somebody else, or is not needed any more."""

    def __init__(self) -> None:
        super().__init__(Problem("the lease has ended; the item may be with somebody else now"))


def work_claim(*, project: Project, actor: Author, now: datetime, passed_on: bool = False) -> Lease | None:
    """What this person works on next, whatever queue it is in: what they took last, or else the next open slot.

    What they have passed on comes back only when they ask for it: it is there for their colleagues first.
    """
    leases_expire(now=now)
    if lease := _held(actor, item__queue__project=project):
        return lease_renew(lease=lease, actor=actor, now=now)
    open_slots = Slot.objects.filter(queue=OuterRef("pk"), state=SlotState.OPEN)
    for queue in Queue.objects.filter(Exists(open_slots), project=project).order_by("pk"):
        if lease := slot_claim(queue=queue, actor=actor, now=now, passed_on=passed_on):
            return lease
    return None


def slot_claim(*, queue: Queue, actor: Author, now: datetime, passed_on: bool = True) -> Lease | None:
    """The slot this person works on next: the one they hold, or the first open one in serving order.

    Adjudicators are served conflicts first, and reviews only where another adjudicator is left to settle
    what may become a conflict. None: nothing is waiting for this person. Expired leases
    are ended here, so that no worker has to run for an abandoned item to be served again.
    """
    role = require_role(actor, Role.REVIEWER, Role.ADJUDICATOR)
    if queue.project_id != actor.project_id:
        raise Refused(Problem(f"{actor} is no member of the project of this queue"))
    leases_expire(now=now)
    for _ in range(MOST_TRIES):
        try:
            with transaction.atomic():
                # A person's windows come one after the other, and find what the first of them took.
                Author.objects.select_for_update(no_key=True).get(pk=actor.pk)
                if held := _held(actor, item__queue=queue):
                    return lease_renew(lease=held, actor=actor, now=now)
                slot = _next_slot(queue, actor, role, passed_on)
                if slot is None:
                    return None
                return Lease.objects.create(
                    slot=slot, item_id=slot.item_id, author=actor, taken_at=now, expires_at=now + LEASE
                )
        except IntegrityError:  # one_live_lease_per_slot: somebody was faster
            continue
    raise Refused(Problem("too many people claim at this moment; try again"))


def leases_expire(*, now: datetime) -> int:
    expired = Lease.objects.filter(ended_at__isnull=True, expires_at__lte=now)
    # Asked first: on SQLite an update waits for the one writer even where it finds nothing.
    return expired.update(ended_at=now, end=LeaseEnd.EXPIRED) if expired.exists() else 0


def lease_renew(*, lease: Lease, actor: Author, now: datetime) -> Lease:
    """The holder's own heartbeat: never refused while nobody else holds the slot."""
    _change_live(Lease.objects.filter(pk=lease.pk, author=actor), now, expires_at=now + LEASE)
    lease.ended_at, lease.end, lease.expires_at = None, "", now + LEASE
    return lease


def lease_end(*, lease: Lease, end: LeaseEnd, now: datetime) -> None:
    _change_live(Lease.objects.filter(pk=lease.pk), now, ended_at=now, end=end)
    lease.ended_at, lease.end = now, end


def _held(actor: Author, **where: Any) -> Lease | None:
    """What this person took last: an item that came back to them goes before the one they had begun."""
    held = Lease.objects.filter(author=actor, ended_at__isnull=True, **where)
    return held.select_related("item__queue__rubric", "item__case", "slot").order_by("taken_at", "pk").last()


def _change_live(lease: QuerySet[Lease], now: datetime, **change: Any) -> None:
    """Change a live lease, or one that has expired, if its slot waits for an answer that nobody else is giving."""
    live = lease.filter(ended_at__isnull=True)
    if live.update(**change) or (_take_back(lease, now) and live.update(**change)):
        return
    raise LeaseLost


def _take_back(lease: QuerySet[Lease], now: datetime) -> bool:
    expired = lease.filter(end=LeaseEnd.EXPIRED, slot__state=SlotState.OPEN)
    try:
        with transaction.atomic():
            return expired.update(ended_at=None, end="", expires_at=now + LEASE) == 1
    except IntegrityError:  # one_live_lease_per_slot: somebody has taken it since
        return False


def _next_slot(queue: Queue, actor: Author, role: Role, passed_on: bool) -> Slot | None:
    open_slots = slots_open_to(actor, role, Slot.objects.filter(queue=queue))
    # What this person skipped comes back only when nothing else waits.
    for skipped in (False, True) if passed_on else (False,):
        for kind in (SlotKind.ADJUDICATION, SlotKind.REVIEW):
            slots = open_slots.filter(kind=kind, was_skipped=skipped)

            if connection.features.has_select_for_update_skip_locked:
                slots = slots.select_for_update(skip_locked=True, of=("self",))
            slot = slots.order_by("-urgent", "rank", "n").first()
            if slot:
                return slot
    return None
