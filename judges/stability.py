"""Stability: what a judge changes by itself, when it is run again, shown another order, or other packaging.

Verdict changes only: whether a change was for the better, people say. Every count is of cases whose readings are valid
in both runs; where a reading became or ceased to be valid, that is counted beside it, never as a change of verdict.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from judges.models import Comparison, ComparisonRun, Reader, ReadingState, Run, RunRole
from judges.pairing import Pair
from judges.selectors import ReadOf, reads_of

COMPARED = "compared"


@dataclass
class ReadRun:
    """One run of a side as its reader reads it: case -> what was read."""

    role: str
    run: Run
    reader: Reader
    reads: Mapping[int, ReadOf]
    selective: bool = False

    @property
    def name(self) -> str:
        """Unique on its side, because the number is."""
        shown = {RunRole.ORDER_PROBE: self.run.presentation_order, RunRole.EVIDENCE_PROBE: self.run.packaging}
        how = shown.get(self.role)  # type: ignore[call-overload]
        return f"run {self.run.ordinal}" + (f" ({how})" if how else "")

    def as_dict(self) -> dict[str, Any]:
        states = Counter(read.state for read in self.reads.values())
        return {
            "name": self.name,
            "role": str(self.role),
            "presentation_order": self.run.presentation_order,
            "packaging": self.run.packaging,
            "reader": str(self.reader),
            "judged": len(self.reads),
            "states": {state: states[state] for state in ReadingState.values},
            "selective": self.selective,
        }


@dataclass
class SideRuns:
    """A side's compared run, and the further ones. A repeat is selective where it lacks a case that the compared
    run judged: which rows were run again may have to do with their answers, so it is left out."""

    compared: ReadRun
    further: list[ReadRun]
    rule: str

    def __post_init__(self) -> None:
        for one in self.further:
            one.selective = not self.compared.reads.keys() <= one.reads.keys()

    @property
    def repeats(self) -> list[ReadRun]:
        """In the order of their numbers, the compared run among them, without the selective ones."""
        whole = [one for one in self.further if one.role == RunRole.REPEAT and not one.selective]
        return sorted([self.compared, *whole], key=lambda one: one.run.ordinal)

    @cached_property
    def summarised(self) -> dict[int, str | None]:
        """One verdict per case that the compared run judged, by the rule declared beforehand; None: no verdict."""
        repeats = [one.reads for one in self.repeats]
        if self.rule == "first" or len(repeats) == 1:
            return {case: repeats[0][case].verdict for case in self.compared.reads}
        return {case: majority([reads[case].verdict for reads in repeats]) for case in self.compared.reads}

    def as_dict(self, labels: Sequence[str]) -> dict[str, Any]:
        repeats, summary = self.repeats, self.summarised
        own = {case: read.verdict for case, read in self.compared.reads.items()}
        probes = {
            role: [probe_counts(self.compared, one, labels) for one in self.further if one.role == role]
            for role in (RunRole.ORDER_PROBE, RunRole.EVIDENCE_PROBE)
        }
        return {
            "runs": [one.as_dict() for one in (self.compared, *self.further)],
            "repeats": {
                "runs": [one.name for one in repeats],
                "selective": [one.name for one in self.further if one.selective and one.role == RunRole.REPEAT],
                "pairs": [
                    {"first": one.name, "second": other.name, **change_counts(one.reads, other.reads)}
                    for one, other in combinations(repeats, 2)
                ],
                "summarised": {
                    "cases": len(summary),
                    "without_verdict": sum(verdict is None for verdict in summary.values()),
                    "other_than_compared": sum(
                        verdict is not None and own[case] is not None and verdict != own[case]
                        for case, verdict in summary.items()
                    ),
                },
            },
            "order_probes": probes[RunRole.ORDER_PROBE],
            "evidence_probes": probes[RunRole.EVIDENCE_PROBE],
        }


def majority(verdicts: Sequence[str | None]) -> str | None:
    """The verdict of more than half of the repeats, those without a verdict counted; else None."""
    return next((one for one in set(verdicts) if verdicts.count(one) * 2 > len(verdicts)), None)


def change_counts(one: Mapping[int, ReadOf], other: Mapping[int, ReadOf]) -> dict[str, int]:
    """Over the cases judged in both: how many are valid in both, and of these how many verdicts differ."""
    both_valid = changed = validity = 0
    for case, read in one.items():
        again = other.get(case)
        if again is None:
            continue
        if read.verdict is None or again.verdict is None:
            validity += (read.verdict is None) != (again.verdict is None)
            continue
        both_valid += 1
        changed += read.verdict != again.verdict
    return {"both_valid": both_valid, "changed": changed, "validity_changed": validity}


def probe_counts(compared: ReadRun, probe: ReadRun, labels: Sequence[str]) -> dict[str, Any]:
    """A probe against the compared run, with the whole matrix: compared on rows, probe on columns."""
    moves: Counter[tuple[str | None, str | None]] = Counter(
        (read.verdict, probe.reads[case].verdict) for case, read in compared.reads.items() if case in probe.reads
    )
    seen = [read.evidence_agrees for read in probe.reads.values() if read.evidence_agrees is not None]
    return {
        "run": probe.name,
        "selective": probe.selective,
        "judged": len(probe.reads),
        **change_counts(compared.reads, probe.reads),
        "counts": [[moves[old, new] for new in labels] for old in labels],
        "evidence_recorded": len(seen),
        "evidence_differs": seen.count(False),
    }


def stability_of(comparison: Comparison, pairs: list[Pair], further: list[ComparisonRun]) -> dict[str, Any]:
    """The report on both sides, from the comparison's pairs and the further runs."""
    sides = {side: _side_runs(comparison, side, pairs, further) for side in ("old", "new")}
    return {
        "summary_rule": comparison.repeat_summary,
        "sides": {side: runs.as_dict(comparison.labels) for side, runs in sides.items()},
        "after_summary": _after_summary(pairs, sides["old"].summarised, sides["new"].summarised),
    }


def _side_runs(comparison: Comparison, side: str, pairs: list[Pair], further: list[ComparisonRun]) -> SideRuns:
    own = {pair.case_pk: read for pair in pairs if (read := getattr(pair, side)) is not None}
    run, reader = getattr(comparison, f"{side}_run"), getattr(comparison, f"{side}_reader")
    return SideRuns(
        ReadRun(COMPARED, run, reader, {case: ReadOf(read.state, read.verdict, None) for case, read in own.items()}),
        [
            ReadRun(one.role, one.run, one.reader, reads_of(one.run, one.reader, comparison.partition))
            for one in further
            if one.side == side
        ],
        comparison.repeat_summary,
    )


def _after_summary(pairs: list[Pair], old: Mapping[int, str | None], new: Mapping[int, str | None]) -> dict[str, int]:
    """How many verdicts differ between the sides once each side's repeats are summarised, over eligible pairs."""
    moves = [(old.get(pair.case_pk), new.get(pair.case_pk)) for pair in pairs if pair.eligible]
    decided = [(one, other) for one, other in moves if one is not None and other is not None]
    return {"pairs": len(decided), "changed": sum(one != other for one, other in decided)}
