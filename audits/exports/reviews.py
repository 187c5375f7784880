"""Every answer that people gave in an audit, as they gave it: one row per review and artifact."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from adjudication.models import Label, Review, ReviewReason, Span
from audits.exports.anchors import OUTSIDE
from audits.exports.tables import record_lines
from audits.models import Audit, Draw
from audits.selectors import standing_settlements
from judges.holdouts import require_open

CANNOT_JUDGE = "cannot judge"


@dataclass(frozen=True)
class ReviewRow:
    """One person's answer on one artifact. `label` is null for *cannot judge*. `standing` says what became of the
    answer: it `counts`, or was `surplus`, `withdrawn` or `corrected` by a later one of the same person. `quotes` are
    the passages that the answer quotes of the input and of this artifact, as places and not as text: "output 4:14"."""

    review_id: int
    case_set: str
    case_set_version: str
    case_id: str
    case_version: int
    system_version: str
    output_hash: str
    evidence_hash: str
    rubric: str
    rubric_version: str
    author: str
    author_kind: str
    kind: str
    revision: int
    answer: str
    label: str | None
    reasons: str
    rationale: str
    quotes: str
    seconds: int | None
    answered_at: str
    standing: str
    how_sampled: str
    how_settled: str | None


def reviews_of(audit: Audit) -> Iterator[ReviewRow]:
    """Every review of the audit's queue, withdrawn and surplus ones too, in the order they were given."""
    case_set, rubric = audit.comparison.case_set, audit.rubric
    drawn = set(Draw.objects.filter(audit=audit).values_list("item", flat=True))
    settled = dict(standing_settlements(audit).values_list("item", "how"))
    reasons, quotes = _reasons_by_review(audit), _quotes_by_review(audit)
    later = Review.objects.filter(
        item=OuterRef("review__item"), author=OuterRef("review__author"), revision__gt=OuterRef("review__revision")
    )
    labels = (
        Label.objects.filter(review__item__queue=audit.queue)
        .select_related("review__item__case", "review__author", "review__withdrawal", "artifact__system_version")
        .annotate(corrected=Exists(later))
        .order_by("review", "pk")
    )
    for label in labels.iterator(chunk_size=2000):
        review, artifact = label.review, label.artifact
        yield ReviewRow(
            review_id=review.pk,
            case_set=case_set.name,
            case_set_version=case_set.version,
            case_id=review.item.case.case_id,
            case_version=review.item.case.version,
            system_version=artifact.system_version.name,
            output_hash=artifact.output_hash,
            evidence_hash=artifact.evidence_hash,
            rubric=rubric.name,
            rubric_version=rubric.version,
            author=review.author.pseudonym,
            author_kind=review.author.kind,
            kind=review.kind,
            revision=review.revision,
            answer=CANNOT_JUDGE if label.label is None else "label",
            label=label.label,
            reasons="; ".join(reasons.get(review.pk, ())),
            rationale=review.rationale,
            quotes="; ".join(quotes.get((review.pk, None), []) + quotes.get((review.pk, artifact.pk), [])),
            seconds=review.seconds,
            answered_at=review.at.isoformat(),
            standing=_standing(review, label.corrected),
            how_sampled="drawn" if review.item_id in drawn else OUTSIDE,
            how_settled=settled.get(review.item_id),
        )


def review_lines(audit: Audit, kind: str) -> Iterator[str]:
    """The file's rows, one after another. Refused, before the first, for a sealed holdout."""
    require_open(audit.comparison)
    return record_lines(kind, ReviewRow, reviews_of(audit))


def _standing(review: Review, corrected: bool) -> str:
    if hasattr(review, "withdrawal"):
        return "withdrawn"
    if review.surplus:
        return "surplus"
    return "corrected" if corrected else "counts"


def _reasons_by_review(audit: Audit) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    rows = ReviewReason.objects.filter(review__item__queue=audit.queue).order_by("pk")
    for review, code in rows.values_list("review", "code").iterator():
        found.setdefault(review, []).append(code)
    return found


def _quotes_by_review(audit: Audit) -> dict[tuple[int, int | None], list[str]]:
    """By review and artifact; under no artifact what was quoted of the case's input."""
    found: dict[tuple[int, int | None], list[str]] = {}
    rows = Span.objects.filter(review__item__queue=audit.queue).order_by("pk")
    for review, artifact, part, start, end in rows.values_list("review", "artifact", "part", "start", "end").iterator():
        where = "input" if artifact is None else f"evidence {part}" if part else "output"
        found.setdefault((review, artifact), []).append(f"{where} {start}:{end}")
    return found
