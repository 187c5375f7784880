"""How many labels: the formula for a simple pool, the target variance, and the greedy allocation over strata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from audits.stats.checks import checked_count, checked_level, checked_width, refused
from audits.stats.intervals import z_value

# Sums of many gains lose their last digits; a target that is met exactly must not cost one more label.
ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Demand:
    """One stratum to be sized: N_h cases, n_h labels in hand, S_h^2 of y and the cost of a label."""

    stratum: str
    size: int
    n: int
    variance: float
    cost: float = 1.0


@dataclass(frozen=True)
class Allocation:
    """Labels for each stratum (in hand and new together), and the variance of the estimate they give."""

    n: Mapping[str, int]
    variance: float
    reached: bool

    @property
    def total(self) -> int:
        return sum(self.n.values())


def target_variance(
    *,
    half_width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
) -> float:
    """V* of a target half-width, (w / z)^2, or of a difference to be detected, (Delta / (z_{1-a/2} + z_{1-b}))^2.

    Raises
    ------
    InputError
        If not exactly one target is given, or a target, the power or the level is out of range.
    """
    if (half_width is None) == (difference is None):
        raise refused("give one target", key="half_width", value=half_width, allowed="a half-width or a difference")
    if half_width is not None:
        return (checked_width(half_width) / z_value(level)) ** 2
    if not 0 < power < 1:
        raise refused("the power is out of range", key="power", value=power, allowed="between 0 and 1")
    reach = z_value(checked_level(level)) + float(ndtri(power))
    return (checked_width(difference, "detectable_difference") / reach) ** 2


def detected_difference(*, half_width: float, power: float = 0.8, level: float = 0.95) -> float:
    """The difference that a fixed-n interval of this half-width detects: w (z_{1-a/2} + z_{1-b}) / z_{1-a/2}."""
    if not 0 < power < 1:
        raise refused("the power is out of range", key="power", value=power, allowed="between 0 and 1")
    z = z_value(checked_level(level))
    return checked_width(half_width) * (z + float(ndtri(power))) / z


def simple_pool_size(size: int, variance: float, target: float, *, correlation: float = 0.0) -> float:
    """Labels for a simple random sample of one pool, as a real number to be rounded up.

    Parameters
    ----------
    size : int
        N, eligible cases.
    variance : float
        S^2 of the labelled quantity.
    target : float
        V*, from `target_variance`.
    correlation : float in (-1, 1)
        rho_D between the labelled and the judged quantity; the judge leaves S^2 (1 - rho_D^2).

    Returns
    -------
    float
        n >= 1 / (1 / N + V* / (S^2 (1 - rho_D^2))), at most N.

    Raises
    ------
    InputError
        For a pool without cases, a negative variance or target, or a correlation outside (-1, 1).
    """
    checked_count(size, "size", at_least=1)
    if variance < 0 or target <= 0:
        raise refused("a variance is out of range", key="variance", value=min(variance, target), allowed="above 0")
    if not -1 < correlation < 1:
        raise refused("a correlation is out of range", key="correlation", value=correlation, allowed="between -1 and 1")
    left = variance * (1 - correlation**2)
    return 1 / (1 / size + target / left) if left > 0 else 0.0


def smoothed_shares(values: Sequence[float], counts: Mapping[float, float]) -> dict[float, float]:
    """The distribution of y with one imagined case at each extreme: p~ = (x + 1) / (n + 2).

    Raw shares starve the stratum where everything was equal so far. Two values give p~ (1 - p~), three give
    p~+ + p~- - (p~+ - p~-)^2 as the variance; before any label that is the largest possible.
    """
    low, high = values[0], values[-1]
    if low == high:
        return {low: 1.0}
    n = sum(counts.values())
    whole = {value: float(count) for value, count in counts.items()}
    for end in (low, high):
        whole[end] = whole.get(end, 0.0) + 1
    return {value: count / (n + 2) for value, count in sorted(whole.items())}


def assumed_shares(values: Sequence[float], share: float) -> dict[float, float]:
    """The distribution of y that a planner assumes before any label.

    `share` is that of the higher of two values; of three or more, that of all but the middle one, half at each end.
    """
    if not 0 <= share <= 1:
        raise refused("an assumed share is out of range", key="assumed", value=share, allowed="from 0 to 1")
    low, high = values[0], values[-1]
    if len(values) == 2:
        return {low: 1 - share, high: share}
    return {low: share / 2, (low + high) / 2: 1 - share, high: share / 2} if low != high else {low: 1.0}


def variance_of(shares: Mapping[float, float]) -> float:
    mean = sum(value * share for value, share in shares.items())
    return sum(share * (value - mean) ** 2 for value, share in shares.items())


class GreedyOrder:
    """Which stratum gets each next label, once for all totals.

    The next label goes to the largest W_h^2 S_h^2 / (c_h n_h (n_h + 1)), never past N_h. In a stratum these gains
    fall with n_h, so sorting all of them is the greedy sequence, and its prefix of length k the allocation of k labels.

    Notes
    -----
    With equal costs each prefix is the integer optimum; with unequal costs it is near it.
    Every stratum with variance gets a first label, since a mean without a label is not defined.
    """

    def __init__(self, demands: Sequence[Demand]):
        self.demands = tuple(demands)
        self._check()
        sizes = np.array([demand.size for demand in demands], dtype=np.float64)
        self._weights = sizes / sizes.sum()
        self._spread = self._weights**2 * np.array([demand.variance for demand in demands])
        starts = [max(d.n, 1) if d.variance > 0 else d.n for d in demands]
        self.starts = np.array(starts, dtype=np.int64)
        gains, owners = [], []
        for index, demand in enumerate(demands):
            n = np.arange(starts[index], demand.size if demand.variance > 0 else starts[index], dtype=np.float64)
            gains.append(self._spread[index] / (n * (n + 1)))
            owners.append(np.full(n.size, index, dtype=np.int32))
        gain, owner = np.concatenate(gains), np.concatenate(owners)
        costs = np.array([demand.cost for demand in demands])
        order = np.argsort(-gain / costs[owner], kind="stable")
        self._owners: NDArray[np.int32] = owner[order]
        self._variances = self._start_variance() - np.concatenate(([0.0], np.cumsum(gain[order])))

    def _check(self) -> None:
        if not self.demands:
            raise refused("there are no strata to size", key="strata", value=0, allowed="at least one")
        for demand in self.demands:
            checked_count(demand.size, f"{demand.stratum}.size", at_least=1)
            if checked_count(demand.n, f"{demand.stratum}.n") > demand.size:
                raise refused("more labels than cases", key=f"{demand.stratum}.n", value=demand.n)
            if demand.variance < 0 or demand.cost <= 0:
                found = min(demand.variance, demand.cost)
                raise refused("a variance or cost is out of range", key=demand.stratum, value=found)

    def _start_variance(self) -> float:
        sizes = np.array([demand.size for demand in self.demands], dtype=np.float64)
        with_variance = self._spread > 0
        return float((self._spread * (1 / np.maximum(self.starts, 1) - 1 / sizes))[with_variance].sum())

    def __len__(self) -> int:
        """Labels that can still be added beyond the start."""
        return int(self._owners.size)

    def allocation(self, steps: int, target: float = 0.0) -> Allocation:
        """The allocation after `steps` labels beyond the start."""
        added = np.bincount(self._owners[:steps], minlength=len(self.demands))
        totals = {demand.stratum: int(n) for demand, n in zip(self.demands, self.starts + added, strict=True)}
        variance = max(0.0, float(self._variances[steps])) if steps < len(self) else 0.0
        return Allocation(totals, variance, variance <= target * ROUNDING)

    def first_step(self, target: float) -> int:
        """The fewest labels beyond the start whose variance is at most `target`; all of them if none suffices."""
        below = np.nonzero(self._variances <= target * ROUNDING)[0]
        return int(below[0]) if below.size else len(self)


def greedy_allocation(demands: Sequence[Demand], target: float) -> Allocation:
    """Fewest labels for a target variance, starting from the labels in hand.

    Parameters
    ----------
    demands : sequence of Demand
    target : float
        V*, from `target_variance`.

    Returns
    -------
    Allocation
        V = sum W_h^2 (1 / n_h - 1 / N_h) S_h^2 at most `target`; a census has V = 0, so it is always reached.

    Raises
    ------
    InputError
        No strata, more labels than cases, a negative variance, a cost that is not positive.

    References
    ----------
    T. Wright, Exact optimal sample allocation: more efficient than Neyman, Statistics and Probability Letters 129
    (2017) 50-57.
    """
    order = GreedyOrder(demands)
    return order.allocation(order.first_step(target), target)
