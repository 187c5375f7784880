"""Cases whose label is known: sets of them, what a queue asks for, and who is served one."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Max

from adjudication.calibration import anchor_is_due, known_cases_left
from adjudication.models import (
    Calibration,
    Item,
    KnownAnswer,
    LabelDispute,
    Lease,
    Queue,
    QueuePurpose,
    ReasonStage,
    Slot,
    SlotKind,
    SlotState,
)
from adjudication.selectors import reasons_of, standing_review
from adjudication.services.queues import NewItem, items_add, queue_open
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.models import Author
from core.texts import require_storable
from judges.models.rubrics import Rubric

LONGEST_DISPUTE = 20_000
NAMED = 20


@dataclass(frozen=True)
class KnownCase:
    """A case with the label of each of its artifacts, and what those wrote whose labels they are. `row` is of the
    file, for messages."""

    case: int
    labels: Mapping[int, str]
    rationale: str
    row: int


@dataclass(frozen=True)
class AddedCases:
    queue: Queue
    added: int
    present: int


@transaction.atomic
def known_cases_add(
    *,
    rubric: Rubric,
    name: str,
    purpose: QueuePurpose,
    cases: Sequence[KnownCase],
    source: str,
    actor: Author,
    now: datetime,
) -> AddedCases:
    """Begin a set, or add to one at its end. A case that is there already stays as it is; with another label it is
    refused, and so is all of this."""
    require_storable("name", name, longest=100)
    queue = queue_open(project=rubric.project, name=name, rubric=rubric, purpose=purpose)
    Queue.objects.select_for_update(no_key=True).get(pk=queue.pk)
    if queue.rubric_id != rubric.pk:
        raise Refused(Problem("the set is under another rubric", value=str(rubric), allowed=str(queue.rubric)))
    present = _known_by_case(queue)
    fresh = [case for case in cases if case.case not in present]
    _refuse_other_labels([case for case in cases if present.get(case.case, case.labels) != case.labels], source)
    last = queue.items.aggregate(last=Max("rank"))["last"] or 0
    items = items_add(
        queue=queue,
        items=[NewItem(case.case, tuple(case.labels), rank, answers=0) for rank, case in enumerate(fresh, last + 1)],
    )
    KnownAnswer.objects.bulk_create(
        KnownAnswer(
            item=items[case.case],
            artifact_id=artifact,
            label=label,
            rationale=case.rationale,
            source=source,
            actor=actor,
            at=now,
        )
        for case in fresh
        for artifact, label in case.labels.items()
    )
    payload = {"queue": queue.pk, "added": len(fresh), "source": source}
    event_record(name="adjudication.known-cases-added", actor=actor, now=now, payload=payload)
    return AddedCases(queue, len(fresh), len(cases) - len(fresh))


def _known_by_case(queue: Queue) -> dict[int, dict[int, str]]:
    known: dict[int, dict[int, str]] = {}
    rows = KnownAnswer.objects.filter(item__queue=queue).values_list("item__case", "artifact", "label")
    for case, artifact, label in rows:
        known.setdefault(case, {})[artifact] = label
    return known


def _refuse_other_labels(cases: Sequence[KnownCase], source: str) -> None:
    what = "the case is in the set already, with another label or other outputs"
    problems = [
        Problem(what, file=source, row=case.row, value=", ".join(case.labels.values())) for case in cases[:NAMED]
    ]
    if problems:
        raise InputError(problems)


@transaction.atomic
def calibration_fix(
    *, queue: Queue, practice: str, anchors: str, every: int | None, now: datetime
) -> Calibration | None:
    """Fix what a queue asks of its reviewers, by the names of the sets; None where it asks for nothing."""
    if not practice and not anchors:
        return None
    return Calibration.objects.create(
        queue=queue,
        practice=_set_of(queue, practice, QueuePurpose.PRACTICE) if practice else None,
        anchors=_set_of(queue, anchors, QueuePurpose.ANCHORS) if anchors else None,
        every=every if anchors else None,
        salt=secrets.token_hex(16),
        at=now,
    )


def _set_of(queue: Queue, name: str, purpose: QueuePurpose) -> Queue:
    key = f"review.{'practice_set' if purpose == QueuePurpose.PRACTICE else 'hidden_anchors'}"
    sets = Queue.objects.filter(project=queue.project_id, purpose=purpose).select_related("rubric")
    found = sets.filter(name=name).first()
    if found is None:
        allowed = ", ".join(sets.order_by("name").values_list("name", flat=True)[:NAMED]) or "none is there yet"
        raise Refused(Problem("there is no such set", key=key, value=name, allowed=allowed))
    if found.rubric_id != queue.rubric_id:
        raise Refused(
            Problem(f"the set is under rubric {found.rubric}", key=key, value=name, allowed=str(queue.rubric))
        )
    if (shown := _outputs(found)) != (wanted := _outputs(queue)):
        what = f"a case of the set shows {shown} output{'s' if shown > 1 else ''}"
        raise Refused(Problem(what, key=key, value=name, allowed=f"{wanted}, as every case of this audit"))
    return found


def _outputs(queue: Queue) -> int:
    item = queue.items.annotate(outputs=Count("shown")).first()
    return item.outputs if item else 0


def slot_beside(queue: Queue, actor: Author) -> Slot | None:
    """What this person is served before the next case of a queue: the practice that it asks for, or a hidden anchor
    where one is due."""
    calibration = getattr(queue, "calibration", None)
    if calibration is None:
        return None
    if calibration.practice and (item := next(known_cases_left(calibration.practice, actor), None)):
        return slot_for_one_more(item, SlotKind.PRACTICE)
    anchors = calibration.anchors
    if anchors and anchor_is_due(calibration, actor) and (item := next(known_cases_left(anchors, actor), None)):
        return slot_for_one_more(item, SlotKind.ANCHOR)
    return None


def slot_for_one_more(item: Item, kind: SlotKind) -> Slot:
    """Everybody answers a known case: its open slot that nobody holds, or else one more."""
    held = Lease.objects.filter(ended_at__isnull=True, item=item).values("slot")
    free = item.slots.filter(state=SlotState.OPEN).exclude(pk__in=held).order_by("n").first()
    if free is not None:
        return free
    last = item.slots.aggregate(last=Max("n"))["last"] or 0
    return Slot.objects.create(item=item, n=last + 1, kind=kind, queue=item.queue, rank=item.rank or 0)


@transaction.atomic
def label_dispute(*, lease: Lease, actor: Author, code: str, words: str, now: datetime) -> LabelDispute:
    """Hold that the label on record of a practice case is wrong. Said once: sent again, the first one stays."""
    require_storable("words", words, longest=LONGEST_DISPUTE)
    review = standing_review(lease.item, actor)
    if lease.slot.kind != SlotKind.PRACTICE or lease.author_id != actor.pk or review is None:
        raise Refused(Problem("only a practice case that you have answered has a label to dispute"))
    offered = [reason.code for reason in reasons_of(lease.item.queue.project, ReasonStage.CALIBRATION)]
    if code not in offered:
        raise InputError(Problem("not a reason that practice offers", value=code, allowed=", ".join(offered)))
    if not words.strip():
        raise InputError(Problem("say what is wrong with the label on record"))
    dispute, created = LabelDispute.objects.get_or_create(
        review=review, defaults={"code": code, "words": words.strip(), "at": now}
    )
    if created:
        event_record(name="adjudication.label-disputed", actor=actor, now=now, payload={"review": review.pk})
    return dispute
