"""Reads of the desk: what waits for whom, and what they did."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet, Subquery, prefetch_related_objects
from django.db.models.functions import Coalesce

from adjudication.models import (
    Bookmark,
    Draft,
    Item,
    ItemArtifact,
    KeyChoice,
    Lease,
    LeaseEnd,
    Queue,
    Review,
    Skip,
    Slot,
    SlotKind,
    SlotState,
    Withdrawal,
)
from core.models import Author, Membership, Project, Role

UNDO_WITHIN = timedelta(minutes=15)
COUNTED_UP_TO = 1000


def queues_waiting(project: Project, author: Author, **where: Any) -> list[Queue]:
    """Queues with something open in them, each with `bookmark`: the rank that this person has come to."""
    bookmark = Bookmark.objects.filter(queue=OuterRef("pk"), author=author)
    return list(
        Queue.objects.filter(Exists(Slot.objects.filter(queue=OuterRef("pk"), state=SlotState.OPEN)))
        .filter(project=project, **where)
        .annotate(bookmark=Coalesce(Subquery(bookmark.values("rank")), 0))
        .select_related("rubric", "project")
        .order_by("pk")
    )


def slots_open_to(author: Author, role: Role, queue: Queue, *, skipped: bool) -> QuerySet[Slot]:
    """The queue's open slots that this person may take in this role, held by anybody or not: those of items that
    they have passed on, or the others. Nobody answers an item twice, or holds two slots of it."""
    item = OuterRef("item")
    standing = Review.objects.filter(item=item, author=author, withdrawal__isnull=True)
    passed_on = Q(Exists(Skip.objects.filter(item=item, author=author)))
    may = _reviews_open_to(author, role)
    if role == Role.ADJUDICATOR:
        # Settling is for whoever never reviewed the item, even where they took that answer back.
        reviewed = Review.objects.filter(item=item, author=author, kind=SlotKind.REVIEW)
        may |= Q(kind=SlotKind.ADJUDICATION) & ~Q(Exists(reviewed))
    holding = Lease.objects.filter(item=item, author=author, ended_at__isnull=True)
    slots = Slot.objects.filter(may, queue=queue, state=SlotState.OPEN)
    return slots.filter(~Exists(standing), ~Exists(holding)).filter(passed_on if skipped else ~passed_on)


def is_held(**where: Any) -> Exists:
    """Whether somebody holds the slot now."""
    return Exists(Lease.objects.filter(slot=OuterRef("pk"), ended_at__isnull=True, **where))


def leases_held(author: Author, **where: Any) -> QuerySet[Lease]:
    """What this person has taken, the latest first: an item that came back to them goes before the one they had
    begun, and what was only loaded ahead comes last."""
    held = Lease.objects.filter(author=author, ended_at__isnull=True, **where)
    return held.select_related("item__queue__rubric", "item__queue__project", "item__case", "slot").order_by(
        "ahead", "-taken_at", "-pk"
    )


def _reviews_open_to(author: Author, role: Role) -> Q:
    """An adjudicator may review while another one remains who could settle a conflict there, and never
    an item whose answers they have seen."""
    reviews = Q(kind=SlotKind.REVIEW)
    if role != Role.ADJUDICATOR:
        return reviews
    members = Membership.objects.filter(project=author.project_id, role=Role.ADJUDICATOR)
    adjudicators = Author.objects.filter(project=author.project_id, user__in=members.values("user"))
    if adjudicators.count() < 2:
        return Q(pk__in=[])
    item = OuterRef("item")
    answered = Review.objects.filter(item=item, author__in=adjudicators)
    held = Lease.objects.filter(item=item, author__in=adjudicators, ended_at__isnull=True)
    seen = Lease.objects.filter(item=item, author=author, slot__kind=SlotKind.ADJUDICATION)
    return reviews & ~Q(Exists(answered)) & ~Q(Exists(held)) & ~Q(Exists(seen))


def waiting_for(queues: Iterable[Queue], author: Author, role: Role, kind: SlotKind) -> int:
    """How many answers this person could give now, counted up to a limit: a long queue costs no long count."""
    number = Lease.objects.filter(author=author, ended_at__isnull=True, slot__kind=kind).count()
    for queue in queues:
        free = slots_open_to(author, role, queue, skipped=False).filter(~is_held(), kind=kind)
        for slots in (free.filter(urgent=True), free.filter(urgent=False, rank__gte=queue.bookmark)):
            number += slots[: COUNTED_UP_TO - number].count()
            if number >= COUNTED_UP_TO:
                return number
    return number


def waiting_count(queues: Iterable[Queue], author: Author, role: Role) -> int:
    kinds = (SlotKind.ADJUDICATION, SlotKind.REVIEW) if role == Role.ADJUDICATOR else (SlotKind.REVIEW,)
    return sum(waiting_for(queues, author, role, kind) for kind in kinds)


def sent_count(author: Author) -> int:
    """Answers of theirs that stand. Counted apart, so that each count is one walk along an index."""
    given = Review.objects.filter(author=author).count()
    return given - Withdrawal.objects.filter(actor=author).count()


def lease_of(author: Author, token: UUID) -> QuerySet[Lease]:
    """Their own lease of this token, live or ended; nothing for anybody else's."""
    return Lease.objects.filter(token=token, author=author).select_related("item__queue__rubric", "item__case", "slot")


def standing_review(item: Item, author: Author) -> Review | None:
    return Review.objects.filter(item=item, author=author, withdrawal__isnull=True).order_by("revision").last()


def sent_by(author: Author) -> QuerySet[Lease]:
    """The leases whose answers stand, the latest first: one for each item this person answered at the desk."""
    standing = Review.objects.filter(item=OuterRef("item"), author=author, withdrawal__isnull=True)
    later = Lease.objects.filter(item=OuterRef("item"), author=author, pk__gt=OuterRef("pk"))
    return (
        Lease.objects.filter(author=author, end=LeaseEnd.SUBMITTED)
        .filter(Exists(standing), ~Exists(later))
        .order_by("-ended_at", "-pk")
    )


def skipped_by(author: Author) -> QuerySet[Skip]:
    """Items that this person passed on and that still need an answer."""
    open_slots = Slot.objects.filter(item=OuterRef("item"), state=SlotState.OPEN, kind=SlotKind.REVIEW)
    answered = Review.objects.filter(item=OuterRef("item"), author=author, withdrawal__isnull=True)
    return (
        Skip.objects.filter(Exists(open_slots), ~Exists(answered), author=author)
        .select_related("item__case")
        .order_by("-at", "-pk")
    )


def undoable(author: Author, now: datetime) -> Lease | None:
    """The lease of the answer that this person sent last, while it may be taken back."""
    last = sent_by(author).filter(ended_at__gt=now - UNDO_WITHIN).select_related("slot").first()
    return last if last and last.slot.state == SlotState.DONE else None


def key_choice_of(author: Author) -> KeyChoice:
    """The keys that this person uses; those of the house where they have chosen none."""
    return KeyChoice.objects.filter(author=author).first() or KeyChoice(author=author)


def draft_of(item: Item, author: Author) -> Draft | None:
    return Draft.objects.filter(item=item, author=author).first()


def was_begun(slot: Slot, *, by_others_than: int) -> bool:
    """Whether somebody else had this slot in front of them until their time on it ran out."""
    expired = Lease.objects.filter(slot=slot, end=LeaseEnd.EXPIRED, ahead=False)
    return expired.exclude(author=by_others_than).exists()


def shown_of(item: Item) -> Sequence[ItemArtifact]:
    """What the item shows, with its artifacts, asked for once."""
    prefetch_related_objects([item], Prefetch("shown", ItemArtifact.objects.select_related("artifact")))
    return list(item.shown.all())


def has_reviewer_left(item: Item) -> bool:
    """Whether somebody may still review this item who has neither answered nor skipped it.

    Adjudicators count where there are two: one of them is left for what may become a conflict.
    """
    project = item.queue.project_id
    skipped = Skip.objects.filter(item=item, author=OuterRef("pk"))
    answered = Review.objects.filter(item=item, author=OuterRef("pk"), withdrawal__isnull=True)
    for role, free in ((Role.REVIEWER, 0), (Role.ADJUDICATOR, 1)):
        users = Membership.objects.filter(project=project, role=role).values("user")
        left = Author.objects.filter(~Exists(skipped), ~Exists(answered), project=project, user__in=users)
        if left[: free + 1].count() > free:
            return True
    return False
