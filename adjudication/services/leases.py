"""Who holds a slot now."""

from datetime import datetime, timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from adjudication.models import Lease, LeaseEnd, Queue, Slot, SlotKind, SlotState
from adjudication.selectors import slots_open_to
from core.access import require_role
from core.errors import Problem, Refused
from core.models import Author, Project, Role

LEASE = timedelta(minutes=30)
NOT_YOURS_NOW = "the lease has ended; the item may be with somebody else now"
MOST_TRIES = 100  # a try is lost only to somebody else's success


class LeaseLost(Refused):
    """The slot went to somebody else, or is not needed any more."""

    def __init__(self) -> None:
        super().__init__(Problem(NOT_YOURS_NOW))


def work_claim(*, project: Project, actor: Author, now: datetime) -> Lease | None:
    """What this person works on next, whatever queue it is in: what they took last, or else the next open slot."""
    leases_expire(now=now)
    held = Lease.objects.filter(item__queue__project=project, author=actor, ended_at__isnull=True)
    if lease := held.order_by("taken_at", "pk").last():
        return lease_renew(lease=lease, actor=actor, now=now)
    open_slots = Slot.objects.filter(queue=OuterRef("pk"), state=SlotState.OPEN)
    for queue in Queue.objects.filter(Exists(open_slots), project=project).order_by("pk"):
        if lease := slot_claim(queue=queue, actor=actor, now=now):
            return lease
    return None


def slot_claim(*, queue: Queue, actor: Author, now: datetime) -> Lease | None:
    """The slot this person works on next: the one they hold, or the first open one in serving order.

    Adjudicators are served conflicts first, and reviews only where another adjudicator is left to settle
    what may become a conflict. None: nothing is waiting for this person. Expired leases
    are ended here, so that no worker has to run for an abandoned item to be served again.
    """
    role = require_role(actor, Role.REVIEWER, Role.ADJUDICATOR)
    leases_expire(now=now)
    held = (
        Lease.objects.filter(slot__queue=queue, author=actor, ended_at__isnull=True).order_by("taken_at", "pk").last()
    )
    if held:
        return lease_renew(lease=held, actor=actor, now=now)
    for _ in range(MOST_TRIES):
        try:
            with transaction.atomic():
                slot = _next_slot(queue, actor, role)
                if slot is None:
                    return None
                return Lease.objects.create(
                    slot=slot, item_id=slot.item_id, author=actor, taken_at=now, expires_at=now + LEASE
                )
        except IntegrityError:  # one_live_lease_per_slot: somebody was faster
            continue
    raise Refused(Problem("too many people claim at this moment; try again"))


@transaction.atomic
def leases_expire(*, now: datetime) -> int:
    return Lease.objects.filter(ended_at__isnull=True, expires_at__lte=now).update(ended_at=now, end=LeaseEnd.EXPIRED)


def lease_renew(*, lease: Lease, actor: Author, now: datetime) -> Lease:
    """The holder's own heartbeat: never refused while nobody else holds the slot, even where it came too late."""
    mine = Lease.objects.filter(pk=lease.pk, author=actor)
    if mine.filter(ended_at__isnull=True).update(expires_at=now + LEASE) != 1:
        _revive(mine.filter(end=LeaseEnd.EXPIRED, slot__state=SlotState.OPEN), now)
    lease.ended_at, lease.end, lease.expires_at = None, "", now + LEASE
    return lease


def _revive(expired: QuerySet[Lease], now: datetime) -> None:
    try:
        with transaction.atomic():
            revived = expired.update(ended_at=None, end="", expires_at=now + LEASE)
    except IntegrityError:  # one_live_lease_per_slot: a colleague holds it
        revived = 0
    if revived != 1:
        raise LeaseLost


def lease_end(*, lease: Lease, end: LeaseEnd, now: datetime) -> None:
    ended = Lease.objects.filter(pk=lease.pk, ended_at__isnull=True).update(ended_at=now, end=end)
    if ended != 1:
        raise LeaseLost
    lease.ended_at, lease.end = now, end


def _next_slot(queue: Queue, actor: Author, role: Role) -> Slot | None:
    open_slots = slots_open_to(actor, role, Slot.objects.filter(queue=queue))
    for skipped in (False, True):  # what this person skipped comes back only when nothing else waits
        for kind in (SlotKind.ADJUDICATION, SlotKind.REVIEW):
            slots = open_slots.filter(kind=kind, was_skipped=skipped)
            if connection.features.has_select_for_update_skip_locked:
                slots = slots.select_for_update(skip_locked=True, of=("self",))
            slot = slots.order_by("-urgent", "rank", "n").first()
            if slot:
                return slot
    return None
