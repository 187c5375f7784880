"""Reads of the desk: what waits for whom, and what they did."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet, Subquery, prefetch_related_objects
from django.db.models.functions import Coalesce

from adjudication.calibration import anchors_ahead
from adjudication.models import (
    Bookmark,
    Draft,
    Item,
    ItemArtifact,
    ItemState,
    KeyChoice,
    Lease,
    LeaseEnd,
    Queue,
    QueuePurpose,
    ReasonCode,
    ReasonPlacement,
    ReasonStage,
    Review,
    ReviewReason,
    Skip,
    Slot,
    SlotKind,
    SlotState,
)
from core.models import Author, Project, Role

UNDO_WITHIN = timedelta(minutes=15)
# A hidden anchor is a review for whoever answers it, in everything that they can see.
AS_REVIEWS = (SlotKind.REVIEW, SlotKind.ANCHOR)
COUNTED_UP_TO = 300


def queues_waiting(project: Project, author: Author, **where: Any) -> list[Queue]:
    """Queues with something open in them, or among the anchors hidden in them, each with `bookmark`: the rank that
    this person has come to."""
    bookmark = Bookmark.objects.filter(queue=OuterRef("pk"), author=author)
    # Every kind is named, so that the index leads to what is open, past all that is done.
    waiting = Slot.objects.filter(kind__in=SlotKind.values, state=SlotState.OPEN)
    return list(
        Queue.objects.filter(
            Exists(waiting.filter(queue=OuterRef("pk")))
            | Exists(waiting.filter(queue=OuterRef("calibration__anchors")))
        )
        .filter(project=project, purpose=QueuePurpose.SETTLE, **where)
        .annotate(bookmark=Coalesce(Subquery(bookmark.values("rank")), 0))
        .select_related("rubric", "project", "calibration__practice", "calibration__anchors")
        .order_by("pk")
    )


# Which of the slots `s` a person may take, as SQL: it is asked at every answer, and to build it anew from query sets
# took half of the request. Nobody answers an item twice, or holds two slots of it.
_OPEN_TO = """
    s.queue_id = %(queue)s AND s.kind = %(kind)s AND s.state = 'open'
    AND NOT EXISTS (SELECT 1 FROM adjudication_lease l
        WHERE l.item_id = s.item_id AND l.author_id = %(author)s AND l.ended_at IS NULL)
    AND NOT EXISTS (SELECT 1 FROM adjudication_review r LEFT JOIN adjudication_withdrawal w ON w.review_id = r.id
        WHERE r.item_id = s.item_id AND r.author_id = %(author)s AND w.id IS NULL)
"""
_SKIPPED = "EXISTS (SELECT 1 FROM adjudication_skip k WHERE k.item_id = s.item_id AND k.author_id = %(author)s)"
_HELD = "EXISTS (SELECT 1 FROM adjudication_lease h WHERE h.slot_id = s.id AND h.ended_at IS NULL)"
_LOADED = "EXISTS (SELECT 1 FROM adjudication_lease h WHERE h.slot_id = s.id AND h.ended_at IS NULL AND h.ahead)"
# Settling is for whoever never reviewed the item, even where they took that answer back.
_MAY_SETTLE = """NOT EXISTS (SELECT 1 FROM adjudication_review r
    WHERE r.item_id = s.item_id AND r.author_id = %(author)s AND r.kind = 'review')"""
# An adjudicator may review while another one remains who could settle a conflict there, and never an item whose
# answers they have seen.
_ADJUDICATORS = """(SELECT a.id FROM core_author a
    JOIN core_membership m ON m.project_id = a.project_id AND m.user_id = a.user_id
    WHERE a.project_id = %(project)s AND m.role = 'adjudicator')"""
_MAY_REVIEW = f"""(SELECT COUNT(*) FROM {_ADJUDICATORS} adjudicators) > 1
    AND NOT EXISTS (SELECT 1 FROM adjudication_review r WHERE r.item_id = s.item_id AND r.author_id IN {_ADJUDICATORS})
    AND NOT EXISTS (SELECT 1 FROM adjudication_lease l
        WHERE l.item_id = s.item_id AND l.ended_at IS NULL AND l.author_id IN {_ADJUDICATORS})
    AND NOT EXISTS (SELECT 1 FROM adjudication_lease l JOIN adjudication_slot o ON o.id = l.slot_id
        WHERE l.item_id = s.item_id AND l.author_id = %(author)s AND o.kind = 'adjudication')"""  # noqa: S608 -- from the constants above alone


@dataclass(frozen=True)
class Place:
    """Where a person's next slot may lie: those open to them of one kind in one queue, not passed on by them and held
    by nobody unless it says otherwise. `urgent` and `beyond` are parts of the serving order; None: all of it."""

    queue: Queue
    author: Author
    role: Role
    kind: SlotKind = SlotKind.REVIEW
    urgent: bool | None = None
    beyond: int = 0
    skipped: bool = False
    loaded_by_another: bool = False

    def first(self, *, locked: bool) -> int | None:
        """The slot that comes first in serving order; `locked`: the first that nobody else has locked."""
        lock = " FOR UPDATE OF s SKIP LOCKED" if locked else ""
        found = self._ask(f"SELECT s.id {self._from()} ORDER BY s.urgent DESC, s.rank, s.n LIMIT 1{lock}")
        return None if found is None else int(found)

    def count(self, at_most: int) -> int:
        counted = f"SELECT COUNT(*) FROM (SELECT 1 {self._from()} LIMIT {at_most:d}) counted"  # noqa: S608 -- as above
        return int(self._ask(counted) or 0)

    def _from(self) -> str:
        conditions = [_OPEN_TO, _SKIPPED if self.skipped else f"NOT {_SKIPPED}"]
        conditions.append(_LOADED if self.loaded_by_another else f"NOT {_HELD}")
        if self.role == Role.ADJUDICATOR:
            conditions.append(_MAY_REVIEW if self.kind == SlotKind.REVIEW else _MAY_SETTLE)
        if self.urgent is not None:
            conditions += ["s.urgent = %(urgent)s", "s.rank >= %(beyond)s"]
        return f"FROM adjudication_slot s WHERE {' AND '.join(conditions)}"

    def _ask(self, statement: str) -> Any:
        values = {"queue": self.queue.pk, "author": self.author.pk, "project": self.queue.project_id}
        values |= {"kind": self.kind.value, "urgent": self.urgent, "beyond": self.beyond}
        return _ask(statement, values)


def _ask(statement: str, values: Mapping[str, Any]) -> Any:
    """The one value that an SQL statement finds."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row = cursor.fetchone()
    return row and row[0]


def places_onward(queue: Queue, author: Author, role: Role, *kinds: SlotKind) -> Iterator[Place]:
    """A queue's serving order from where a person has come to: of each kind what holds things up, then the rest."""
    for kind in kinds or kinds_for(role):
        yield Place(queue, author, role, kind, urgent=True)
        yield Place(queue, author, role, kind, urgent=False, beyond=queue.bookmark)  # type: ignore[attr-defined]


def kinds_for(role: Role) -> tuple[SlotKind, ...]:
    """What somebody in this role is served, in this order."""
    return (SlotKind.ADJUDICATION, SlotKind.REVIEW) if role == Role.ADJUDICATOR else (SlotKind.REVIEW,)


def leases_held(author: Author, **where: Any) -> QuerySet[Lease]:
    """What this person has taken, the latest first: an item that came back to them goes before the one they had
    begun, and what was only loaded ahead comes last."""
    held = Lease.objects.filter(author=author, ended_at__isnull=True, **where)
    return held.select_related("item__queue__rubric", "item__queue__project", "item__case", "slot").order_by(
        "ahead", "-taken_at", "-pk"
    )


def waiting_for(queues: Iterable[Queue], author: Author, role: Role, kind: SlotKind) -> int:
    """How many answers this person could give now, counted up to a limit: a long queue costs no long count.

    Hidden anchors that will come are counted with the cases among which they lie: otherwise the number would stand
    still at each of them.
    """
    kinds = AS_REVIEWS if kind == SlotKind.REVIEW else (kind,)
    live = Lease.objects.filter(author=author, ended_at__isnull=True, slot__kind__in=kinds)
    held = list(live.values_list("slot__queue", "ahead"))
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
    return int(_ask(_SENT, {"author": author.pk}))


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
    with connection.cursor() as cursor:
        cursor.execute(_LEFT, {"item": item.pk, "project": item.queue.project_id})
        left = dict(cursor.fetchall())
    return left.get(Role.REVIEWER.value, 0) > 0 or left.get(Role.ADJUDICATOR.value, 0) > 1


def reasons_of(project: Project, *stages: ReasonStage) -> QuerySet[ReasonCode]:
    """The project's codes in the order in which they came, each with the `stage`, `owner` and `revision` that hold
    now; of all stages, or of these."""
    latest = ReasonPlacement.objects.filter(code=OuterRef("pk")).order_by("-revision")
    placed = {name: Subquery(latest.values(name)[:1]) for name in ("stage", "owner", "revision")}
    codes = ReasonCode.objects.filter(project=project).annotate(**placed).order_by("pk")
    return codes.filter(stage__in=stages) if stages else codes


def reasons_given(project: Project) -> dict[str, int]:
    """How often each code stands in an answer that counts: not taken back, and not one too many."""
    counted = ReviewReason.objects.filter(
        review__item__queue__project=project,
        review__item__queue__purpose=QueuePurpose.SETTLE,
        review__surplus=False,
        review__withdrawal__isnull=True,
    )
    return dict(counted.values_list("code").annotate(number=Count("pk")).order_by("code"))
