"""Reads of the desk: what waits for whom, and what they did."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from adjudication.models import Draft, Item, Lease, LeaseEnd, Queue, Review, Skip, Slot, SlotKind, SlotState, Withdrawal
from core.models import Author, Membership, Project, Role

UNDO_WITHIN = timedelta(minutes=15)
COUNTED_UP_TO = 1000


def slots_open_to(author: Author, role: Role, slots: QuerySet[Slot]) -> QuerySet[Slot]:
    """Those of the slots that are open, that nobody holds, and that this person may take in this role.

    Nobody answers twice. Each comes with `was_skipped`: whether this person has passed the item on.
    """
    item = OuterRef("item")
    standing = Review.objects.filter(item=item, author=author, withdrawal__isnull=True)
    may = _reviews_open_to(author, role)
    if role == Role.ADJUDICATOR:
        # Settling is for whoever never reviewed the item, even where they took that answer back.
        reviewed = Review.objects.filter(item=item, author=author, kind=SlotKind.REVIEW)
        may |= Q(kind=SlotKind.ADJUDICATION) & ~Q(Exists(reviewed))
    return (
        slots.filter(may, state=SlotState.OPEN)
        .filter(~Exists(Lease.objects.filter(slot=OuterRef("pk"), ended_at__isnull=True)))
        .filter(~Exists(standing))
        .annotate(was_skipped=Exists(Skip.objects.filter(item=item, author=author)))
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


def waiting_for(project: Project, author: Author, role: Role, kind: SlotKind) -> int:
    """How many answers this person could give now, counted up to a limit: a long queue costs no long count."""
    held = Lease.objects.filter(author=author, ended_at__isnull=True, slot__kind=kind, slot__state=SlotState.OPEN)
    number = held.count()
    for queue in Queue.objects.filter(project=project).order_by("pk"):
        free = slots_open_to(author, role, Slot.objects.filter(queue=queue, kind=kind)).filter(was_skipped=False)
        # From the end of the serving order: at its beginning lies what this person has answered already.
        number += free.order_by("urgent", "-rank", "-n")[: COUNTED_UP_TO - number].count()
        if number >= COUNTED_UP_TO:
            break
    return number


def waiting_count(project: Project, author: Author, role: Role) -> int:
    kinds = (SlotKind.ADJUDICATION, SlotKind.REVIEW) if role == Role.ADJUDICATOR else (SlotKind.REVIEW,)
    return sum(waiting_for(project, author, role, kind) for kind in kinds)


def sent_count(author: Author) -> int:
    """Answers of theirs that stand. Counted apart, so that each count is one walk along an index."""
    given = Review.objects.filter(author=author).count()
    return given - Withdrawal.objects.filter(review__author=author).count()


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


def draft_of(item: Item, author: Author) -> Draft | None:
    return Draft.objects.filter(item=item, author=author).first()


def has_reviewer_left(item: Item) -> bool:
    """Whether somebody may still review this item who has neither answered nor skipped it.

    Adjudicators count where there are two: one of them is left for what may become a conflict.
    """
    done = set(item.skips.values_list("author", flat=True)) | set(
        item.reviews.filter(withdrawal=None).values_list("author", flat=True)
    )
    members = Membership.objects.filter(project=item.queue.project_id)
    for role, free in ((Role.REVIEWER, 0), (Role.ADJUDICATOR, 1)):
        users = members.filter(role=role).values("user")
        authors = Author.objects.filter(project=item.queue.project_id, user__in=users)
        if authors.exclude(pk__in=done).count() > free:
            return True
    return False
