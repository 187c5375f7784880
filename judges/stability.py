"""Stability: what a judge changes by itself, when it is run again, shown another order, or other packaging.

Verdict changes only: whether a change was for the better, people say. Every count is of cases whose readings are valid
in both runs; where a reading became or ceased to be valid, that is counted beside it, never as a change of verdict.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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

    def summarised(self) -> Callable[[int], str | None]:
        """Gives the one verdict of a case that the compared run judged, by the rule declared beforehand; None: no
        verdict."""
        repeats = [one.reads for one in self.repeats]
        first = repeats[0]
        if self.rule == "first" or len(repeats) == 1:
            return lambda case: first[case].verdict
        return lambda case: majority([reads[case].verdict for reads in repeats])

    def as_dict(self, labels: Sequence[str]) -> dict[str, Any]:
        repeats, summarised = self.repeats, self.summarised()
        # Of a case: the verdict of the compared run, and that of all repeats together.
        verdicts = Counter((read.verdict, summarised(case)) for case, read in self.compared.reads.items())
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
                    "cases": verdicts.total(),
                    "without_verdict": sum(number for (_, verdict), number in verdicts.items() if verdict is None),
                    "other_than_compared": sum(
                        number
                        for (own, verdict), number in verdicts.items()
                        if verdict is not None and own is not None and verdict != own
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


class CaseReads(Mapping[int, ReadOf]):
    """How each case was read, taken in by ascending case: a dozen bytes for each, of which a dict takes a hundred."""

    def __init__(self) -> None:
        self._cases = array("q")
        self._codes = array("l")
        self._reads: dict[ReadOf, int] = {}  # there are few of them, each of many cases
        self._by_code: list[ReadOf] = []

    def add(self, case: int, read: ReadOf) -> None:
        code = self._reads.setdefault(read, len(self._reads))
        if code == len(self._by_code):
            self._by_code.append(read)
        self._cases.append(case)
        self._codes.append(code)

    def __getitem__(self, case: int) -> ReadOf:
        place = bisect_left(self._cases, case)
        if place == len(self._cases) or self._cases[place] != case:
            raise KeyError(case)
        return self._by_code[self._codes[place]]

    def __iter__(self) -> Iterator[int]:
        return iter(self._cases)

    def __len__(self) -> int:
        return len(self._cases)


@dataclass
class ComparedReads:
    """What the compared runs of a comparison said of each case, noted pair by pair, in the order of the cases."""

    old: CaseReads = field(default_factory=CaseReads)
    new: CaseReads = field(default_factory=CaseReads)
    eligible: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, pair: Pair) -> None:
        if pair.old is not None:
            self.old.add(pair.case_pk, ReadOf(pair.old.state, pair.old.verdict, None))
        if pair.new is not None:
            self.new.add(pair.case_pk, ReadOf(pair.new.state, pair.new.verdict, None))
        if pair.eligible:
            self.eligible.append(pair.case_pk)


def stability_of(comparison: Comparison, reads: ComparedReads, further: list[ComparisonRun]) -> dict[str, Any]:
    """The report on both sides, from what the comparison's pairs said and the further runs."""
    old = _side_runs(comparison, "old", reads.old, further)
    new = _side_runs(comparison, "new", reads.new, further)
    return {
        "summary_rule": comparison.repeat_summary,
        "sides": {side: runs.as_dict(comparison.labels) for side, runs in (("old", old), ("new", new))},
        "after_summary": _after_summary(reads.eligible, old.summarised(), new.summarised()),
    }


def _side_runs(comparison: Comparison, side: str, reads: CaseReads, further: list[ComparisonRun]) -> SideRuns:
    run, reader = getattr(comparison, f"{side}_run"), getattr(comparison, f"{side}_reader")
    return SideRuns(
        ReadRun(COMPARED, run, reader, reads),
        [
            ReadRun(one.role, one.run, one.reader, reads_of(one.run, one.reader, comparison.partition))
            for one in further
            if one.side == side
        ],
        comparison.repeat_summary,
    )


def _after_summary(
    eligible: Iterable[int], old: Callable[[int], str | None], new: Callable[[int], str | None]
) -> dict[str, int]:
    """How many verdicts differ between the sides once each side's repeats are summarised, over eligible pairs."""
    moves = Counter((old(case), new(case)) for case in eligible)
    decided = {move: number for move, number in moves.items() if None not in move}
    changed = sum(number for (one, other), number in decided.items() if one != other)
    return {"pairs": sum(decided.values()), "changed": changed}
