"""The reports of a comparison as plain values: stored when it was opened, so that no page counts pairs."""

import json
from collections.abc import Iterable

from judges.holdouts import counts_only, is_sealed
from judges.integrity import IntegrityReport
from judges.models import Comparison, ComparisonRun, ComparisonSummary
from judges.pairing import Pair
from judges.recorded import NOTHING_KNOWN, Intake, recorded_of
from judges.selectors import pairs_of
from judges.stability import ComparedReads, stability_of
from judges.transitions import TransitionReport


def summary_made(
    comparison: Comparison,
    pairs: Iterable[Pair],
    *,
    further: Iterable[ComparisonRun] | None = None,
    intake: Intake = NOTHING_KNOWN,
) -> ComparisonSummary:
    """Counted from the pairs, each looked at once, and the further runs, given or stored; and not stored."""
    if further is None:
        further = comparison.further_runs.select_related("run", "reader__mapping").order_by("pk")
    further = list(further)
    integrity, transitions, reads = IntegrityReport(comparison), TransitionReport(comparison), ComparedReads()
    for pair in pairs:
        integrity.add(pair)
        transitions.add(pair)
        reads.add(pair)
    reports = {
        "integrity_text": integrity.finished().as_dict() | {"recorded": recorded_of(comparison, further, intake)},
        "transitions_text": transitions.as_dict(),
        "stability_text": stability_of(comparison, reads, further),
    }
    texts = {name: json.dumps(report, ensure_ascii=False) for name, report in reports.items()}
    return ComparisonSummary(comparison=comparison, **texts)


def summary_of(comparison: Comparison) -> ComparisonSummary:
    """As stored; counted anew for a comparison from before summaries were stored, or held all of this. That of a sealed
    holdout names no case."""
    stored = ComparisonSummary.objects.filter(comparison=comparison).first()
    summary = stored if stored and stored.stability_text else summary_made(comparison, pairs_of(comparison))
    return counts_only(summary) if is_sealed(comparison) else summary
