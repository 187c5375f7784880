"""Pairs: a case with both sides' readings, and the state that decides whether it may be compared."""

from dataclasses import dataclass
from enum import StrEnum

from judges.models import CacheState, ProvenanceMark, ReadingState


class PairState(StrEnum):
    AGREE = "agree"
    DISAGREE = "disagree"
    OLD_INVALID = "old invalid"
    NEW_INVALID = "new invalid"
    MISSING = "missing"
    UNMAPPABLE = "unmappable"
    ARTIFACT_MISMATCH = "artifact mismatch"
    EVIDENCE_MISMATCH = "evidence mismatch"


ELIGIBLE = frozenset({PairState.AGREE, PairState.DISAGREE})


@dataclass(frozen=True, slots=True)
class SideReading:
    """One side's reading of a case. `output_agrees` is None where the source recorded nothing; `score` is the judge's
    finer number, `tokens` and `cost` what the response took, where they were recorded."""

    state: str
    verdict: str | None
    raw_label: str
    provenance: str
    output_agrees: bool | None
    evidence_agrees: bool | None
    score: float | None = None
    cache: str = CacheState.UNRECORDED
    tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Rules:
    """The integrity rules of a manifest, as far as they decide on single pairs."""

    require_equal_output_hash: bool
    require_equal_evidence_hash: bool
    accept_unverified_provenance: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """`same_content` says that an upgrade's two artifacts are byte-identical."""

    case_pk: int
    case_id: str
    case_version: int
    slices: dict[str, str]
    old: SideReading | None
    new: SideReading | None
    same_content: bool
    state: PairState

    @property
    def eligible(self) -> bool:
        return self.state in ELIGIBLE

    @property
    def verdicts(self) -> tuple[str, str]:
        """(old, new), of an eligible pair only: nothing else has verdicts on both sides."""
        if self.old is None or self.new is None or self.old.verdict is None or self.new.verdict is None:
            raise ValueError(f"case {self.case_id} has no verdict on a side: {self.state}")
        return self.old.verdict, self.new.verdict


def pair_state(old: SideReading | None, new: SideReading | None, rules: Rules) -> PairState:
    """The first of these that holds: an infrastructure fault is named before any verdict is read."""
    if old is None or new is None:
        return PairState.MISSING
    sides = (old, new)
    if rules.require_equal_output_hash and any(side.output_agrees is False for side in sides):
        return PairState.ARTIFACT_MISMATCH
    if rules.require_equal_evidence_hash and any(side.evidence_agrees is False for side in sides):
        return PairState.EVIDENCE_MISMATCH
    if ReadingState.UNMAPPED in (old.state, new.state):
        return PairState.UNMAPPABLE
    if not _usable(old, rules):
        return PairState.OLD_INVALID
    if not _usable(new, rules):
        return PairState.NEW_INVALID
    return PairState.AGREE if old.verdict == new.verdict else PairState.DISAGREE


def _usable(side: SideReading, rules: Rules) -> bool:
    if side.provenance == ProvenanceMark.UNVERIFIED and not rules.accept_unverified_provenance:
        return False
    return side.state == ReadingState.VALID
