"""Slices of a pool as a family: each with its interval, and Holm-adjusted verdicts over all of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from audits.stats.checks import checked_level, refused
from audits.stats.differential import holm
from audits.stats.estimands import Side
from audits.stats.estimate import MERGE_BELOW, MIN_LABELS, estimate
from audits.stats.intervals import two_sided_alpha
from audits.stats.pool import Pool
from audits.stats.result import Estimate

# Beyond this multiplier a level is 1 in floating point; p-values stop at 2.6e-12.
LARGEST_Z = 7.0


@dataclass(frozen=True)
class Slice:
    """One slice. `family` is the number of slices looked at, with or without enough labels.

    `p_value` is that of the null value by inverting the fixed-n interval, `adjusted` Holm's over the family; `differs`
    says that the null is rejected at the level of the plan after adjustment. None while the slice is too early, and
    where there is no null.
    """

    name: str
    estimate: Estimate
    family: int
    p_value: float | None
    adjusted: float | None
    differs: bool | None


def slice_estimates(
    pools: Mapping[str, Pool],
    *,
    estimand: str,
    side: Side | None = None,
    level: float = 0.95,
    null: float | None = 0.0,
    min_labels: int = MIN_LABELS,
    merge_below: int = MERGE_BELOW,
) -> list[Slice]:
    """Estimate an estimand in each slice, with fixed-n intervals.

    Parameters
    ----------
    pools : mapping of slice to Pool
        Each made of the slice's cases. Where slices are no strata of the plan, tabulate them with `settled` set to the
        settled prefix of the whole stratum, so that a slice's labels are a random sample of the slice.
    estimand, side, level, min_labels, merge_below
        As in `estimate`.
    null : float
        The value a slice is tested against: 0 for a difference; None tests nothing, as for a level.

    Returns
    -------
    list of Slice
        In the order given. A slice that is too early counts in the family as a test not rejected.

    Raises
    ------
    InputError
        As `estimate`; and where there are no slices.

    Notes
    -----
    The intervals are one by one, not simultaneous; only the adjusted verdicts hold for the family.
    """
    checked_level(level)
    if not pools:
        raise refused("there are no slices", key="slices", value=0, allowed="at least one")

    def at(pool: Pool, one_level: float) -> Estimate:
        return estimate(
            pool, estimand=estimand, side=side, level=one_level, min_labels=min_labels, merge_below=merge_below
        )

    estimates = {name: at(pool, level) for name, pool in pools.items()}
    p_values = {
        name: _p_value(partial(at, pools[name]), null)
        for name, found in estimates.items()
        if null is not None and found.state == "ok"
    }
    adjusted = dict(zip(pools, holm([p_values.get(name, 1.0) for name in pools]), strict=True))
    return [
        Slice(
            name=name,
            estimate=found,
            family=len(pools),
            p_value=p_values.get(name),
            adjusted=adjusted[name] if name in p_values else None,
            differs=adjusted[name] <= 1 - level if name in p_values else None,
        )
        for name, found in estimates.items()
    ]


def _p_value(at: Callable[[float], Estimate], null: float) -> float:
    """The smallest error at which the interval still excludes the null, by bisection on the multiplier."""
    low, high = 0.0, LARGEST_Z
    for _ in range(40):
        middle = (low + high) / 2
        interval = at(1 - two_sided_alpha(middle)).interval if middle > 1e-9 else None
        excluded = interval is not None and not interval.low <= null <= interval.high
        low, high = (middle, high) if excluded else (low, middle)
    return two_sided_alpha(low)
