"""What stands beside the cases of a queue: practice, and the anchors hidden among them. Reads alone.

Where a hidden anchor comes follows from a secret of the queue and from how many of its cases this person has
answered, so that no reload and no skip brings another one, and each answer lowers what waits by exactly one.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from adjudication.models import (
    Calibration,
    Item,
    ItemState,
    KnownAnswer,
    Label,
    Lease,
    Queue,
    QueuePurpose,
    Review,
    Skip,
    SlotKind,
)
from core.models import Author, Project

CHUNK = 50
WAITING = {(QueuePurpose.SETTLE, ItemState.OPEN), (QueuePurpose.SETTLE, ItemState.CONFLICT)}


@dataclass(frozen=True)
class PracticeProgress:
    done: int
    right: int
    left: int

    @property
    def total(self) -> int:
        return self.done + self.left

    @property
    def next(self) -> int:
        return self.done + 1


def practice_progress(practice: Queue, author: Author) -> PracticeProgress:
    done = known_case_answers(SlotKind.PRACTICE).filter(author=author, item__queue=practice)
    return PracticeProgress(
        done=done.count(),
        right=done.filter(wrong=False).count(),
        left=known_cases_left_count(practice, author),
    )


def known_case_answers(kind: SlotKind) -> QuerySet[Review]:
    """Standing answers to cases whose label is known, each with `wrong`: whether a label of it differs from the one
    on record. *Cannot judge* differs from every label."""
    on_record = KnownAnswer.objects.filter(item=OuterRef("review__item"), artifact=OuterRef("artifact"))
    differing = Label.objects.filter(review=OuterRef("pk")).exclude(label=Subquery(on_record.values("label")[:1]))
    return Review.objects.filter(kind=kind, withdrawal__isnull=True).annotate(wrong=Exists(differing))


def known_cases_left(known: Queue, author: Author) -> Iterator[Item]:
    """Cases of a set that this person may still be served, in order: not one whose question they have answered
    before, in whatever queue, or passed on, and not one that waits for an answer in earnest, which whoever has seen
    its label could not give."""
    answered = Review.objects.filter(item=OuterRef("pk"), author=author, withdrawal__isnull=True)
    skipped = Skip.objects.filter(item=OuterRef("pk"), author=author)
    left = known.items.filter(~Exists(answered), ~Exists(skipped))
    items = left.select_related("case", "queue__project", "queue__rubric").order_by("rank")
    reached = 0
    while chunk := list(items.filter(rank__gt=reached)[:CHUNK]):
        barred = _barred(known, author, [item.question for item in chunk])
        yield from (item for item in chunk if item.question not in barred)
        reached = chunk[-1].rank or 0


def _barred(known: Queue, author: Author, questions: Sequence[str]) -> set[str]:
    """Which of the questions this person may not be served from a set. Asked step by step, each along an index: as
    one query it reads all that a person ever answered, once for each case of the set."""
    items = Item.objects.filter(question__in=questions, queue__project=known.project_id)
    found = list(items.values_list("pk", "question", "state", "queue__purpose"))
    waiting = {question for _, question, state, purpose in found if (purpose, state) in WAITING}
    met = Review.objects.filter(item__in=[item for item, *_ in found], author=author, withdrawal__isnull=True)
    return waiting | set(met.values_list("item__question", flat=True))


def known_cases_left_count(known: Queue, author: Author, at_most: int | None = None) -> int:
    return sum(1 for _ in islice(known_cases_left(known, author), at_most))


def practice_queues(project: Project) -> QuerySet[Queue]:
    return Queue.objects.filter(project=project, purpose=QueuePurpose.PRACTICE).order_by("pk")


def anchor_is_due(calibration: Calibration, author: Author) -> bool:
    """Whether an anchor comes before the next case of the queue. What this person holds of it comes before either."""
    held = Lease.objects.filter(author=author, ended_at__isnull=True)
    if held.filter(item__queue=calibration.anchors_id).exists():
        return False
    number, since = _turn(calibration, author)
    return since + held.filter(item__queue=calibration.queue_id).count() >= _gap(calibration, author, number)


def anchors_ahead(calibration: Calibration, author: Author, *, cases: int, held: int, anchor_held: bool) -> int:
    """How many anchors are still to be hidden among `cases` of the queue, of which this person holds `held`; an
    anchor that they hold is not among these."""
    if calibration.anchors is None or cases == 0:
        return 0
    number, since = _turn(calibration, author)
    if anchor_held:
        number, since = number + 1, 0
    ahead, at = 0, max(_gap(calibration, author, number), since + held)
    while at - since < cases:
        ahead += 1
        at += _gap(calibration, author, number + ahead)
    return max(0, known_cases_left_count(calibration.anchors, author, ahead + anchor_held) - anchor_held)


def _turn(calibration: Calibration, author: Author) -> tuple[int, int]:
    """How many anchors this person has answered, and how many cases of the queue since the last of them; counted
    no further than the next anchor can be away."""
    standing = Review.objects.filter(author=author, withdrawal__isnull=True)
    anchors = standing.filter(kind=SlotKind.ANCHOR)
    last = anchors.order_by("-at", "-pk").first()
    since = standing.filter(kind=SlotKind.REVIEW, item__queue=calibration.queue_id)
    # By time, which an index holds, so that the answers of years are not read.
    since = since.filter(at__gte=last.at, pk__gt=last.pk) if last else since.filter(at__gte=calibration.at)
    return anchors.count(), since[: _most(calibration)].count()


def _gap(calibration: Calibration, author: Author, number: int) -> int:
    """Cases between one anchor and the next: any number from 1 to a largest, each as likely, `every` on average."""
    digest = hashlib.sha256(f"{calibration.salt}|{author.pk}|{number}".encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % _most(calibration)


def _most(calibration: Calibration) -> int:
    return 2 * (calibration.every or 1) - 1
