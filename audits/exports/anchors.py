"""Gold anchors: references with all that is needed to use them again without asking us."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Count

from adjudication.models import Reference, Review, Settlement, SettlementHow, SlotKind
from audits.exports.tables import lines_write, record_lines
from audits.models import Audit, Draw
from audits.selectors import standing_settlements
from judges.holdouts import require_open

OUTSIDE = "outside the sample"


@dataclass(frozen=True)
class Anchor:
    """One artifact's settled human label. `stratum`, `position` and `inclusion_probability` say how the case
    was sampled; all three are null for a label that came in from outside the sample. `labelled_by` says how
    many members, imported or simulated authors stand behind the label, `rationale` what those wrote who decided."""

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


def anchors_of(audit: Audit) -> Iterator[Anchor]:
    """Every reference in force, in the order of the case set. An underspecified artifact has none."""
    case_set, rubric = audit.comparison.case_set, audit.rubric
    drawn = _drawn(audit)
    sizes = {stratum.pk: (stratum.name, stratum.size) for stratum in audit.strata.all()}
    labels_drawn = audit.registrations.latest("n").labels
    labelled_by, rationales = _authors_by_item(audit), _rationales_by_item(audit)
    references = (
        Reference.objects.filter(settlement__in=standing_settlements(audit))
        .select_related("settlement__item__case", "artifact__system_version")
        .order_by("settlement__item__case", "artifact__system_version", "pk")
    )
    for reference in references.iterator(chunk_size=2000):
        case, artifact = reference.settlement.item.case, reference.artifact
        stratum, position = drawn.get(reference.settlement.item_id, (None, None))
        name, size = sizes[stratum] if stratum is not None else (None, None)
        yield Anchor(
            reference_id=reference.pk,
            case_set=case_set.name,
            case_set_version=case_set.version,
            case_id=case.case_id,
            case_version=case.version,
            input_hash=case.input_hash,
            system_version=artifact.system_version.name,
            output_hash=artifact.output_hash,
            evidence_hash=artifact.evidence_hash,
            rubric=rubric.name,
            rubric_version=rubric.version,
            rubric_hash=rubric.content_hash,
            label=reference.label,
            value=rubric.values[reference.label],
            how_settled=reference.settlement.how,
            labelled_by=labelled_by.get(reference.settlement.item_id, ""),
            settled_at=reference.settlement.at.isoformat(),
            how_sampled="drawn" if name else OUTSIDE,
            stratum=name,
            position=position,
            inclusion_probability=labels_drawn[name] / size if name and size else None,
            rationale="\n\n".join(rationales.get((case.pk, _deciding(reference.settlement)), ())),
        )


def _authors_by_item(audit: Audit) -> dict[int, str]:
    """`2 member, 1 imported` by item: a label of simulated people must never pass for one of people."""
    counts: dict[int, list[str]] = {}
    rows = (
        Review.objects.filter(item__queue=audit.queue, surplus=False)
        .values_list("item", "author__kind")
        .annotate(authors=Count("author", distinct=True))
        .order_by("item", "author__kind")
    )
    for item, kind, authors in rows.iterator():
        counts.setdefault(item, []).append(f"{authors} {kind}")
    return {item: ", ".join(kinds) for item, kinds in counts.items()}


def _deciding(settlement: Settlement) -> SlotKind:
    """Whose words stand behind a decision: the adjudicator's, or those of the reviewers who agreed."""
    return SlotKind.ADJUDICATION if settlement.how == SettlementHow.ADJUDICATED else SlotKind.REVIEW


def _rationales_by_item(audit: Audit) -> dict[tuple[int, str], list[str]]:
    """Rationales by case and kind of answer, without names."""
    found: dict[tuple[int, str], list[str]] = {}
    standing = Review.objects.filter(item__queue=audit.queue, surplus=False, withdrawal=None).exclude(rationale="")
    for case, kind, rationale in standing.order_by("pk").values_list("item__case", "kind", "rationale").iterator():
        found.setdefault((case, kind), []).append(rationale)
    return found


def _drawn(audit: Audit) -> dict[int, tuple[int, int]]:
    rows = Draw.objects.filter(audit=audit).values_list("item", "stratum", "position")
    return {item: (stratum, position) for item, stratum, position in rows}


def anchors_write(audit: Audit, path: Path, kind: str) -> dict[str, Any]:
    """Write the anchors to a file; the counts come back, with what was left out and why."""
    anchors = lines_write(path, kind, anchor_lines(audit, kind))
    underspecified = standing_settlements(audit).filter(how=SettlementHow.UNDERSPECIFIED).count()
    return {"file": str(path), "anchors": anchors, "underspecified_items_without_anchor": underspecified}


def anchor_lines(audit: Audit, kind: str) -> Iterator[str]:
    """The file's rows, one after another. Refused, before the first, for a sealed holdout."""
    require_open(audit.comparison)
    return record_lines(kind, Anchor, anchors_of(audit))
