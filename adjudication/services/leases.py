"""Who holds a slot now."""

from datetime import datetime, timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from adjudication.models import Lease, LeaseEnd, Queue, Review, Skip, Slot, SlotKind, SlotState
from core.access import require_role
from core.errors import Problem, Refused
from core.models import Author, Membership, Role

LEASE = timedelta(minutes=30)
MOST_TRIES = 100  # a try is lost only to somebody else's success


def slot_claim(*, queue: Queue, actor: Author, now: datetime) -> Lease | None:
    """The slot this person works on next: the one they hold, or the first open one in serving order.

    Adjudicators are served conflicts first, and reviews only where another adjudicator is left to settle
    what may become a conflict. None: nothing is waiting for this person. Expired leases
    are ended here, so that no worker has to run for an abandoned item to be served again.
    """
    role = require_role(actor, Role.REVIEWER, Role.ADJUDICATOR)
    leases_expire(now=now)
    held = Lease.objects.filter(slot__queue=queue, author=actor, ended_at__isnull=True).first()
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
    """The holder's own heartbeat: never refused while nobody else holds the slot."""
    renewed = Lease.objects.filter(pk=lease.pk, author=actor, ended_at__isnull=True).update(expires_at=now + LEASE)
    if renewed != 1:
        raise Refused(Problem("the lease has ended; the item may be with somebody else now"))
    lease.expires_at = now + LEASE
    return lease


def lease_end(*, lease: Lease, end: LeaseEnd, now: datetime) -> None:
    ended = Lease.objects.filter(pk=lease.pk, ended_at__isnull=True).update(ended_at=now, end=end)
    if ended != 1:
        raise Refused(Problem("the lease has ended; the item may be with somebody else now"))
    lease.ended_at, lease.end = now, end


def _next_slot(queue: Queue, actor: Author, role: Role) -> Slot | None:
    open_slots = _open_to(queue, actor)
    kinds = [SlotKind.ADJUDICATION, SlotKind.REVIEW] if role == Role.ADJUDICATOR else [SlotKind.REVIEW]
    for skipped in (False, True):  # what this person skipped comes back only when nothing else waits
        for kind in kinds:
            slots = open_slots.filter(kind=kind, was_skipped=skipped)
            if role == Role.ADJUDICATOR and kind == SlotKind.REVIEW:
                slots = _leaving_an_adjudicator(slots, actor)
            if connection.features.has_select_for_update_skip_locked:
                slots = slots.select_for_update(skip_locked=True, of=("self",))
            slot = slots.order_by("-urgent", "rank", "n").first()
            if slot:
                return slot
    return None


def _leaving_an_adjudicator(slots: QuerySet[Slot], actor: Author) -> QuerySet[Slot]:
    """Slots that an adjudicator may review while another one remains who could settle a conflict there."""
    members = Membership.objects.filter(project=actor.project_id, role=Role.ADJUDICATOR)
    adjudicators = Author.objects.filter(project=actor.project_id, user__in=members.values("user"))
    if adjudicators.count() < 2:
        return slots.none()
    item = OuterRef("item")
    answered = Review.objects.filter(item=item, author__in=adjudicators)
    held = Lease.objects.filter(item=item, author__in=adjudicators, ended_at__isnull=True)
    return slots.filter(~Exists(answered), ~Exists(held))


def _open_to(queue: Queue, actor: Author) -> QuerySet[Slot]:
    """Open slots that nobody holds, of items on which this person has not answered."""
    item = OuterRef("item")
    return (
        Slot.objects.filter(queue=queue, state=SlotState.OPEN)
        .filter(~Exists(Lease.objects.filter(slot=OuterRef("pk"), ended_at__isnull=True)))
        .filter(~Exists(Review.objects.filter(item=item, author=actor)))
        .annotate(was_skipped=Exists(Skip.objects.filter(item=item, author=actor)))
    )
