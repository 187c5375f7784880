"""Transitions: how verdicts moved from the old side to the new one. Machines only; no label is known here."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from judges.models import Comparison
from judges.pairing import Pair
from judges.selectors import pairs_of


@dataclass
class Matrix:
    """Counts of (old verdict, new verdict) over eligible pairs."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def pairs(self) -> int:
        return self.counts.total()

    @property
    def changed(self) -> int:
        return sum(number for (old, new), number in self.counts.items() if old != new)

    def rows(self, labels: list[str]) -> list[list[int]]:
        """Old on rows, new on columns, in the order of the scale."""
        return [[self.counts[old, new] for new in labels] for old in labels]


@dataclass
class TransitionReport:
    comparison: Comparison
    ineligible: int = 0
    whole: Matrix = field(default_factory=Matrix)
    slices: dict[str, dict[str, Matrix]] = field(init=False)
    blocking: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.slices = {name: {} for name in self.comparison.slices}

    def add(self, pair: Pair) -> None:
        if not pair.eligible:
            self.ineligible += 1
            return
        move = pair.verdicts
        self.whole.counts[move] += 1
        for name in self.comparison.slices:
            self.slices[name].setdefault(pair.slices.get(name, ""), Matrix()).counts[move] += 1
        if is_blocking(self.comparison, pair):
            hit = blocking_slice(self.comparison.blocking_slices, pair.slices)
            self.blocking.append({"slice": hit, "case_id": pair.case_id, "old": move[0], "new": move[1]})

    def as_dict(self) -> dict[str, Any]:
        return {
            "labels": list(self.comparison.labels),
            "ineligible": self.ineligible,
            "all": self._matrix(self.whole),
            "slices": {
                name: {value: self._matrix(matrix) for value, matrix in sorted(values.items())}
                for name, values in self.slices.items()
            },
            "blocking_changes": self.blocking,
        }

    def _matrix(self, matrix: Matrix) -> dict[str, Any]:
        return {"pairs": matrix.pairs, "changed": matrix.changed, "counts": matrix.rows(self.comparison.labels)}


def transitions_of(comparison: Comparison, pairs: Iterable[Pair] | None = None) -> TransitionReport:
    """Matrices over all eligible pairs and by slice, and every changed decision in a blocking slice."""
    report = TransitionReport(comparison)
    for pair in pairs_of(comparison) if pairs is None else pairs:
        report.add(pair)
    return report


def is_blocking(comparison: Comparison, pair: Pair) -> bool:
    """Whether the verdict of an eligible pair changed in a blocking slice."""
    if not comparison.blocking_slices or not pair.eligible or pair.verdicts[0] == pair.verdicts[1]:
        return False
    return bool(blocking_slice(comparison.blocking_slices, pair.slices))


def blocking_slice(blocking: Iterable[str], slices: dict[str, str]) -> str:
    """The first blocking slice, written `name=value`, that a case is in; empty if none."""
    for named in blocking:
        name, _, value = named.partition("=")
        if slices.get(name) == value:
            return named
    return ""
