"""Holdouts: what may be read of one, and when it was opened.

Until somebody opens it, a holdout is counted and never listed: whoever revises a judge, a prompt or a mapping must not
have read the cases on which the result is then called independent.
"""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from core.errors import Problem, Refused
from judges.models import Case, CaseSet, Comparison, ComparisonSummary, HoldoutOpening, Partition

UNNAMED = "(sealed)"


def opening_of(case_set: CaseSet) -> HoldoutOpening | None:
    return HoldoutOpening.objects.select_related("actor", "case_set").filter(case_set=case_set).first()


def is_sealed(comparison: Comparison) -> bool:
    """Whether the comparison's cases may be counted and not be read one by one."""
    return comparison.partition == Partition.HOLDOUT and opening_of(comparison.case_set) is None


def case_is_sealed(case: Case) -> bool:
    """The same of one case, where no comparison is at hand."""
    return case.partition == Partition.HOLDOUT and opening_of(case.case_set) is None


def require_open(comparison: Comparison) -> None:
    """Whatever names a case of the comparison asks this first."""
    if is_sealed(comparison):
        what = f"the holdout of {comparison.case_set} is sealed: its cases are counted, and none may be read"
        raise Refused(Problem(what, value=comparison.name, allowed="open the holdout for a reason, which retires it"))


@dataclass(frozen=True)
class HoldoutStatus:
    """What every page and report says of a holdout. The last three are blank while it is sealed."""

    case_set: str
    sealed: bool
    opened_at: datetime | None = None
    opened_by: str = ""
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"opened_at": self.opened_at.isoformat() if self.opened_at else None}

    @property
    def words(self) -> str:
        if self.opened_at is None:
            return f"Holdout of {self.case_set}: sealed. Its cases are counted, and none is shown."
        when = f"{self.opened_at:%Y-%m-%d %H:%M} UTC"
        return f"Holdout of {self.case_set}: opened {when} by {self.opened_by}, and retired. Reason: {self.reason}"


def holdout_of(comparison: Comparison) -> HoldoutStatus | None:
    """None where the comparison is not on a holdout, and that of its case set has not been opened either."""
    opening = opening_of(comparison.case_set)
    if opening is not None:
        return HoldoutStatus(str(comparison.case_set), False, opening.at, opening.actor.pseudonym, opening.reason)
    return HoldoutStatus(str(comparison.case_set), True) if comparison.partition == Partition.HOLDOUT else None


def counts_only(summary: ComparisonSummary) -> ComparisonSummary:
    """The reports of a sealed comparison, without what they say of single cases. Not stored."""
    integrity, transitions = summary.integrity, summary.transitions
    integrity |= {"cases_named": {}}
    integrity["recorded"]["same_material"]["named"] = []
    for side in ("old", "new"):
        integrity[side]["unmapped_labels"] = {}  # a label may be a whole response
    unnamed: list[dict[str, Any]] = [change | {"case_id": UNNAMED} for change in transitions["blocking_changes"]]
    transitions["blocking_changes"] = unnamed
    return ComparisonSummary(
        comparison=summary.comparison,
        integrity_text=json.dumps(integrity, ensure_ascii=False),
        transitions_text=json.dumps(transitions, ensure_ascii=False),
        stability_text=summary.stability_text,
    )
