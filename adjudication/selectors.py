"""Reads of the desk: what waits for whom, and what they did."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db.models import Count, Exists, OuterRef, QuerySet

from adjudication.calibration import anchors_ahead
from adjudication.in_hand import leases_held
from adjudication.models import (
    Item,
    ItemState,
    Lease,
    LeaseEnd,
    Queue,
    QueuePurpose,
    ReasonCode,
    ReasonStage,
    Review,
    ReviewReason,
    Skip,
    Slot,
    SlotKind,
    SlotState,
)
from adjudication.serving import kinds_for, places_onward
from core.models import Author, Project, Role
from core.rows import all_rows, one_value

UNDO_WITHIN = timedelta(minutes=15)
# A hidden anchor is a review for whoever answers it, in everything that they can see.
AS_REVIEWS = (SlotKind.REVIEW, SlotKind.ANCHOR)
COUNTED_UP_TO = 300


def waiting_for(queues: Iterable[Queue], author: Author, role: Role, kind: SlotKind) -> int:
    """How many answers this person could give now, counted up to a limit: a long queue costs no long count.

    Hidden anchors that will come are counted with the cases among which they lie: otherwise the number would stand
    still at each of them.
    """
    kinds = AS_REVIEWS if kind == SlotKind.REVIEW else (kind,)
    held = [(lease.slot.queue_id, lease.ahead) for lease in leases_held(author) if lease.slot.kind in kinds]
    number = len(held)
    for queue in queues if kind in kinds_for(role) else ():
        before = number
        for place in places_onward(queue, author, role, kind):
            number += place.count(COUNTED_UP_TO - number)
            if number >= COUNTED_UP_TO:
                return number
        if kind == SlotKind.REVIEW and role == Role.REVIEWER:
            number += _anchors_ahead(queue, author, number - before, held)
    return number


def _anchors_ahead(queue: Queue, author: Author, free: int, held: Sequence[tuple[int, bool]]) -> int:
    """Anchors that will lie among the `free` cases of a queue and those that this person holds of it."""
    calibration = getattr(queue, "calibration", None)
    if calibration is None:
        return 0
    cases = sum(where == queue.pk for where, _ in held)
    anchor = [ahead for where, ahead in held if where == calibration.anchors_id]
    if any(anchor):  # the case in hand comes before it
        cases = 0
    return anchors_ahead(calibration, author, cases=free + cases, held=cases, anchor_held=bool(anchor))


def waiting_count(queues: Iterable[Queue], author: Author, role: Role) -> int:
    return sum(waiting_for(queues, author, role, kind) for kind in kinds_for(role))


# Each count is one walk along an index.
_SENT = """
SELECT (SELECT COUNT(*) FROM adjudication_review WHERE author_id = %(author)s)
    - (SELECT COUNT(*) FROM adjudication_review WHERE author_id = %(author)s AND kind = 'practice')
    - (SELECT COUNT(*) FROM adjudication_withdrawal WHERE actor_id = %(author)s)
"""


def sent_count(author: Author) -> int:
    """Answers of theirs that stand, practice apart."""
    return int(one_value(_SENT, {"author": author.pk}))


def standing_review(item: Item, author: Author) -> Review | None:
    return Review.objects.filter(item=item, author=author, withdrawal__isnull=True).order_by("revision").last()


def sent_by(author: Author) -> QuerySet[Lease]:
    """The leases whose answers stand, the latest first: one for each item this person answered at the desk."""
    standing = Review.objects.filter(item=OuterRef("item"), author=author, withdrawal__isnull=True)
    later = Lease.objects.filter(item=OuterRef("item"), author=author, pk__gt=OuterRef("pk"))
    return (
        Lease.objects.filter(author=author, end=LeaseEnd.SUBMITTED)
        .exclude(slot__kind=SlotKind.PRACTICE)
        .filter(Exists(standing), ~Exists(later))
        .order_by("-ended_at", "-pk")
    )


def skipped_by(author: Author) -> QuerySet[Skip]:
    """Items that this person passed on and that still need an answer."""
    open_slots = Slot.objects.filter(item=OuterRef("item"), state=SlotState.OPEN, kind__in=AS_REVIEWS)
    answered = Review.objects.filter(item=OuterRef("item"), author=author, withdrawal__isnull=True)
    return (
        Skip.objects.filter(Exists(open_slots), ~Exists(answered), author=author)
        .select_related("item__case")
        .order_by("-at", "-pk")
    )


def skips_open(project: Project) -> QuerySet[Skip]:
    """Who passed on what is not settled yet, the latest first: for leads alone."""
    skips = Skip.objects.filter(item__queue__project=project, item__queue__purpose=QueuePurpose.SETTLE).exclude(
        item__state=ItemState.SETTLED
    )
    return skips.select_related("author", "item__case").order_by("-at", "-pk")


def undoable(author: Author, now: datetime) -> Lease | None:
    """The lease of the answer that this person sent last, while it may be taken back."""
    last = sent_by(author).filter(ended_at__gt=now - UNDO_WITHIN).select_related("slot").first()
    return last if last and last.slot.state == SlotState.DONE else None


def was_begun(slot: Slot, *, by_others_than: int) -> bool:
    """Whether somebody else had this slot in front of them until their time on it ran out."""
    expired = Lease.objects.filter(slot=slot, end=LeaseEnd.EXPIRED, ahead=False)
    return expired.exclude(author=by_others_than).exists()


_LEFT = """
SELECT m.role, COUNT(*)
FROM core_author a JOIN core_membership m ON m.project_id = a.project_id AND m.user_id = a.user_id
WHERE a.project_id = %(project)s AND m.role IN ('reviewer', 'adjudicator')
    AND NOT EXISTS (SELECT 1 FROM adjudication_skip k WHERE k.item_id = %(item)s AND k.author_id = a.id)
    AND NOT EXISTS (SELECT 1 FROM adjudication_review r LEFT JOIN adjudication_withdrawal w ON w.review_id = r.id
        WHERE r.item_id = %(item)s AND r.author_id = a.id AND w.id IS NULL)
GROUP BY m.role
"""


def has_reviewer_left(item: Item) -> bool:
    """Whether somebody may still review this item who has neither answered nor skipped it.

    Adjudicators count where there are two: one of them is left for what may become a conflict.
    """
    left = dict(all_rows(_LEFT, {"item": item.pk, "project": item.queue.project_id}))
    return left.get(Role.REVIEWER.value, 0) > 0 or left.get(Role.ADJUDICATOR.value, 0) > 1


_CODES = """
SELECT c.*, p.stage, p.owner, p.revision
FROM adjudication_reasoncode c JOIN adjudication_reasonplacement p ON p.code_id = c.id
WHERE c.project_id = %s
    AND NOT EXISTS (SELECT 1 FROM adjudication_reasonplacement n WHERE n.code_id = c.id AND n.revision > p.revision)
ORDER BY c.id"""


def reasons_of(project: Project, *stages: ReasonStage) -> list[ReasonCode]:
    """The project's codes in the order in which they came, each with the `stage`, `owner` and `revision` that hold
    now; of all stages, or of these."""
    codes = ReasonCode.objects.raw(_CODES, [project.pk])
    return [code for code in codes if not stages or code.stage in stages]


def reasons_given(project: Project) -> dict[str, int]:
    """How often each code stands in an answer that counts: not taken back, and not one too many."""
    counted = ReviewReason.objects.filter(
        review__item__queue__project=project,
        review__item__queue__purpose=QueuePurpose.SETTLE,
        review__surplus=False,
        review__withdrawal__isnull=True,
    )
    return dict(counted.values_list("code").annotate(number=Count("pk")).order_by("code"))
