"""What only the records know about a comparison, beside its pairs: part of the integrity report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from judges.evidence import EvidenceOrders
from judges.integrity import LISTED
from judges.models import Comparison, ComparisonRun, Run
from judges.selectors import other_evidence, runs_of_same_file, same_material


@dataclass(frozen=True)
class Intake:
    """What became of the rows of each file, and how many rows were refused and how many cases left out with them,
    where somebody chose to take in the good ones only."""

    files: Sequence[dict[str, Any]] = ()
    refused_rows: int = 0
    cases_left_out: int = 0


NOTHING_KNOWN = Intake()


def recorded_of(
    comparison: Comparison, further: Iterable[ComparisonRun], intake: Intake = NOTHING_KNOWN
) -> dict[str, Any]:
    """What became of the rows of each file; evidence in another order; cases, and files, that stand twice."""
    old, new = comparison.old_run, comparison.new_run
    groups = same_material(old.system_version, comparison.partition)
    same_files = runs_of_same_file([old, new, *(one.run for one in further)], comparison.case_set)
    return {
        "files": list(intake.files),
        "refused": {"rows": intake.refused_rows, "cases": intake.cases_left_out},
        "other_evidence": {
            "old": _evidence(old, comparison.partition),
            "new": _evidence(new, comparison.partition),
        },
        "same_material": {
            "groups": len(groups),
            "cases": sum(map(len, groups)),
            "named": [group[:LISTED] for group in groups[:LISTED]],
        },
        "same_files": [[_named(run) for run in group] for group in same_files],
    }


def _evidence(run: Run, partition: str) -> dict[str, int]:
    orders = EvidenceOrders()
    for seen, pieces in other_evidence(run, partition):
        orders.add(seen, pieces)
    return orders.as_dict()


def _named(run: Run) -> str:
    return f"{run} (generator {run.generator.identity[:12]})"
