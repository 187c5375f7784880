"""The integrity report: whether the verdicts may be compared at all. It comes before any rate.

It follows from the pairs alone, so that whoever has them can count it again; `judges.recorded` adds what only the
records know.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from core.errors import shortened
from judges.associations import SIGNIFICANT, Outlier, far_below, goes_with
from judges.intake.rows import LENGTH_BAND
from judges.models import CacheState, Comparison, Partition, ProvenanceMark, ReadingState
from judges.pairing import ELIGIBLE, Pair, PairState, SideReading
from judges.selectors import pairs_of

LISTED = 20  # cases, or labels, named per fault; the counts are always whole
MOST_LABELS = 100  # without a target, listed of a side
FAULTS = (ReadingState.UNPARSED, ReadingState.UNMAPPED, ReadingState.STALE)


@dataclass
class SideReport:
    """One side over all cases: how many have a judgment, in which state its reading is, and what those took that say
    so (`spent`: of each kind the judgments that say it, and their sum)."""

    judged: int = 0
    missing: int = 0
    states: Counter[str] = field(default_factory=Counter)
    provenance: Counter[str] = field(default_factory=Counter)
    labels_seen: set[int] = field(default_factory=set)  # hashes: a label may be a whole response
    unmapped: set[int] = field(default_factory=set)
    unmapped_labels: Counter[str] = field(default_factory=Counter)  # their beginnings, no more than MOST_LABELS
    cached: int = 0
    stale_from_cache: int = 0
    spent: dict[str, tuple[int, float]] = field(default_factory=dict)

    def add(self, side: SideReading | None) -> None:
        if side is None:
            self.missing += 1
            return
        self.judged += 1
        self.states[side.state] += 1
        self.provenance[side.provenance] += 1
        if side.cache == CacheState.CACHED:
            self.cached += 1
            self.stale_from_cache += side.state == ReadingState.STALE
        for kind, amount in (("tokens", side.tokens), ("cost", side.cost)):
            if amount is not None:
                number, total = self.spent.get(kind, (0, 0))
                self.spent[kind] = (number + 1, total + amount)
        # A stale reading's label was never held against the mapping.
        if side.state in (ReadingState.VALID, ReadingState.UNMAPPED):
            self.labels_seen.add(hash(side.raw_label))
        if side.state == ReadingState.UNMAPPED:
            self._add_unmapped(side.raw_label)

    def _add_unmapped(self, label: str) -> None:
        self.unmapped.add(hash(label))
        beginning = shortened(label)
        if beginning in self.unmapped_labels or len(self.unmapped_labels) < MOST_LABELS:
            self.unmapped_labels[beginning] += 1

    def as_dict(self) -> dict[str, Any]:
        return {
            "judged": self.judged,
            "missing": self.missing,
            "states": {state: self.states[state] for state in ReadingState.values},
            "provenance": {mark: self.provenance[mark] for mark in ProvenanceMark.values},
            "unmapped_labels": dict(self.unmapped_labels),
            "labels_seen": len(self.labels_seen),
            "labels_mapped": len(self.labels_seen) - len(self.unmapped),
            "cached": self.cached,
            "stale_from_cache": self.stale_from_cache,
            "spent": {kind: {"judgments": number, "total": total} for kind, (number, total) in self.spent.items()},
        }


@dataclass
class SliceCounts:
    """One value of a slice: its cases, those that lack a judgment, and each side's readings without a verdict."""

    cases: int = 0
    missing: int = 0
    eligible: int = 0
    agreeing: int = 0
    judged: Counter[str] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, state: PairState, old: str | None, new: str | None, number: int) -> None:
        self.cases += number
        self.missing += number * (state == PairState.MISSING)
        self.eligible += number * (state in ELIGIBLE)
        self.agreeing += number * (state == PairState.AGREE)
        for name, reading in (("old", old), ("new", new)):
            if reading is not None:
                self.judged[name] += number
                self.faults[name, reading] += number

    def as_dict(self) -> dict[str, Any]:
        sides = {
            name: {"judged": self.judged[name]} | {state.value: self.faults[name, state] for state in FAULTS}
            for name in ("old", "new")
        }
        return {"cases": self.cases, "missing": self.missing} | sides


@dataclass
class IntegrityReport:
    """Counts over every case of the partition, pair by pair, so that none need be kept; `failures` are the manifest's
    rules that do not hold."""

    comparison: Comparison
    cases: int = 0
    old: SideReport = field(default_factory=SideReport)
    new: SideReport = field(default_factory=SideReport)
    pairs: Counter[PairState] = field(default_factory=Counter)
    examples: dict[PairState, list[str]] = field(default_factory=dict)
    same_content: int = 0
    measured: bool = False  # whether the length of an output is known anywhere
    kinds: Counter[tuple[str, str, tuple[PairState, str | None, str | None]]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def eligible(self) -> int:
        return sum(self.pairs[state] for state in ELIGIBLE)

    @cached_property
    def counted(self) -> list[str]:
        return list(dict.fromkeys([*self.comparison.slices, LENGTH_BAND]))

    @property
    def dimensions(self) -> list[str]:
        """The declared slices, and the length of the output wherever it is known."""
        return self.counted if self.measured else list(self.comparison.slices)

    @cached_property
    def slices(self) -> dict[str, dict[str, SliceCounts]]:
        """By slice and value; to be asked once every pair is in."""
        found: dict[str, dict[str, SliceCounts]] = {name: {} for name in self.dimensions}
        for (name, value, kind), number in self.kinds.items():
            if name in found:
                found[name].setdefault(value, SliceCounts()).add(*kind, number)
        return found

    @cached_property
    def missing_by_slice(self) -> list[dict[str, Any]]:
        return [self._missing_by(name) for name in self.dimensions]

    @property
    def passed(self) -> bool:
        return not self.failures

    def add(self, pair: Pair) -> None:
        self.cases += 1
        self.old.add(pair.old)
        self.new.add(pair.new)
        self.pairs[pair.state] += 1
        self.same_content += pair.same_content
        kind = (pair.state, pair.old and pair.old.state, pair.new and pair.new.state)
        self.measured = self.measured or LENGTH_BAND in pair.slices
        for name in self.counted:
            self.kinds[name, pair.slices.get(name, ""), kind] += 1
        if not pair.eligible:
            named = self.examples.setdefault(pair.state, [])
            if len(named) < LISTED:
                named.append(pair.case_id)

    def finished(self) -> "IntegrityReport":
        """With warnings and failures, once every pair is in."""
        self._warn()
        _hold_to_rules(self, self.comparison)
        return self

    def as_dict(self) -> dict[str, Any]:
        return {
            "cases": self.cases,
            "eligible": self.eligible,
            "old": self.old.as_dict(),
            "new": self.new.as_dict(),
            "pairs": {state.value: self.pairs[state] for state in PairState},
            "cases_named": {state.value: ids for state, ids in self.examples.items()},
            "same_content": self.same_content,
            "slices": {
                name: {value: counts.as_dict() for value, counts in sorted(values.items())}
                for name, values in self.slices.items()
            },
            "missing_by_slice": self.missing_by_slice,
            "passed": self.passed,
            "failures": self.failures,
            "warnings": self.warnings,
        }

    def _missing_by(self, name: str) -> dict[str, Any]:
        """Whether what is missing goes with the values of a slice: then what is left is another population."""
        found = goes_with({value: (counts.missing, counts.cases) for value, counts in self.slices[name].items()})
        tested = max(1, len(self.slices))
        return {
            "slice": name,
            "values": len(self.slices[name]),
            "statistic": found.statistic,
            "p_value": found.p_value,
            "goes_with": None if found.p_value is None else found.p_value <= SIGNIFICANT / tested,
            "reason": found.reason,
        }

    def _warn(self) -> None:
        """What no rule of the manifest forbids, and a reader has to know before any rate."""
        self.warnings += [
            f"missing judgments go with {one['slice']} (p = {one['p_value']:.4f}): what is left is not the whole"
            for one in self.missing_by_slice
            if one["goes_with"]
        ]
        if self.comparison.is_swap:
            for name, values in self.slices.items():
                groups = {value: (one.agreeing, one.eligible) for value, one in values.items()}
                self.warnings += [
                    outlier_words("the two judges' columns agree", f"{name}={one.group or '(none)'}", one)
                    for one in far_below(groups)
                ]


def outlier_words(columns: str, where: str, found: Outlier) -> str:
    return (
        f"{columns} far less in {where} than elsewhere: {found.share * 100:.1f} % of {found.cases} cases against "
        f"{found.others * 100:.1f} %; look for a column that was shifted or joined wrongly"
    )


def integrity_of(comparison: Comparison, pairs: Iterable[Pair] | None = None) -> IntegrityReport:
    """The report, from the pairs given or from those of the comparison."""
    report = IntegrityReport(comparison)
    for pair in pairs_of(comparison) if pairs is None else pairs:
        report.add(pair)
    return report.finished()


def _hold_to_rules(report: IntegrityReport, comparison: Comparison) -> None:
    missing = report.pairs[PairState.MISSING]
    unmapped = report.old.states[ReadingState.UNMAPPED] + report.new.states[ReadingState.UNMAPPED]
    if comparison.rules["fail_on_missing_pair"] and missing:
        report.failures.append(f"fail_on_missing_pair: {missing} of {report.cases} cases lack a judgment on a side")
    if comparison.rules["fail_on_unmapped_label"] and unmapped:
        # A label may be a whole response, and this sentence is shown of a sealed holdout too.
        sealed = comparison.partition == Partition.HOLDOUT
        labels = "labels no table holds" if sealed else f"the labels {_unmapped_words(report)}"
        report.failures.append(f"fail_on_unmapped_label: {unmapped} judgments have {labels}")
    if not report.eligible:
        report.failures.append("no pair is eligible")


def _unmapped_words(report: IntegrityReport) -> str:
    listed = sorted(report.old.unmapped_labels | report.new.unmapped_labels)[:LISTED]
    more = len(report.old.unmapped | report.new.unmapped) - len(listed)
    return ", ".join(map(repr, listed)) + (f" and {more:,} more" if more > 0 else "")
