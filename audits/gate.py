"""The cutover gate: the rules of a manifest, each met or not, with its evidence in one sentence.

There is no tolerance of our own: a manifest without a gate has none, and no rule is met before its evidence is there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from audits.exports.wording import interval_words
from audits.manifest.build import cutover_of
from audits.manifest.document import mapping_at
from audits.manifest.specs import CutoverSpec, GateRule
from audits.manifest.text import read_document
from audits.outcomes import Outcome
from audits.plans import has_stopped
from audits.templatetags.figures import in_points, percent

NO_GATE = "The manifest states no gate: no rule says when the candidate may take over, and there is no usual one."


class RuleState(StrEnum):
    MET = "met"
    NOT_MET = "not met"
    NOT_YET = "not yet"


@dataclass(frozen=True)
class RuleFinding:
    rule: str
    value: float | None
    state: RuleState
    evidence: str

    @property
    def met(self) -> bool:
        return self.state == RuleState.MET

    @property
    def words(self) -> str:
        return self.rule if self.value is None else f"{self.rule} {self.value:g}"


def gate_is_met(gate: Sequence[RuleFinding]) -> bool:
    """Every rule, and there is one: where nobody stated any, nothing says yes."""
    return bool(gate) and all(one.met for one in gate)


@dataclass(frozen=True)
class Evidence:
    """What the rules are held to. `result` is the last look's, `blocking` counts the blocking transitions by outcome,
    `integrity` is the integrity report; `drawn` are the cases of the last registration."""

    plan: Mapping[str, Any]
    drawn: int
    result: Mapping[str, Any] | None
    blocking_slices: bool
    blocking: Mapping[str, int]
    integrity: Mapping[str, Any]


@lru_cache(maxsize=32)
def cutover_written(manifest: str) -> CutoverSpec:
    """What a manifest's text says of the cutover; kept, since a page asks twice and reading it takes long."""
    return cutover_of(mapping_at(read_document(manifest.encode())[1], "cutover"))


def gate_of(rules: Iterable[GateRule], evidence: Evidence) -> list[RuleFinding]:
    return [RuleFinding(one.rule, one.value, *RULES[one.rule](one.value or 0.0, evidence)) for one in rules]


def _interval(value: float, evidence: Evidence) -> tuple[RuleState, str]:
    result = evidence.result
    if result is None:
        return RuleState.NOT_YET, "No look yet: nothing has been settled."
    words = interval_words(dict(result))
    words = words[0].upper() + words[1:]
    if result["interval"] is None:
        return RuleState.NOT_YET, f"{words}."
    if not _may_stop(evidence, result):
        return RuleState.NOT_YET, f"{words}; this is no look to stop at."
    excluded = bool(result["interval"]["low"] >= value)
    limit = in_points(value, result["estimand"])
    says = f"all of it lies at {limit} points or above" if excluded else f"it reaches below {limit} points"
    return RuleState.MET if excluded else RuleState.NOT_MET, f"{words}; this look may be stopped at, and {says}."


def _may_stop(evidence: Evidence, result: Mapping[str, Any]) -> bool:
    """A look to stop at; `anytime` without a target holds at any."""
    plan = evidence.plan
    without_end = plan["policy"] == "anytime" and not (plan["half_width"] or plan["detectable_difference"])
    return without_end or has_stopped(plan, result, evidence.drawn)


def _blocking(_: float, evidence: Evidence) -> tuple[RuleState, str]:
    if not evidence.blocking_slices:
        return RuleState.NOT_MET, "The manifest names no blocking slice, so that nothing can show it."
    number = sum(evidence.blocking.values())
    if not number:
        return RuleState.MET, "No decision changed in the blocking slices."
    found = ", ".join(f"{count:,} {outcome}" for outcome, count in evidence.blocking.items())
    words = f"{number:,} decision{'' if number == 1 else 's'} changed in the blocking slices: {found}."
    if evidence.blocking.get(Outcome.REGRESSION):
        return RuleState.NOT_MET, words
    if evidence.blocking.get(Outcome.UNSETTLED):
        return RuleState.NOT_YET, words
    if evidence.blocking.get(Outcome.UNDECIDED):
        return RuleState.NOT_MET, f"{words} What nobody could judge may be a regression."
    return RuleState.MET, words


def _unparsed(value: float, evidence: Evidence) -> tuple[RuleState, str]:
    counts = {side: evidence.integrity[side] for side in ("old", "new")}
    if not all(side["judged"] for side in counts.values()):
        return RuleState.NOT_YET, "A side has no judgment."
    rates = {side: one["states"]["unparsed"] / one["judged"] for side, one in counts.items()}
    words = "; ".join(
        f"{side} side {percent(rates[side])}, {one['states']['unparsed']:,} of {one['judged']:,} judgments"
        for side, one in counts.items()
    )
    state = RuleState.MET if all(rate <= value for rate in rates.values()) else RuleState.NOT_MET
    return state, f"Unparsed: {words}; at most {percent(value)} is allowed."


RULES = {
    "interval_excludes_below": _interval,
    "no_blocking_regression": _blocking,
    "unparsed_rate_at_most": _unparsed,
}
