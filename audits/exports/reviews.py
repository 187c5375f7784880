"""Every answer that people gave in an audit, as they gave it: one row per review and artifact."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from django.db.models import Case, Exists, OuterRef, Value, When

from adjudication.models import Label, Review, ReviewReason, Span
from audits.exports.anchors import OUTSIDE
from audits.exports.tables import record_lines
from audits.models import Audit, Draw
from audits.selectors import standing_settlements
from core.times import Written
from judges.holdouts import require_open
from judges.models import CaseSet, Rubric

CANNOT_JUDGE = "cannot judge"
COLUMNS = (
    "review",
    "artifact",
    "label",
    "review__item",
    "review__item__case__case_id",
    "review__item__case__version",
    "review__author__pseudonym",
    "review__author__kind",
    "review__kind",
    "review__revision",
    "review__rationale",
    "review__seconds",
    "artifact__system_version__name",
    "artifact__output_hash",
    "artifact__evidence_hash",
)


class ReviewRow(NamedTuple):
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
    drawn = set(Draw.objects.filter(audit=audit).values_list("item", flat=True))
    settled = dict(standing_settlements(audit).values_list("item", "how"))
    reasons, quotes = _reasons_by_review(audit), _quotes_by_review(audit)
    named = audit.comparison.case_set, audit.rubric
    later = Review.objects.filter(
        item=OuterRef("review__item"), author=OuterRef("review__author"), revision__gt=OuterRef("review__revision")
    )
    standing = Case(
        When(review__withdrawal__isnull=False, then=Value("withdrawn")),
        When(review__surplus=True, then=Value("surplus")),
        When(Exists(later), then=Value("corrected")),
        default=Value("counts"),
    )
    labels = Label.objects.filter(review__item__queue=audit.queue).order_by("review", "pk")
    rows = labels.values(*COLUMNS, answered_at=Written("review__at"), standing=standing)
    # As plain values: a record for each of the six tables took longer than all else that a row needs.
    for row in rows.iterator(chunk_size=2000):
        review, item = row["review"], row["review__item"]
        quoted = quotes.get((review, None), []) + quotes.get((review, row["artifact"]), [])
        sampled = "drawn" if item in drawn else OUTSIDE
        yield _review_row(row, *named, reasons.get(review, ()), quoted, sampled, settled.get(item))


def _review_row(
    row: dict[str, Any],
    case_set: CaseSet,
    rubric: Rubric,
    reasons: Iterable[str],
    quotes: Iterable[str],
    how_sampled: str,
    how_settled: str | None,
) -> ReviewRow:
    return ReviewRow(
        review_id=row["review"],
        case_set=case_set.name,
        case_set_version=case_set.version,
        case_id=row["review__item__case__case_id"],
        case_version=row["review__item__case__version"],
        system_version=row["artifact__system_version__name"],
        output_hash=row["artifact__output_hash"],
        evidence_hash=row["artifact__evidence_hash"],
        rubric=rubric.name,
        rubric_version=rubric.version,
        author=row["review__author__pseudonym"],
        author_kind=row["review__author__kind"],
        kind=row["review__kind"],
        revision=row["review__revision"],
        answer=CANNOT_JUDGE if row["label"] is None else "label",
        label=row["label"],
        reasons="; ".join(reasons),
        rationale=row["review__rationale"],
        quotes="; ".join(quotes),
        seconds=row["review__seconds"],
        answered_at=row["answered_at"],
        standing=row["standing"],
        how_sampled=how_sampled,
        how_settled=how_settled,
    )


def review_lines(audit: Audit, kind: str) -> Iterator[str]:
    """The file's rows, one after another. Refused, before the first, for a sealed holdout."""
    require_open(audit.comparison)
    return record_lines(kind, ReviewRow, reviews_of(audit))


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
