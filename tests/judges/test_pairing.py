"""The state of a pair: the first fault in a fixed order, and a verdict only where both sides have one."""

from itertools import product

import pytest

from judges.pairing import ELIGIBLE, Pair, PairState, Rules, SideReading, pair_state

STRICT = Rules(require_equal_output_hash=True, require_equal_evidence_hash=True, accept_unverified_provenance=False)
LENIENT = Rules(require_equal_output_hash=False, require_equal_evidence_hash=False, accept_unverified_provenance=True)


def side(
    state: str = "valid",
    verdict: str | None = "pass",
    provenance: str = "legacy",
    output: bool | None = None,
    evidence: bool | None = None,
) -> SideReading:
    return SideReading(state, verdict if state == "valid" else None, "raw", provenance, output, evidence)


SIDES: dict[str, SideReading | None] = {
    "missing": None,
    "output": side("stale", provenance="contradicted", output=False, evidence=False),
    "evidence": side("stale", provenance="contradicted", output=True, evidence=False),
    "unmapped": side("unmapped"),
    "unparsed": side("unparsed"),
    "stale": side("stale"),
    "unverified": side(provenance="unverified"),
    "pass": side(),
    "fail": side(verdict="fail"),
}
# The order in which a fault of either side is named, before anything is said of the verdicts.
PRECEDENCE = [
    ("missing", PairState.MISSING),
    ("output", PairState.ARTIFACT_MISMATCH),
    ("evidence", PairState.EVIDENCE_MISMATCH),
    ("unmapped", PairState.UNMAPPABLE),
]
INVALID = ("unparsed", "stale", "unverified")


def _expected(old: str, new: str) -> PairState:
    for name, state in PRECEDENCE:
        if name in (old, new):
            return state
    if old in INVALID:
        return PairState.OLD_INVALID
    if new in INVALID:
        return PairState.NEW_INVALID
    return PairState.AGREE if old == new else PairState.DISAGREE


@pytest.mark.parametrize(("old", "new"), list(product(SIDES, SIDES)))
def test_first_fault_in_the_order_names_the_pair(old: str, new: str) -> None:
    assert pair_state(SIDES[old], SIDES[new], STRICT) == _expected(old, new)


@pytest.mark.parametrize(
    ("old", "new", "state"),
    [
        ("output", "pass", PairState.OLD_INVALID),
        ("pass", "evidence", PairState.NEW_INVALID),
        ("unverified", "pass", PairState.AGREE),
        ("fail", "unverified", PairState.DISAGREE),
        ("missing", "unverified", PairState.MISSING),
        ("unmapped", "unparsed", PairState.UNMAPPABLE),
    ],
)
def test_rules_that_are_off_leave_only_what_a_verdict_needs(old: str, new: str, state: PairState) -> None:
    assert pair_state(SIDES[old], SIDES[new], LENIENT) == state


@pytest.mark.parametrize("provenance", ["verified", "legacy"])
@pytest.mark.parametrize("seen", [True, None])
def test_sound_provenance_is_eligible(provenance: str, seen: bool | None) -> None:
    sound = side(provenance=provenance, output=seen, evidence=seen)
    assert pair_state(sound, sound, STRICT) in ELIGIBLE


def test_only_agreement_and_disagreement_are_eligible() -> None:
    assert set(ELIGIBLE) == {PairState.AGREE, PairState.DISAGREE}


@pytest.mark.parametrize("fault", ["missing", "unmapped", "unparsed", "stale"])
def test_pair_without_a_verdict_on_a_side_gives_none_of_them(fault: str) -> None:
    for old, new in ((SIDES[fault], side()), (side(), SIDES[fault])):
        pair = Pair(1, "q1", 1, {}, old, new, False, pair_state(old, new, LENIENT))
        assert not pair.eligible
        with pytest.raises(ValueError, match="case q1 has no verdict on a side"):
            _ = pair.verdicts
