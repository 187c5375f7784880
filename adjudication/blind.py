"""The only door to a reviewer: what a page at the desk may show, copied piece by piece into plain values.

Nothing here can reach a verdict, a stratum, another person's name or the number of a record. What is not
copied does not exist for the templates: they get these values and no request, no user, no model.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from adjudication.calibration import PracticeProgress, practice_progress
from adjudication.differences import Piece, differences
from adjudication.guidelines import guideline_html
from adjudication.in_hand import shown_of
from adjudication.keys import DeskKeys, PageKeys, desk_keys
from adjudication.models import (
    Draft,
    Item,
    LabelDispute,
    Lease,
    Presentation,
    ReasonCode,
    ReasonStage,
    Review,
    SlotKind,
)
from adjudication.models.reviews import Passage
from adjudication.selectors import reasons_of, standing_review, was_begun
from core.models import Project
from judges.models.cases import Artifact
from judges.services.texts import texts_shown

CANNOT = "cannot"  # the form's value for *cannot judge*; a label's value is its place on the scale
SIDES = ("left", "right")
POSITIONS = {1: ("only",), 2: SIDES}
HEADINGS = {"only": "Output", "left": "Left output", "right": "Right output"}
ANSWER_NAMES = "ABCDEFGH"
EXCERPT = 140
LONG_TEXT = 6000  # characters, beyond which a text gets a box of its own to scroll in


@dataclass(frozen=True)
class BlindText:
    """`part` says where it stands ("left.0": the left output), for what is quoted from it."""

    name: str
    text: str
    long: bool
    part: str


@dataclass(frozen=True)
class BlindQuote:
    value: str
    name: str
    text: str


@dataclass(frozen=True)
class BlindChoice:
    value: str
    label: str
    keys: tuple[str, ...]
    chosen: bool


@dataclass(frozen=True)
class BlindOutput:
    position: str
    heading: str
    text: BlindText
    evidence: tuple[BlindText, ...]
    choices: tuple[BlindChoice, ...]


@dataclass(frozen=True)
class BlindReason:
    code: str
    help: str
    key: str
    chosen: bool


@dataclass(frozen=True)
class BlindAnswer:
    """What one person said about a case on which people differ, under a letter. `mirrored`: they had left
    and right the other way round, which their words may speak of."""

    name: str
    key: str
    labels: tuple[tuple[str, str, str], ...]  # position, heading, label
    values: str  # "position=value …", for taking it over
    reasons: tuple[str, ...]
    rationale: str
    quotes: tuple[BlindQuote, ...]
    mirrored: bool


@dataclass(frozen=True)
class BlindItem:
    token: str
    adjudication: bool
    practice: PracticeProgress | None
    question: BlindText
    outputs: tuple[BlindOutput, ...]
    evidence: tuple[BlindText, ...]  # where all outputs share it
    guideline: SafeString
    reasons: tuple[BlindReason, ...]
    rationale: str
    quotes: tuple[BlindQuote, ...]
    seconds: int
    answers: tuple[BlindAnswer, ...]
    passed_on: tuple[str, ...]
    begun_by_a_colleague: bool

    @property
    def length(self) -> int:
        """Characters of all its texts."""
        texts = [self.question, *self.evidence]
        for output in self.outputs:
            texts += [output.text, *output.evidence]
        return sum(len(text.text) for text in texts)


@dataclass(frozen=True)
class BlindOnRecord:
    """One output of a practice case, with the label that was given and the one on record."""

    text: BlindText
    evidence: tuple[BlindText, ...]
    given: str
    known: str


@dataclass(frozen=True)
class BlindFeedback:
    """A practice case after its answer: the one page at the desk that says what a label should have been."""

    token: str
    question: BlindText
    outputs: tuple[BlindOnRecord, ...]
    evidence: tuple[BlindText, ...]
    right: bool
    rationales: tuple[str, ...]
    practice: PracticeProgress
    disputes: tuple[BlindReason, ...]
    disputed: str


@dataclass(frozen=True)
class Sent:
    excerpt: str
    labels: tuple[tuple[str, str], ...]  # heading, label
    at: datetime
    undo: str


@dataclass(frozen=True)
class Skipped:
    excerpt: str
    reason: str
    at: datetime


def blind_item(lease: Lease, presentation: Presentation, draft: Draft | None, page: PageKeys) -> BlindItem:
    """One item as its holder may see it."""
    item, rubric = lease.item, lease.item.queue.rubric
    artifacts = _in_order(item, presentation)
    texts = texts_shown(
        project=item.queue.project,
        hashes=[item.case.input_hash, *(sha256 for artifact in artifacts for _, sha256 in artifact.parts)],
    )
    places = [_Place(position, one) for position, one in zip(POSITIONS[len(artifacts)], artifacts, strict=True)]
    adjudication = lease.slot.kind == SlotKind.ADJUDICATION
    reviews = _others(item, lease, presentation) if adjudication else []
    reasons = reasons_of(item.queue.project, ReasonStage.DESK)
    codes = [reason.code for reason in reasons]
    keys = desk_keys(rubric.labels, codes, outputs=len(artifacts), answers=len(reviews), page=page)
    shared = len(artifacts) > 1 and len({artifact.evidence_hash for artifact in artifacts}) == 1

    def quotes(passages: Iterable[Passage]) -> tuple[BlindQuote, ...]:
        return _quotes(passages, item, places, texts, shared)

    return BlindItem(
        token=str(lease.token),
        adjudication=adjudication,
        practice=_practice(lease),
        question=_text("Input", texts[item.case.input_hash], "input.0"),
        outputs=tuple(
            _output(place, texts, _choices(place.artifact, rubric.labels, keys, page, draft), shared)
            for place in places
        ),
        evidence=_evidence(places[0], texts) if shared else (),
        guideline=guideline_html(rubric.guideline),
        reasons=_reasons(reasons, keys, draft),
        rationale=draft.rationale if draft else "",
        quotes=quotes(draft.spans if draft else []),
        seconds=draft.seconds if draft else 0,
        answers=tuple(
            _answer(name, key, review, presentation, rubric.labels, quotes(_spans(review)))
            for name, key, review in zip(ANSWER_NAMES, keys.answers, reviews, strict=False)
        ),
        passed_on=_skip_reasons(item) if adjudication and not reviews else (),
        begun_by_a_colleague=lease.slot.urgent and was_begun(lease.slot, by_others_than=lease.author_id),
    )


@dataclass(frozen=True)
class BlindComparison:
    position: str
    heading: str
    pieces: tuple[Piece, ...]


def blind_comparison(lease: Lease, presentation: Presentation) -> tuple[BlindComparison, ...]:
    """The two outputs, each with what it does not share with the other; nothing where there is only one."""
    artifacts = _in_order(lease.item, presentation)
    if len(artifacts) < len(SIDES):
        return ()
    hashes = [artifact.parts[0][1] for artifact in artifacts]
    texts = texts_shown(project=lease.item.queue.project, hashes=hashes)
    pieces = differences(*(texts[sha256] for sha256 in hashes))
    return tuple(BlindComparison(side, HEADINGS[side], found) for side, found in zip(SIDES, pieces, strict=True))


def blind_feedback(lease: Lease, presentation: Presentation) -> BlindFeedback | None:
    """What their practice case was about, for whoever has answered it; None before, and for any other case."""
    item, review = lease.item, standing_review(lease.item, lease.author)
    practice = _practice(lease)
    if review is None or practice is None:
        return None
    artifacts = _in_order(item, presentation)
    places = [_Place(position, one) for position, one in zip(POSITIONS[len(artifacts)], artifacts, strict=True)]
    texts = texts_shown(
        project=item.queue.project,
        hashes=[item.case.input_hash, *(sha256 for artifact in artifacts for _, sha256 in artifact.parts)],
    )
    given = {label.artifact_id: label.label for label in review.labels.all()}
    known = {answer.artifact_id: answer for answer in item.known_answers.all()}
    shared = len(artifacts) > 1 and len({artifact.evidence_hash for artifact in artifacts}) == 1
    dispute = LabelDispute.objects.filter(review=review).first()
    return BlindFeedback(
        token=str(lease.token),
        question=_text("Input", texts[item.case.input_hash], "input.0"),
        outputs=tuple(
            BlindOnRecord(
                text=_text(place.name(0), texts[place.artifact.parts[0][1]], f"{place.position}.0"),
                evidence=() if shared else _evidence(place, texts),
                given=given[place.artifact.pk] or "cannot judge",
                known=known[place.artifact.pk].label,
            )
            for place in places
        ),
        evidence=_evidence(places[0], texts) if shared else (),
        right=all(given[artifact] == answer.label for artifact, answer in known.items()),
        rationales=tuple(dict.fromkeys(answer.rationale for answer in known.values() if answer.rationale)),
        practice=practice,
        disputes=tuple(
            BlindReason(reason.code, reason.meaning, "", False)
            for reason in reasons_of(item.queue.project, ReasonStage.CALIBRATION)
        ),
        disputed=dispute.words if dispute else "",
    )


def _practice(lease: Lease) -> PracticeProgress | None:
    return practice_progress(lease.item.queue, lease.author) if lease.slot.kind == SlotKind.PRACTICE else None


def answers_of(presentation: Presentation, values: Mapping[str, str], labels: Sequence[str]) -> dict[int, str | None]:
    """Un-swap: the form's values by position, as labels by artifact. A position without a value is left out."""
    positions = POSITIONS[len(presentation.order)]
    return {
        artifact: None if values[position] == CANNOT else labels[int(values[position])]
        for position, artifact in zip(positions, presentation.order, strict=True)
        if values.get(position)
    }


def passages_of(presentation: Presentation, spans: Iterable[tuple[str, int, int, int]]) -> list[Passage]:
    """Un-swap what was quoted: its position as an artifact."""
    artifacts = dict(zip(POSITIONS[len(presentation.order)], presentation.order, strict=True))
    return [(artifacts.get(position), part, start, end) for position, part, start, end in spans]


def sent_cases(project: Project, leases: Sequence[Lease], undo: str) -> tuple[Sent, ...]:
    """A person's own answers, and of the cases no more than how their input begins."""
    excerpts = _excerpts(project, [lease.item for lease in leases])
    reviews = {
        review.item_id: review
        for review in Review.objects.filter(
            item__in=[lease.item_id for lease in leases], author__in={lease.author_id for lease in leases}
        )
        .filter(withdrawal__isnull=True)
        .select_related("presentation")
        .prefetch_related("labels")
        .order_by("revision")
    }
    return tuple(
        Sent(
            excerpt=excerpts[lease.item_id],
            labels=_own_labels(reviews[lease.item_id]),
            at=reviews[lease.item_id].at,
            undo=undo if str(lease.token) == undo else "",
        )
        for lease in leases
    )


def skipped_cases(project: Project, skips: Sequence[tuple[Item, str, datetime]]) -> tuple[Skipped, ...]:
    excerpts = _excerpts(project, [item for item, _, _ in skips])
    return tuple(Skipped(excerpts[item.pk], reason, at) for item, reason, at in skips)


def _in_order(item: Item, presentation: Presentation) -> list[Artifact]:
    shown = {artifact.pk: artifact for artifact in shown_of(item)}
    return [shown[artifact] for artifact in presentation.order]


@dataclass(frozen=True)
class _Place:
    """Where an artifact stands before this person."""

    position: str
    artifact: Artifact

    def name(self, part: int) -> str:
        """Numbered anew: the name that a part had in a file could tell whose it is."""
        if part == 0:
            return HEADINGS[self.position]
        return f"Evidence {part}" if len(self.artifact.parts) > 2 else "Evidence"


def _text(name: str, text: str, part: str) -> BlindText:
    return BlindText(name, text, len(text) > LONG_TEXT, part)


def _output(
    place: _Place,
    texts: Mapping[str, str],
    choices: Iterable[BlindChoice],
    shared: bool,
) -> BlindOutput:
    heading = HEADINGS[place.position]
    return BlindOutput(
        position=place.position,
        heading=heading,
        text=_text(heading, texts[place.artifact.parts[0][1]], f"{place.position}.0"),
        evidence=() if shared else _evidence(place, texts),
        choices=tuple(choices),
    )


def _evidence(place: _Place, texts: Mapping[str, str]) -> tuple[BlindText, ...]:
    return tuple(
        _text(place.name(number), texts[sha256], f"{place.position}.{number}")
        for number, (_, sha256) in enumerate(place.artifact.parts[1:], 1)
    )


def _quotes(
    passages: Iterable[Passage], item: Item, places: Sequence[_Place], texts: Mapping[str, str], shared: bool
) -> tuple[BlindQuote, ...]:
    """What was quoted, by where it stands before this person."""
    by_artifact = {place.artifact.pk: place for place in places}
    found = []
    for artifact, part, start, end in passages:
        if artifact is None:
            name, position, sha256 = "Input", "input", item.case.input_hash
        else:
            place = by_artifact[artifact]
            name, position, sha256 = place.name(part), place.position, place.artifact.parts[part][1]
            if part and len(places) > 1 and not shared:
                name = f"{name}, {place.position}"
        found.append(BlindQuote(f"{position}.{part}.{start}.{end}", name, texts[sha256][start:end]))
    return tuple(found)


def _spans(review: Review) -> list[Passage]:
    return [(span.artifact_id, span.part, span.start, span.end) for span in review.spans.all()]


def _choices(
    artifact: Artifact, labels: Sequence[str], keys: DeskKeys, page: PageKeys, draft: Draft | None
) -> Iterable[BlindChoice]:
    drafted = draft.labels if draft else {}
    given, answered = drafted.get(str(artifact.pk)), str(artifact.pk) in drafted
    for place, (label, own) in enumerate(zip(labels, keys.labels, strict=True)):
        yield BlindChoice(str(place), label, own, answered and given == label)
    yield BlindChoice(CANNOT, "cannot judge", (page.cannot_judge,), answered and given is None)


def _reasons(reasons: Sequence[ReasonCode], keys: DeskKeys, draft: Draft | None) -> tuple[BlindReason, ...]:
    chosen = set(draft.reasons) if draft else set()
    return tuple(
        BlindReason(reason.code, reason.meaning, key, reason.code in chosen)
        for reason, key in zip(reasons, keys.reasons, strict=True)
    )


def _others(item: Item, lease: Lease, presentation: Presentation) -> list[Review]:
    """The answers that stand, in an order of their own for each adjudicator: it tells neither who nor when."""
    standing = (
        item.reviews.filter(withdrawal=None, surplus=False, kind=SlotKind.REVIEW)
        .exclude(author=lease.author_id)
        .select_related("presentation")
        .prefetch_related("labels", "reasons", "spans")
    )
    return sorted(standing, key=lambda review: hashlib.sha256(f"{presentation.salt}|{review.pk}".encode()).digest())


def _answer(
    name: str,
    key: str,
    review: Review,
    presentation: Presentation,
    scale: Sequence[str],
    quotes: tuple[BlindQuote, ...],
) -> BlindAnswer:
    given = {label.artifact_id: label.label for label in review.labels.all()}
    placed = list(zip(POSITIONS[len(presentation.order)], presentation.order, strict=True))
    theirs = review.presentation
    return BlindAnswer(
        name=name,
        key=key,
        labels=tuple(
            (position, HEADINGS[position], given.get(artifact) or "cannot judge") for position, artifact in placed
        ),
        values=" ".join(f"{position}={_value(given.get(artifact), scale)}" for position, artifact in placed),
        reasons=tuple(sorted(reason.code for reason in review.reasons.all())),
        rationale=review.rationale,
        quotes=quotes,
        mirrored=theirs is not None and theirs.order != presentation.order,
    )


def _value(label: str | None, scale: Sequence[str]) -> str:
    return CANNOT if label is None else str(scale.index(label))


def _skip_reasons(item: Item) -> tuple[str, ...]:
    return tuple(sorted(item.skips.exclude(reason="").values_list("reason", flat=True)))


def _own_labels(review: Review) -> tuple[tuple[str, str], ...]:
    given = {label.artifact_id: label.label or "cannot judge" for label in review.labels.all()}
    if review.presentation is None or len(given) == 1:
        return tuple(("", label) for label in given.values())
    order = review.presentation.order
    return tuple(
        (HEADINGS[position], given[artifact]) for position, artifact in zip(POSITIONS[len(order)], order, strict=True)
    )


def _excerpts(project: Project, items: Iterable[Item]) -> dict[int, str]:
    hashes = {item.pk: item.case.input_hash for item in items}
    texts = texts_shown(project=project, hashes=hashes.values())
    return {item: _excerpt(texts[sha256]) for item, sha256 in hashes.items()}


def _excerpt(text: str) -> str:
    line = " ".join(text[: 4 * EXCERPT].split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"
