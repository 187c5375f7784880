"""Gold anchors: references with all that is needed to use them again without asking us."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Count

from adjudication.models import Reference, Review, SettlementHow, SlotKind
from audits.exports.tables import lines_write, record_lines
from audits.models import Audit, Draw, Reuse, Stratum
from audits.selectors import standing_settlements
from core.batches import batches
from judges.holdouts import require_open
from judges.models import CaseSet, Rubric

OUTSIDE = "outside the sample"
BATCH = 2000
COLUMNS = (
    "pk",
    "label",
    "settlement__item",
    "settlement__how",
    "settlement__at",
    "settlement__item__case__case_id",
    "settlement__item__case__version",
    "settlement__item__case__input_hash",
    "artifact__system_version__name",
    "artifact__output_hash",
    "artifact__evidence_hash",
)


@dataclass(frozen=True)
class Anchor:
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
    references = Reference.objects.filter(settlement__in=standing_settlements(audit))
    rows = references.order_by("settlement__item__case", "artifact__system_version", "pk").values(*COLUMNS)
    strata = {stratum.pk: stratum for stratum in audit.strata.all()}
    labels_drawn = audit.registrations.latest("n").labels
    named = audit.comparison.case_set, audit.rubric
    for batch in batches(rows.iterator(chunk_size=BATCH), BATCH):
        beside = _beside(audit, [row["settlement__item"] for row in batch])
        for row in batch:
            stratum, position = beside.drawn.get(row["settlement__item"], (None, None))
            place = None if stratum is None else strata[stratum]
            yield _anchor(row, *named, beside, place, position, labels_drawn)


def _anchor(
    row: dict[str, Any],
    case_set: CaseSet,
    rubric: Rubric,
    beside: "_Beside",
    stratum: Stratum | None,
    position: int | None,
    labels_drawn: Mapping[str, int],
) -> Anchor:
    item, how, value = row["settlement__item"], row["settlement__how"], rubric.values[row["label"]]
    reused_from, labelled_there = beside.reused.get(item, ("", ""))
    return Anchor(
        reference_id=row["pk"],
        case_set=case_set.name,
        case_set_version=case_set.version,
        case_id=row["settlement__item__case__case_id"],
        case_version=row["settlement__item__case__version"],
        input_hash=row["settlement__item__case__input_hash"],
        system_version=row["artifact__system_version__name"],
        output_hash=row["artifact__output_hash"],
        evidence_hash=row["artifact__evidence_hash"],
        rubric=rubric.name,
        rubric_version=rubric.version,
        rubric_hash=rubric.content_hash,
        label=row["label"],
        value=None if value is None else float(value),
        how_settled=how,
        labelled_by=labelled_there if how == SettlementHow.REUSED else beside.labelled_by.get(item, ""),
        settled_at=row["settlement__at"].isoformat(),
        how_sampled="drawn" if stratum else OUTSIDE,
        stratum=stratum.name if stratum else None,
        position=position,
        inclusion_probability=labels_drawn[stratum.name] / stratum.size if stratum and stratum.size else None,
        rationale="\n\n".join(beside.rationales.get((item, _deciding(how)), ())),
        reused_from=reused_from if how == SettlementHow.REUSED else "",
    )


@dataclass(frozen=True)
class _Beside:
    """What stands beside the references of a batch, by item."""

    drawn: Mapping[int, tuple[int, int]]
    labelled_by: Mapping[int, str]
    rationales: Mapping[tuple[int, str], Sequence[str]]
    reused: Mapping[int, tuple[str, str]]


def _beside(audit: Audit, items: Sequence[int]) -> _Beside:
    drawn = Draw.objects.filter(audit=audit, item__in=items).values_list("item", "stratum", "position")
    reuses = Reuse.objects.filter(settlement__item__in=items).order_by("pk")
    reused = reuses.values_list("settlement__item", "source", "labelled_by")
    return _Beside(
        drawn={item: (stratum, position) for item, stratum, position in drawn},
        labelled_by=labelled_by(items),
        rationales=_rationales(items),
        reused={item: (source, people) for item, source, people in reused},
    )


def labelled_by(items: Sequence[int]) -> dict[int, str]:
    """`2 member, 1 imported` by item: a label of simulated people must never pass for one of people."""
    counts: dict[int, list[str]] = {}
    rows = (
        Review.objects.filter(item__in=items, surplus=False)
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


def _rationales(items: Sequence[int]) -> dict[tuple[int, str], list[str]]:
    """Rationales by item and kind of answer, without names."""
    found: dict[tuple[int, str], list[str]] = {}
    standing = Review.objects.filter(item__in=items, surplus=False, withdrawal=None).exclude(rationale="")
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
