"""Submitting an answer, and passing an item on."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.db import transaction

from adjudication.in_hand import lease_locked, presentation_of, shown_of
from adjudication.models import (
    Item,
    ItemState,
    Label,
    Lease,
    LeaseEnd,
    Review,
    ReviewReason,
    Skip,
    Slot,
    SlotKind,
    SlotState,
    Span,
)
from adjudication.models.reviews import Passage
from adjudication.selectors import has_reviewer_left
from adjudication.services.drafts import draft_drop
from adjudication.services.leases import lease_end
from adjudication.services.reasons import LONGEST_CODE, check_reasons
from adjudication.services.settlements import item_resolve, item_to_adjudicator
from adjudication.states import slot_move
from core.access import require_role
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.models import Author, Role
from core.rows import one_value
from core.texts import require_storable
from judges.services.texts import texts_of

MOST_SECONDS = 2**31 - 1  # what the column holds

Answers = Mapping[int, str | None]  # artifact -> label, or None for *cannot judge*

_REVISION = "SELECT MAX(revision) FROM adjudication_review WHERE item_id = %(item)s AND author_id = %(author)s"


@transaction.atomic
def review_submit(
    *,
    lease: Lease,
    actor: Author,
    answers: Answers,
    reasons: Sequence[str] = (),
    rationale: str = "",
    spans: Sequence[Passage] = (),
    seconds: int | None = None,
    now: datetime,
) -> Review:
    """Store one person's answer and let the item settle, conflict or wait, in one transaction.

    Sent twice, it is stored once: the first answer comes back. Raises `Refused` where the lease was
    lost to somebody else.
    """
    lease = lease_locked(lease)
    item = lease.item
    if lease.author_id != actor.pk:
        raise Refused(Problem("this lease is somebody else's"))
    if lease.end == LeaseEnd.SUBMITTED:
        return Review.objects.filter(item=item, author=actor).latest("revision")
    require_role(actor, Role.REVIEWER, Role.ADJUDICATOR)  # it may have been taken since the claim
    presentation = presentation_of(item, actor)
    shown = presentation.order if presentation else [artifact.pk for artifact in shown_of(item)]
    check_answers(item, answers, shown)
    check_words(reasons, rationale)
    check_reasons(item.queue.project, reasons, rationale)
    check_spans(item, spans)
    lease_end(lease=lease, end=LeaseEnd.SUBMITTED, now=now)
    surplus = not _slot_answered(lease.slot)
    review = Review.objects.create(
        item=item,
        author=actor,
        revision=1 + (one_value(_REVISION, {"item": item.pk, "author": actor.pk}) or 0),
        kind=lease.slot.kind,
        surplus=surplus,
        presentation=presentation,
        rationale=rationale,
        # A browser's odd clock is no reason to lose an answer.
        seconds=seconds if seconds is not None and 0 <= seconds <= MOST_SECONDS else None,
        at=now,
    )
    Label.objects.bulk_create(
        Label(review=review, artifact_id=artifact, label=label) for artifact, label in answers.items()
    )
    ReviewReason.objects.bulk_create(ReviewReason(review=review, code=code) for code in dict.fromkeys(reasons))
    Span.objects.bulk_create(
        Span(review=review, artifact_id=artifact, part=part, start=start, end=end)
        for artifact, part, start, end in dict.fromkeys(spans)
    )
    draft_drop(item.pk, actor)
    event_record(name="adjudication.review-submitted", actor=actor, now=now, payload={"review": review.pk})
    if not surplus:
        item_resolve(item=item, actor=actor, now=now)
    return review


def check_answers(item: Item, answers: Answers, shown: Iterable[int]) -> None:
    if set(answers) != set(shown):
        raise InputError(Problem("an answer is needed for each artifact shown, and for no other"))
    labels = item.queue.rubric.labels
    wrong = [label for label in answers.values() if label is not None and label not in labels]
    if wrong:
        raise InputError(Problem("not a label of the scale", value=wrong[0], allowed=", ".join(labels)))


def check_spans(item: Item, spans: Sequence[Passage]) -> None:
    if not spans:
        return
    hashes: dict[tuple[int | None, int], str] = {(None, 0): item.case.input_hash}
    for artifact in shown_of(item):
        hashes |= {(artifact.pk, part): sha256 for part, (_, sha256) in enumerate(artifact.parts)}
    texts = texts_of(project=item.queue.project, hashes=hashes.values())
    for quoted, part, start, end in spans:
        text = texts.get(hashes.get((quoted, part), ""), "")
        if not 0 <= start < end <= len(text):
            where = f"characters {start} to {end} of part {part}"
            raise InputError(Problem("a quoted passage lies outside its text", key="spans", value=where))


def check_words(reasons: Sequence[str], rationale: str) -> None:
    require_storable("rationale", rationale)
    for code in reasons:
        require_storable("reasons", code, longest=LONGEST_CODE)


def _slot_answered(slot: Slot) -> bool:
    """False where the item got all it needed while this answer was under way."""
    try:
        slot_move(slot, SlotState.DONE)
    except Refused:
        return False
    return True


@transaction.atomic
def item_skip(*, lease: Lease, actor: Author, reason: str = "", now: datetime) -> None:
    """Pass an item on. It goes first to the next reviewer, and after all have skipped it to the adjudicator."""
    require_storable("reason", reason)
    item = Item.objects.select_for_update(no_key=True).get(pk=lease.item_id)
    if lease.author_id != actor.pk:
        raise Refused(Problem("this lease is somebody else's"))
    if lease.slot.kind == SlotKind.PRACTICE:
        raise Refused(Problem("a practice case is answered, not passed on; “cannot judge” is an answer too"))
    Slot.objects.filter(pk=lease.slot_id).update(urgent=True)  # before the lease, as a claim locks them
    lease_end(lease=lease, end=LeaseEnd.SKIPPED, now=now)
    Skip.objects.get_or_create(item=item, author=actor, defaults={"at": now, "reason": reason})
    event_record(name="adjudication.item-skipped", actor=actor, now=now, payload={"item": item.pk})
    if item.state == ItemState.OPEN and lease.slot.kind == SlotKind.REVIEW and not has_reviewer_left(item):
        item_to_adjudicator(item=item, now=now, actor=actor)
