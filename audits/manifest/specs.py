"""What a manifest says, validated and typed. Plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from judges.intake.specs import FurtherRun, MappingSpec, ReviewSource, RubricSpec, SideName, SideSpec, Source

Kind = Literal["judge_swap", "version_upgrade"]
Allocation = Literal["optimal", "all"] | int


@dataclass(frozen=True)
class IntegritySpec:
    require_equal_output_hash: bool = True
    require_equal_evidence_hash: bool = True
    fail_on_missing_pair: bool = False
    fail_on_unmapped_label: bool = True
    accept_unverified_provenance: bool = False


@dataclass(frozen=True)
class ReviewSpec:
    """Of the cases drawn a share is answered twice; of those in a slice (by "name=value") a larger one. `reuse_anchors`
    is `name@version` of the anchor set whose labels count without new work."""

    double_review_share: float = 0.15
    double_review_slices: Mapping[str, float] = field(default_factory=dict)
    adjudicate_all_blocking_transitions: bool = True
    preserve_original_results: bool = True
    reuse_references: bool = False
    reuse_anchors: str = ""
    practice_set: str = ""
    hidden_anchors: str = ""
    hidden_anchor_every: int | None = None


@dataclass(frozen=True)
class PlanSpec:
    """`allocation` says, for the groups `disagree`, `agree` and `identical`, how many labels: by target, all, or so
    many. `identical` are byte-identical pairs of an upgrade. `budget` is how many labels can be had."""

    estimand: str
    target: Literal["pool", "traffic"]
    level: float
    policy: Literal["planned", "monitored", "anytime"]
    seed: str
    side: SideName | None = None
    half_width: float | None = None
    detectable_difference: float | None = None
    power: float | None = None
    strata_by: Literal["agreement", "transition"] = "agreement"
    strata_slices: tuple[str, ...] = ()
    merge_below: int = 10
    allocation: Mapping[str, Allocation] = field(default_factory=dict)
    agree_minimum: int = 30
    predictor: Literal["cells", "score"] = "cells"
    budget: int | None = None


@dataclass(frozen=True)
class RepeatsSpec:
    """Which verdict of a side's repeats counts, and that a repeat of some rows only is left out."""

    summary: Literal["majority", "first"] = "majority"
    selective: Literal["leave_out"] = "leave_out"


@dataclass(frozen=True)
class GateRule:
    rule: str
    value: float | None = None


@dataclass(frozen=True)
class CutoverSpec:
    gate: tuple[GateRule, ...] = ()
    release_owner: str = ""
    rollback_to: SideName = "baseline"
    downstream: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """`paths` says where each named file was found; `hash` is that of `text`, the manifest as written."""

    name: str
    text: str
    hash: str
    migration_id: str
    project: str
    case_set_name: str
    case_set_version: str
    case_set_follows: str | None
    partition: Literal["development", "holdout", "smoke"]
    kind: Kind
    rubric: RubricSpec
    sides: Mapping[SideName, SideSpec]
    mappings: Mapping[str, MappingSpec]
    sources: tuple[Source, ...]
    further_runs: tuple[FurtherRun, ...]
    reviews: tuple[ReviewSource, ...]
    integrity: IntegritySpec
    slices: tuple[str, ...]
    blocking_slices: tuple[tuple[str, str], ...]
    review: ReviewSpec
    plan: PlanSpec
    repeats: RepeatsSpec
    partitions: Mapping[str, str]
    cutover: CutoverSpec
    paths: Mapping[str, Path]

    @property
    def case_source(self) -> Source:
        return self.sources[0]

    def path(self, source: Source | ReviewSource) -> tuple[Path, ...]:
        """The files of a source, in order."""
        return tuple(self.paths[name] for name in source.layout.files)

    @property
    def reviews_there(self) -> list[ReviewSource]:
        """Files of labels that exist by now: most come only after the draw."""
        return [review for review in self.reviews if set(review.layout.files) <= set(self.paths)]

    def source_of(self, side: SideName) -> Source:
        """The source of the judgments that are compared."""
        return next(source for source in self.sources if source.judgments_of == side and source.further is None)
