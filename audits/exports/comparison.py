"""The reports of a comparison as rows for templates and charts, cut to what a page can hold: report.json has all."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from audits.models import Audit
from audits.selectors import column_warnings_of
from audits.templatetags.figures import percent
from judges.models import ReadingState
from judges.summaries import summary_of

MOST_MOVES = 6
MOST_BARS = 8
FAULTS = (ReadingState.UNPARSED, ReadingState.UNMAPPED, ReadingState.STALE)


@dataclass(frozen=True)
class Change:
    """One share of changed verdicts, of the pairs that are valid on both ends."""

    group: str
    name: str
    changed: int
    pairs: int
    note: str = ""

    @property
    def share(self) -> float | None:
        return self.changed / self.pairs if self.pairs else None


def comparison_tables(
    integrity: dict[str, Any],
    transitions: dict[str, Any],
    stability: dict[str, Any],
    *,
    most: int,
    columns: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything that the parts of a page or report about the comparison take, at most so many rows a table."""
    return {
        **integrity_tables(integrity, stability, values=most, columns=columns),
        "transitions": transition_tables(transitions, changes=most, values=most),
        "own_changes": stability_changes(stability),
        "floor_words": floor_words(transitions, stability),
        "probes": probe_tables(stability, transitions["labels"]),
    }


def transition_tables(transitions: dict[str, Any], *, changes: int, values: int) -> dict[str, Any]:
    """The transitions as rows, with at most so many blocking changes and values of a slice.

    Of a slice with more values, those with the most changed verdicts are kept; of the ways a verdict can change, the
    commonest have a column.
    """
    labels, blocking = transitions["labels"], transitions["blocking_changes"]
    moves = _moves(labels, transitions["all"]["counts"])
    slices = [
        {
            "name": name,
            "values": [
                (value, matrix, Change(name, value, matrix["changed"], matrix["pairs"]), _counts(labels, matrix, moves))
                for value, matrix in _most(found, values, lambda matrix: matrix["changed"])
            ],
            "all": len(found),
        }
        for name, found in transitions["slices"].items()
    ]
    return transitions | {
        "rows": list(zip(labels, transitions["all"]["counts"], strict=True)),
        "moves": [f"{old} → {new}" for old, new in moves],
        "slices": slices,
        "blocking_changes": blocking[:changes],
        "all_blocking": len(blocking),
    }


def _moves(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> list[tuple[str, str]]:
    found = Counter(
        {(old, new): counts[i][j] for i, old in enumerate(labels) for j, new in enumerate(labels) if i != j}
    )
    return [move for move, number in found.most_common(MOST_MOVES) if number]


def _counts(labels: list[str], matrix: Mapping[str, Any], moves: Iterable[tuple[str, str]]) -> list[int]:
    return [matrix["counts"][labels.index(old)][labels.index(new)] for old, new in moves]


def _most(found: Mapping[str, Any], most: int, size: Any) -> list[tuple[str, Any]]:
    if len(found) <= most:
        return list(found.items())
    return sorted(found.items(), key=lambda one: -size(one[1]))[:most]


@dataclass(frozen=True)
class Spent:
    """What the judgments of each side took, as far as it was recorded: how many say so, and their sum."""

    kind: str
    old: Mapping[str, float]
    new: Mapping[str, float]

    @property
    def old_each(self) -> float | None:
        return _each(self.old)

    @property
    def new_each(self) -> float | None:
        return _each(self.new)

    @property
    def words(self) -> str:
        """The change per judgment: whole runs may differ in how many judgments say what they took."""
        old, new = self.old_each, self.new_each
        if old is None or new is None:
            return "one side does not say"
        if not old:
            return "the old side took none"
        return f"{new / old:.2f} times the old side's"


def _each(spent: Mapping[str, float]) -> float | None:
    return spent["total"] / spent["judgments"] if spent["judgments"] else None


def integrity_warnings(integrity: dict[str, Any], columns: Sequence[str] = ()) -> list[str]:
    """What no rule of the manifest forbids, and a reader has to know before any rate; `columns` are the warnings
    about columns of label files."""
    same = [
        f"read from the same bytes in the same way: {', '.join(one)}" for one in integrity["recorded"]["same_files"]
    ]
    return [*_left_out(integrity["recorded"].get("refused")), *integrity["warnings"], *columns, *same]


def _left_out(refused: dict[str, int] | None) -> list[str]:
    """`refused` is absent in a report from before rows could be left out."""
    if not refused or not refused["rows"]:
        return []
    rows, cases = refused["rows"], refused["cases"]
    what = f"{rows:,} row{' was' if rows == 1 else 's were'} refused and left out of this audit"
    return [f"{what}, and {cases:,} case{'' if cases == 1 else 's'} with {'it' if rows == 1 else 'them'}"]


INTEGRITY_FACTS = ("cases", "eligible", "passed")


def integrity_state(audit: Audit) -> dict[str, Any]:
    """The integrity report in four facts: they stand before every rate of an audit, wherever it is shown."""
    integrity = summary_of(audit.comparison).integrity
    warnings = integrity_warnings(integrity, column_warnings_of(audit))
    return {name: integrity[name] for name in INTEGRITY_FACTS} | {"warnings": len(warnings)}


def integrity_words(state: dict[str, Any]) -> str:
    rules = "the rules of the manifest hold" if state["passed"] else "a rule of the manifest does not hold"
    number = state.get("warnings", 0)  # in a list of audits they are not counted
    warnings = f", {number:,} warning{'' if number == 1 else 's'}" if number else ""
    return f"Integrity: {state['eligible']:,} of {state['cases']:,} cases are eligible, {rules}{warnings}"


def integrity_tables(
    integrity: dict[str, Any], stability: dict[str, Any], *, values: int, columns: Sequence[str] = ()
) -> dict[str, Any]:
    """The integrity report's warnings, and its tables by slice and by run."""
    tests = {one["slice"]: one for one in integrity["missing_by_slice"]}
    return {
        "warnings": integrity_warnings(integrity, columns),
        "spent": spent_rows(integrity),
        "slice_faults": [
            {"name": name, "values": _most(found, values, _faults), "all": len(found), "test": tests[name]}
            for name, found in integrity["slices"].items()
        ],
        "runs": [
            (side, run)
            for side, report in stability["sides"].items()
            for run in report["runs"]
            if len(report["runs"]) > 1
        ],
    }


def spent_rows(integrity: dict[str, Any]) -> list[Spent]:
    """What each side took, of the kinds that one of them recorded. Reports of earlier versions say nothing of it."""
    sides = [integrity[side].get("spent", {}) for side in ("old", "new")]
    return [
        Spent(kind, *(found.get(kind, {"judgments": 0, "total": 0.0}) for found in sides))
        for kind in ("tokens", "cost")
        if any(kind in found for found in sides)
    ]


def _faults(counts: Mapping[str, Any]) -> int:
    return int(counts["missing"] + sum(counts[side][state] for side in ("old", "new") for state in FAULTS))


def stability_changes(stability: dict[str, Any]) -> list[Change]:
    """What each side's judge changes by itself: run again, in another order, over other evidence."""
    changes = []
    for side, report in stability["sides"].items():
        changes += [
            _own(f"{side} judge, run again", f"{pair['first']}, {pair['second']}", pair)
            for pair in report["repeats"]["pairs"]
        ]
        for kind, key in (("another order", "order_probes"), ("other evidence", "evidence_probes")):
            changes += [
                _own(f"{side} judge, {kind}", f"{report['runs'][0]['name']}, {probe['run']}", probe)
                for probe in report[key]
            ]
    return changes


def _own(group: str, name: str, counts: Mapping[str, Any]) -> Change:
    notes = []
    if counts["validity_changed"]:
        notes.append(f"{counts['validity_changed']} became or ceased to be valid")
    if counts.get("selective"):
        notes.append("covers only some of the cases")
    if counts.get("evidence_recorded"):
        notes.append(f"other evidence seen in {counts['evidence_differs']} of {counts['evidence_recorded']}")
    return Change(group, name, counts["changed"], counts["both_valid"], "; ".join(notes))


def floor_words(transitions: dict[str, Any], stability: dict[str, Any]) -> list[str]:
    """What the further runs say, in sentences. A rerun floor comes from repeats only."""
    words = []
    for side, report in stability["sides"].items():
        words += _rerun_words(side, report, transitions["all"])
        for kind, key in (("Order sensitivity", "order_probes"), ("Evidence probe", "evidence_probes")):
            words += [
                f"{kind} of the {side} judge, {probe['run']}: {_share(probe['changed'], probe['both_valid'])} of "
                f"{probe['both_valid']:,} verdicts changed."
                for probe in report[key]
            ]
    return [*words, *_summary_words(stability, transitions["all"])]


def _rerun_words(side: str, report: Mapping[str, Any], whole: Mapping[str, Any]) -> list[str]:
    repeats = report["repeats"]
    words = []
    if repeats["selective"]:
        names = ", ".join(repeats["selective"])
        words.append(f"Left out of the rerun floor of the {side} judge, because of some cases only: {names}.")
    shares = [pair["changed"] / pair["both_valid"] for pair in repeats["pairs"] if pair["both_valid"]]
    if not shares:
        return words
    least, most = percent(min(shares)), percent(max(shares))
    found = most if len(shares) == 1 else f"{least} to {most}, median {percent(median(shares))},"
    words.append(
        f"Rerun floor of the {side} judge: {found} of verdicts changed, over {len(shares)} "
        f"pair{'' if len(shares) == 1 else 's'} of {len(repeats['runs'])} runs."
    )
    if whole["pairs"]:
        change = whole["changed"] / whole["pairs"]
        where = "is not distinguishable from" if change <= max(shares) else "is above"
        words.append(f"The verdict change rate between the sides, {percent(change)}, {where} what a rerun changes.")
    return words


def _summary_words(stability: Mapping[str, Any], whole: Mapping[str, Any]) -> list[str]:
    if not any(report["repeats"]["pairs"] for report in stability["sides"].values()):
        return []
    after, rule = stability["after_summary"], stability["summary_rule"]
    without = sum(report["repeats"]["summarised"]["without_verdict"] for report in stability["sides"].values())
    return [
        f"With repeats summarised as declared ({rule}), {after['changed']:,} of {after['pairs']:,} verdicts differ "
        f"between the sides, against {whole['changed']:,} of {whole['pairs']:,}; {without:,} summaries have no verdict."
    ]


def probe_tables(stability: dict[str, Any], labels: Sequence[str]) -> list[dict[str, Any]]:
    """Each probe's matrix against the compared run."""
    return [
        {
            "caption": f"{side} judge, {probe['run']}",
            "rows": list(zip(labels, probe["counts"], strict=True)),
            "matrix": {"changed": probe["changed"], "pairs": probe["both_valid"]},
        }
        for side, report in stability["sides"].items()
        for probe in (*report["order_probes"], *report["evidence_probes"])
    ]


def change_rows(transitions: dict[str, Any], stability: dict[str, Any]) -> list[Change]:
    """What the chart draws: every share of the tables, of a slice with many values those with the most changes."""
    whole, slices = transitions["all"], transition_tables(transitions, changes=0, values=MOST_BARS)["slices"]
    return [
        Change("between the sides", "all cases", whole["changed"], whole["pairs"]),
        *(change for one in slices for _, _, change, _ in one["values"]),
        *stability_changes(stability),
    ]


def _share(changed: int, pairs: int) -> str:
    return percent(changed / pairs) if pairs else "none"
