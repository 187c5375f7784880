"""A judge swap in four cells (both right, only the old judge, only the new one, neither) and the ratios of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from audits.stats.checks import checked_count, refused
from audits.stats.combine import Combined, combine
from audits.stats.estimands import Estimand, Scale, Side
from audits.stats.groups import Group, strata_groups
from audits.stats.intervals import Interval, z_value
from audits.stats.linearised import linearise
from audits.stats.pool import Cell, Key, Pool

CellName = Literal["both", "only_old", "only_new", "neither"]
CELL_NAMES: tuple[CellName, ...] = ("both", "only_old", "only_new", "neither")


# Published upgrades of one family lie at 0.09 to 0.14, changes of generation at 0.71 and 0.77.
SAME_JUDGE, DIFFERENT_JUDGE = 0.2, 0.5


@dataclass(frozen=True)
class Share:
    """A share of the pool with its fixed-n interval, and the labelled cases it was seen in."""

    point: float
    interval: Interval
    count: int


@dataclass(frozen=True)
class FourCells:
    """Shares of all decidable cases. `forward_minus_backward` is only_old - only_new = accuracy old - accuracy new."""

    both: Share
    only_old: Share
    only_new: Share
    neither: Share
    labels: int
    size: int
    level: float

    @property
    def forward_minus_backward(self) -> float:
        return self.only_old.point - self.only_new.point


@dataclass(frozen=True)
class Ratio:
    """A ratio with its interval; `point` is None where it is undefined, `reason` says why or what to beware of.

    `interval` may exist without a point's logarithm: with no case in the numerator only its upper limit says something.
    """

    point: float | None
    interval: Interval | None
    level: float
    reason: str = ""


def cell_of(cell: Cell, key: Key) -> CellName:
    old, new = cell.old == key, cell.new == key
    if old:
        return "both" if new else "only_old"
    return "only_new" if new else "neither"


def _possible(name: CellName, cell: Cell, scale: Scale) -> bool:
    """Whether a labelled case of this cell can fall there at all."""
    if cell.old == cell.new:
        return name in {"both", "neither"}
    return name != "both" and (name != "neither" or len(scale) > 2)


def _share_estimand(name: CellName, scale: Scale) -> Estimand:
    def value(cell: Cell, key: Key, scale: Scale, side: Side | None) -> float:
        return float(cell_of(cell, key) == name)

    return Estimand(
        key=name,
        question="Which share of cases is this?",
        kinds=("judge_swap",),
        needs_values=False,
        sided=False,
        value=value,
        values=lambda cell, scale: (0.0, 1.0),
        is_zero=lambda cell: not _possible(name, cell, scale),
        judged=lambda cell, scale, side: None,
        basis="strata",
        zero_needs_answer=True,
    )


def _swap(pool: Pool) -> Pool:
    if pool.kind != "judge_swap":
        raise refused(
            "the four cells compare two judges of one artifact", key="kind", value=pool.kind, allowed="judge_swap"
        )
    return pool


def share(pool: Pool, name: CellName, *, level: float = 0.95) -> Share:
    """One of the four shares; see `four_cells`. Needs labels only in the strata where it is not a structural zero."""
    whole = _combined(_swap(pool), name)
    return Share(whole.point, whole.limits(z_value(level)).clipped(0.0, 1.0), _count(pool, name))


def waiting_for(pool: Pool, name: CellName) -> list[str]:
    """Strata without a label in which the share is not a structural zero."""
    groups = strata_groups(pool, _share_estimand(name, pool.scale), None)
    return [group.name for group in groups if not group.labels and not group.census]


def _combined(pool: Pool, name: CellName) -> Combined:
    groups = strata_groups(pool, _share_estimand(name, pool.scale), None)
    waiting = waiting_for(pool, name)
    if waiting:
        raise refused("a stratum has no label yet", key="strata", value=", ".join(waiting), allowed="one label or more")
    return combine(groups)


def _count(pool: Pool, name: CellName) -> int:
    return sum(count for cell in pool.cells for key, count in cell.labels.items() if cell_of(cell, key) == name)


def four_cells(pool: Pool, *, level: float = 0.95) -> FourCells:
    """Estimate the four cells of a judge swap.

    Parameters
    ----------
    pool : Pool of kind 'judge_swap'
        Every stratum needs a label, the agreeing ones too: both and neither are seen nowhere else.
    level : float in (0, 1)

    Returns
    -------
    FourCells
        Four shares of all decidable cases that add to 1, each with its own fixed-n interval, secondary to the plan's
        estimand and not adjusted for being four.

    Raises
    ------
    InputError
        For a version upgrade, or while a stratum has no label.

    Notes
    -----
    Structural zeros: where the judges agree neither is right alone; where they disagree they are not both right, and
    with two labels one of them is. The plan's strata as they are, so that only_new - only_old equals the accuracy
    difference of `estimate`.
    """
    shares = {name: share(pool, name, level=level) for name in CELL_NAMES}
    labels = sum(cell.labelled for cell in pool.cells)
    return FourCells(**shares, labels=labels, size=pool.size, level=level)


def regression_share(pool: Pool, *, level: float = 0.95) -> Ratio:
    """The share of the old judge's correct labels that the new judge loses: only old / (both + only old).

    Parameters
    ----------
    pool : Pool of kind 'judge_swap'
    level : float in (0, 1)

    Returns
    -------
    Ratio
        Undefined where the old judge was right on no labelled case.

    Raises
    ------
    InputError
        As `four_cells`.

    Notes
    -----
    X = only old and Y = both come from disjoint strata, so the limits of log X and log Y combine by MOVER on the
    logit. With X = 0 the lower limit is 0 and the upper u_X / (u_X + l_Y); with Y = 0 the upper limit is 1 and the
    lower l_X / (l_X + u_Y).

    References
    ----------
    G. Y. Zou and A. Donner, Statistics in Medicine 27 (2008) 1693-1702 (ratios by logarithms).
    """
    z = z_value(level)
    lost, kept = _combined(_swap(pool), "only_old"), _combined(pool, "both")
    if lost.point + kept.point <= 0:
        return Ratio(None, None, level, "the old judge was right on no labelled case")
    point = lost.point / (lost.point + kept.point)
    return Ratio(point, _logit_limits(lost.point, lost.limits(z), kept.point, kept.limits(z)), level)


def _logit_limits(x: float, of_x: Interval, y: float, of_y: Interval) -> Interval:
    if x <= 0:
        return Interval(0.0, _odds(of_x.high, max(of_y.low, 0.0)))
    if y <= 0:
        return Interval(_odds(max(of_x.low, 0.0), of_y.high), 1.0)
    below = math.inf if of_x.low <= 0 else math.hypot(math.log(x / of_x.low), math.log(of_y.high / y))
    above = math.inf if of_y.low <= 0 else math.hypot(math.log(of_x.high / x), math.log(y / of_y.low))
    middle = math.log(x / y)
    return Interval(_logistic(middle - below), _logistic(middle + above))


def _odds(one: float, other: float) -> float:
    return one / (one + other) if one + other > 0 else 0.0


def _logistic(g: float) -> float:
    if math.isinf(g):
        return float(g > 0)
    return 1 / (1 + math.exp(-g))


def independence_ratio(pool: Pool, *, level: float = 0.95) -> Ratio:
    """Regressions relative to two judges with the same accuracies and unrelated errors.

    Parameters
    ----------
    pool : Pool of kind 'judge_swap'
    level : float in (0, 1)

    Returns
    -------
    Ratio
        only old / (accuracy old (1 - accuracy new)). Near 0.1 the new judge is mostly the old one; above 0.5 it is a
        different judge. Where no labelled case is a regression the point is 0 and only the upper limit, from the
        limit of the share, says something. Undefined where the old judge was never right or the new one always.

    Raises
    ------
    InputError
        As `four_cells`.

    Notes
    -----
    Limits exp(g -+ z sqrt V) for g = log u - log a - log(1 - b), with V of the linearised values
    u_i / u - a_i / a + b_i / (1 - b).
    """
    z = z_value(level)
    shares = four_cells(pool, level=level)
    right, wrong = shares.only_old.point + shares.both.point, shares.only_old.point + shares.neither.point
    if right <= 0:
        return Ratio(None, None, level, "the old judge was right on no labelled case")
    if wrong <= 0:
        return Ratio(None, None, level, "the new judge was wrong on no labelled case")
    if shares.only_old.count == 0:
        high = shares.only_old.interval.high / (right * wrong)
        return Ratio(0.0, Interval(0.0, high), level, "no regression among the labels: upper limit only")
    groups = _all_strata(pool)
    found = linearise(groups, pool.keys, _independence_features, _log_independence)
    side = z * math.sqrt(found.variance)
    point = shares.only_old.point / (right * wrong)
    return Ratio(point, Interval(point * math.exp(-side), point * math.exp(side)), level, found.reason)


def _all_strata(pool: Pool) -> list[Group]:
    """Strata without structural zeros: accuracies need all of them."""
    plain = _share_estimand("both", pool.scale)
    return strata_groups(pool, replace(plain, is_zero=lambda cell: False), None)


def _independence_features(cell: Cell, key: Key) -> Sequence[float]:
    name = cell_of(cell, key)
    old, new = name in {"both", "only_old"}, name in {"both", "only_new"}
    return float(name == "only_old"), float(old), float(new), 1.0


def _log_independence(means: "np.ndarray[tuple[int], np.dtype[np.complex128]]") -> complex:
    lost, old, new, answered = means
    return complex(np.log(lost) - np.log(old) - np.log(1 - new / answered))


def independence_reading(ratio: float) -> str:
    """What an independence ratio asks for; the bounds are conventions, not tests."""
    if ratio > DIFFERENT_JUDGE:
        return "a different judge: re-validate at full depth"
    if ratio <= SAME_JUDGE:
        return "mostly the same judge: a spot check may do"
    return "between the same judge and a different one"


def shares_of(counts: Mapping[CellName, int]) -> dict[str, float]:
    """The quotients of four counts that are known for all pairs, as a published table gives them.

    Returns
    -------
    dict
        `forward` and `backward` over all pairs, `regression_share` over the old judge's correct labels, `independent`
        the forward rate of unrelated errors, `independence_ratio`, and `accuracy_loss` = forward - backward.

    Raises
    ------
    InputError
        For an impossible count; where there are no pairs, or the old judge was never right.
    """
    both, old, new, neither = (checked_count(counts[name], f"counts.{name}") for name in CELL_NAMES)
    n = both + old + new + neither
    if n == 0 or both + old == 0:
        raise refused("the shares are undefined", key="counts", value=dict(counts), allowed="a correct old label")
    independent = (both + old) / n * (1 - (both + new) / n)
    return {
        "forward": old / n,
        "backward": new / n,
        "regression_share": old / (both + old),
        "independent": independent,
        "independence_ratio": old / n / independent,
        "accuracy_loss": (old - new) / n,
    }
