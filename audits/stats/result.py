"""The named result of an estimate, and its JSON form (fields documented in docs/methods.md)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

from audits.stats.groups import Merge
from audits.stats.intervals import Interval

State = Literal["ok", "too early", "no labels yet"]


@dataclass(frozen=True)
class Stratum:
    """One stratum of the plan: `n` settled of `size`; `labels` of them with a label.

    `mean`, `low`, `high` are of y among decidable cases, with the multiplier in force; None where the stratum has no
    label, or where y is numeric and has no score limits. `used` is false where y = 0 is known without labels. `lam`
    is the slope of a finer score, 0 without one.
    """

    name: str
    size: int
    n: int
    labels: int
    undecided: int
    used: bool
    mean: float | None
    low: float | None
    high: float | None
    lam: float = 0.0
    lam_reason: str = ""


@dataclass(frozen=True)
class HumanOnly:
    """The estimate without the judge's help (lambda = 0, no post-stratification), fixed-n, and what the judge gains.

    `gain` is 1 - width with the judge / width without, from the same labels; negative where the judge costs width.
    """

    point: float
    interval: Interval
    gain: float


@dataclass(frozen=True)
class JudgeOnly:
    """Screening: the verdicts taken as truth. The interval holds only the error of N cases as a sample of traffic."""

    point: float
    interval: Interval


@dataclass(frozen=True)
class Estimate:
    """One estimate at one look. See `audits.stats.estimate.estimate` for the meaning of each field."""

    estimand: str
    side: str | None
    target: str
    level: float
    policy: str
    method: str
    state: State
    reason: str
    point: float | None
    interval: Interval | None
    fixed: Interval | None
    multiplier: float | None
    fraction: float | None
    final: bool
    size: int
    n: int
    labels: int
    undecided: int
    worst_case: Interval | None
    human_only: HumanOnly | None
    judge_only: JudgeOnly | None
    strata: tuple[Stratum, ...]
    merges: tuple[Merge, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON: an interval becomes {low, high, half_width}; an infinite fraction becomes None."""
        found = plain(self)
        assert isinstance(found, dict)
        return found


def plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return {"low": value.low, "high": value.high, "half_width": value.half_width}
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
