"""Both reports of a comparison as plain values: stored when it was opened, so that no page counts pairs."""

import json

from judges.integrity import integrity_of
from judges.models import Comparison, ComparisonSummary
from judges.progress import Progress, silent
from judges.selectors import pairs_of
from judges.transitions import transitions_of


def summary_made(comparison: Comparison, progress: Progress = silent) -> ComparisonSummary:
    """Counted from the pairs, and not stored."""
    pairs = list(progress("counting pairs", pairs_of(comparison)))
    return ComparisonSummary(
        comparison=comparison,
        integrity_text=json.dumps(integrity_of(comparison, pairs).as_dict(), ensure_ascii=False),
        transitions_text=json.dumps(transitions_of(comparison, pairs).as_dict(), ensure_ascii=False),
    )


def summary_of(comparison: Comparison) -> ComparisonSummary:
    """As stored; counted anew for a comparison from before summaries were stored."""
    stored = ComparisonSummary.objects.filter(comparison=comparison).first()
    return stored or summary_made(comparison)
