"""Gold anchors: references with all that is needed to use them again without asking us."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from django.db.models import Count, FilteredRelation, Q, QuerySet

from adjudication.models import Reference, Review, SettlementHow, SlotKind
from audits.exports.tables import lines_write, record_lines
from audits.models import Audit
from audits.selectors import standing_settlements
from core.batches import batches
from core.times import Written
from judges.holdouts import require_open
from judges.models import CaseSet, Rubric

OUTSIDE = "outside the sample"
BATCH = 2000
COLUMNS = (
    "pk",
    "label",
    "settlement__item",
    "settlement__how",
    "settlement__item__case",
    "settlement__item__case__case_id",
    "settlement__item__case__version",
    "settlement__item__case__input_hash",
    "artifact__system_version__name",
    "artifact__output_hash",
    "artifact__evidence_hash",
    "draw__stratum",
    "draw__position",
    "settlement__reuse__source",
    "settlement__reuse__labelled_by",
)


class Anchor(NamedTuple):
    """One artifact's settled human label. `stratum`, `position` and `inclusion_probability` say how the case
    was sampled; all three are null for a label that came in from outside the sample. `labelled_by` says how
    many members, imported or simulated authors stand behind the label, `rationale` what those wrote who decided;
    `reused_from` names the anchor set or the audit that the label was taken from, where nobody was asked again."""

    reference_id: int
    case_set: str
    case_set_version: str
    case_id: str
    case_version: int
    input_hash: str
    system_version: str
    output_hash: str
    evidence_hash: str
    rubric: str
    rubric_version: str
    rubric_hash: str
    label: str
    value: float | None
    how_settled: str
    labelled_by: str
    settled_at: str
    how_sampled: str
    stratum: str | None
    position: int | None
    inclusion_probability: float | None
    rationale: str
    reused_from: str


def anchors_of(audit: Audit) -> Iterator[Anchor]:
    """Every reference in force, in the order of the case set. An underspecified artifact has none. Goes by batches: no
    more is in memory than one of them."""
    draw = FilteredRelation("settlement__item__draws", condition=Q(settlement__item__draws__audit=audit))
    references = Reference.objects.filter(settlement__in=standing_settlements(audit)).annotate(draw=draw)
    rows = references.order_by("settlement__item__case", "artifact__system_version", "pk").values(
        *COLUMNS, settled_at=Written("settlement__at")
    )
    shared = _Shared.of(audit)
    for batch in batches(rows.iterator(chunk_size=BATCH), BATCH):
        # Of all cases a range says the same as a list, and sooner.
        first, last = (row["settlement__item__case"] for row in (batch[0], batch[-1]))
        answers = Review.objects.filter(item__queue=audit.queue_id, item__case__gte=first, item__case__lte=last)
        people, words = labelled_by(answers), _rationales(answers)
        for row in batch:
            item, how = row["settlement__item"], row["settlement__how"]
            rationale = "\n\n".join(words.get((item, _deciding(how)), ()))
            yield _anchor(row, shared, people.get(item, ""), rationale)


@dataclass(frozen=True)
class _Shared:
    """What is looked up once for all anchors of an audit. `strata` has, by key, name and inclusion probability."""

    case_set: CaseSet
    rubric: Rubric
    values: Mapping[str, float | None]
    strata: Mapping[int, tuple[str, float | None]]

    @classmethod
    def of(cls, audit: Audit) -> "_Shared":
        drawn = audit.registrations.latest("n").labels
        strata = {one.pk: (one.name, drawn[one.name] / one.size if one.size else None) for one in audit.strata.all()}
        return cls(audit.comparison.case_set, audit.rubric, audit.rubric.values, strata)


def _anchor(row: dict[str, Any], shared: _Shared, people: str, rationale: str) -> Anchor:
    reused, value = row["settlement__how"] == SettlementHow.REUSED, shared.values[row["label"]]
    stratum, inclusion = shared.strata.get(row["draw__stratum"], (None, None))
    return Anchor(
        reference_id=row["pk"],
        case_set=shared.case_set.name,
        case_set_version=shared.case_set.version,
        case_id=row["settlement__item__case__case_id"],
        case_version=row["settlement__item__case__version"],
        input_hash=row["settlement__item__case__input_hash"],
        system_version=row["artifact__system_version__name"],
        output_hash=row["artifact__output_hash"],
        evidence_hash=row["artifact__evidence_hash"],
        rubric=shared.rubric.name,
        rubric_version=shared.rubric.version,
        rubric_hash=shared.rubric.content_hash,
        label=row["label"],
        value=None if value is None else float(value),
        how_settled=row["settlement__how"],
        labelled_by=(row["settlement__reuse__labelled_by"] or "") if reused else people,
        settled_at=row["settled_at"],
        how_sampled="drawn" if stratum else OUTSIDE,
        stratum=stratum,
        position=row["draw__position"],
        inclusion_probability=inclusion,
        rationale=rationale,
        reused_from=(row["settlement__reuse__source"] or "") if reused else "",
    )


def labelled_by(answers: QuerySet[Review]) -> dict[int, str]:
    """`2 member, 1 imported` by item: a label of simulated people must never pass for one of people."""
    counts: dict[int, list[str]] = {}
    rows = (
        answers.filter(surplus=False)
        .values_list("item", "author__kind")
        .annotate(authors=Count("author", distinct=True))
        .order_by("item", "author__kind")
    )
    for item, kind, authors in rows:
        counts.setdefault(item, []).append(f"{authors} {kind}")
    return {item: ", ".join(kinds) for item, kinds in counts.items()}


def _deciding(how: str) -> SlotKind:
    """Whose words stand behind a decision: the adjudicator's, or those of the reviewers who agreed."""
    return SlotKind.ADJUDICATION if how == SettlementHow.ADJUDICATED else SlotKind.REVIEW


def _rationales(answers: QuerySet[Review]) -> dict[tuple[int, str], list[str]]:
    """Rationales by item and kind of answer, without names."""
    found: dict[tuple[int, str], list[str]] = {}
    standing = answers.filter(surplus=False, withdrawal=None).exclude(rationale="")
    for item, kind, rationale in standing.order_by("pk").values_list("item", "kind", "rationale"):
        found.setdefault((item, kind), []).append(rationale)
    return found


def anchors_write(audit: Audit, path: Path, kind: str) -> dict[str, Any]:
    """Write the anchors to a file; the counts come back, with what was left out and why."""
    anchors = lines_write(path, kind, anchor_lines(audit, kind))
    underspecified = standing_settlements(audit).filter(how=SettlementHow.UNDERSPECIFIED).count()
    return {"file": str(path), "anchors": anchors, "underspecified_items_without_anchor": underspecified}


def anchor_lines(audit: Audit, kind: str) -> Iterator[str]:
    """The file's rows, one after another. Refused, before the first, for a sealed holdout."""
    require_open(audit.comparison)
    return record_lines(kind, Anchor, anchors_of(audit))
