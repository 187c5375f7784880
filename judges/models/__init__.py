from judges.models.cases import Artifact, Blob, Case, CaseSet, Partition, SystemVersion
from judges.models.comparisons import (
    Comparison,
    ComparisonKind,
    ComparisonRun,
    ComparisonSummary,
    PairIndex,
    RunRole,
)
from judges.models.holdouts import HoldoutOpening
from judges.models.judges import Generator, Mapping, Reader
from judges.models.loads import LoadState
from judges.models.rubrics import Rubric
from judges.models.runs import CacheState, Judgment, ProvenanceMark, Reading, ReadingState, Run

__all__ = [
    "Artifact",
    "Blob",
    "CacheState",
    "Case",
    "CaseSet",
    "Comparison",
    "ComparisonKind",
    "ComparisonRun",
    "ComparisonSummary",
    "Generator",
    "HoldoutOpening",
    "Judgment",
    "LoadState",
    "Mapping",
    "PairIndex",
    "Partition",
    "ProvenanceMark",
    "Reader",
    "Reading",
    "ReadingState",
    "Rubric",
    "Run",
    "RunRole",
    "SystemVersion",
]
