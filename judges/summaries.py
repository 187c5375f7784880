"""Both reports of a comparison as plain values: stored when it was opened, so that no page counts pairs."""

import json

from judges.holdouts import counts_only, is_sealed
from judges.integrity import integrity_of
from judges.models import Comparison, ComparisonSummary
from judges.pairing import Pair
from judges.selectors import pairs_of
from judges.transitions import transitions_of


def summary_made(comparison: Comparison, pairs: list[Pair]) -> ComparisonSummary:
    """Counted from the pairs, and not stored."""
    return ComparisonSummary(
        comparison=comparison,
        integrity_text=json.dumps(integrity_of(comparison, pairs).as_dict(), ensure_ascii=False),
        transitions_text=json.dumps(transitions_of(comparison, pairs).as_dict(), ensure_ascii=False),
    )


def summary_of(comparison: Comparison) -> ComparisonSummary:
    """As stored; counted anew for a comparison from before summaries were stored. That of a sealed holdout names no
    case."""
    stored = ComparisonSummary.objects.filter(comparison=comparison).first()
    summary = stored or summary_made(comparison, list(pairs_of(comparison)))
    return counts_only(summary) if is_sealed(comparison) else summary
