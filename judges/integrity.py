"""The integrity report: whether the verdicts may be compared at all. It comes before any rate."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from judges.models import Comparison, Partition, ProvenanceMark, ReadingState
from judges.pairing import ELIGIBLE, Pair, PairState, SideReading
from judges.selectors import pairs_of

LISTED = 20  # cases named per fault; the counts are always whole


@dataclass
class SideReport:
    """One side over all cases: how many have a judgment, and in which state its reading is."""

    judged: int = 0
    missing: int = 0
    states: Counter[str] = field(default_factory=Counter)
    provenance: Counter[str] = field(default_factory=Counter)
    raw_labels: Counter[str] = field(default_factory=Counter)
    unmapped_labels: Counter[str] = field(default_factory=Counter)

    def add(self, side: SideReading | None) -> None:
        if side is None:
            self.missing += 1
            return
        self.judged += 1
        self.states[side.state] += 1
        self.provenance[side.provenance] += 1
        # A stale reading's label was never held against the mapping.
        if side.state in (ReadingState.VALID, ReadingState.UNMAPPED):
            self.raw_labels[side.raw_label] += 1
        if side.state == ReadingState.UNMAPPED:
            self.unmapped_labels[side.raw_label] += 1

    def as_dict(self) -> dict[str, Any]:
        return {
            "judged": self.judged,
            "missing": self.missing,
            "states": {state: self.states[state] for state in ReadingState.values},
            "provenance": {mark: self.provenance[mark] for mark in ProvenanceMark.values},
            "unmapped_labels": dict(self.unmapped_labels),
            "labels_seen": len(self.raw_labels),
            "labels_mapped": len(self.raw_labels) - len(self.unmapped_labels),
        }


@dataclass
class IntegrityReport:
    """Counts over every case of the partition; `failures` are the manifest's rules that do not hold."""

    cases: int = 0
    old: SideReport = field(default_factory=SideReport)
    new: SideReport = field(default_factory=SideReport)
    pairs: Counter[PairState] = field(default_factory=Counter)
    examples: dict[PairState, list[str]] = field(default_factory=dict)
    same_content: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def eligible(self) -> int:
        return sum(self.pairs[state] for state in ELIGIBLE)

    @property
    def passed(self) -> bool:
        return not self.failures

    def add(self, pair: Pair) -> None:
        self.cases += 1
        self.old.add(pair.old)
        self.new.add(pair.new)
        self.pairs[pair.state] += 1
        self.same_content += pair.same_content
        if not pair.eligible:
            named = self.examples.setdefault(pair.state, [])
            if len(named) < LISTED:
                named.append(pair.case_id)

    def as_dict(self) -> dict[str, Any]:
        return {
            "cases": self.cases,
            "eligible": self.eligible,
            "old": self.old.as_dict(),
            "new": self.new.as_dict(),
            "pairs": {state.value: self.pairs[state] for state in PairState},
            "cases_named": {state.value: ids for state, ids in self.examples.items()},
            "same_content": self.same_content,
            "passed": self.passed,
            "failures": self.failures,
        }


def integrity_of(comparison: Comparison, pairs: Iterable[Pair] | None = None) -> IntegrityReport:
    """The report, from the pairs given or from those of the comparison."""
    report = IntegrityReport()
    for pair in pairs_of(comparison) if pairs is None else pairs:
        report.add(pair)
    missing = report.pairs[PairState.MISSING]
    unmapped = report.old.unmapped_labels + report.new.unmapped_labels
    if comparison.rules["fail_on_missing_pair"] and missing:
        report.failures.append(f"fail_on_missing_pair: {missing} of {report.cases} cases lack a judgment on a side")
    if comparison.rules["fail_on_unmapped_label"] and unmapped:
        # A label may be a whole response, and this sentence is shown of a sealed holdout too.
        sealed = comparison.partition == Partition.HOLDOUT
        labels = "labels no table holds" if sealed else "the labels " + ", ".join(map(repr, sorted(unmapped)))
        report.failures.append(f"fail_on_unmapped_label: {sum(unmapped.values())} judgments have {labels}")
    if not report.eligible:
        report.failures.append("no pair is eligible")
    return report
