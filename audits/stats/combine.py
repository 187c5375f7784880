"""One estimate over groups: point, variance, and its interval as a function of the multiplier.

The estimate is among decidable cases: R = sum W_h v_h y_h / sum W_h v_h with v_h the decidable share of the labels.
Without undecided cases every v_h is 1 and R is the stratified mean.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from audits.stats.groups import Group
from audits.stats.intervals import (
    Interval,
    Moments,
    Part,
    hypergeometric_interval,
    mover,
    satterthwaite_interval,
    two_sided_alpha,
    watched_limits,
    z_value,
)
from audits.stats.policies import Policy
from audits.stats.scores import Slope

MOVER = "MOVER-Wilson"
EXACT = "hypergeometric exact"
STUDENT = "Satterthwaite t"
CENSUS = "census"
OFF_MODE = 10


@dataclass(frozen=True)
class Combined:
    """An estimate ready to be looked at under any multiplier.

    `fixed` gives the width that information is measured by, even where `limits` is exact. `too_few` names
    groups whose labels vary too little for a t interval.
    """

    point: float
    method: str
    limits: Callable[[float], Interval]
    fixed: Callable[[float], Interval]
    too_few: tuple[str, ...] = ()

    def variance(self, level: float, policy: Policy) -> float:
        """V = (fixed-n half-width / z)^2.

        A planned stop on width looks at the interval that is shown; the boundaries of the other policies need the
        score interval, whose width falls smoothly.
        """
        z = z_value(level)
        limits = self.limits if policy == "planned" else self.fixed
        return (limits(z).half_width / z) ** 2

    def watched(self, multiplier: float, level: float) -> Interval:
        """The interval in force under a policy's multiplier; exact and t limits keep its error as they are."""
        if self.method != MOVER:
            return self.limits(multiplier)
        return watched_limits(self.limits, self.point, multiplier=multiplier, z=z_value(level))


@dataclass(frozen=True)
class Weighted:
    """Groups that have a mean, each with its weight among decidable cases.

    `decidable` is the sum of W_h v_h that the weights were divided by, `size` the cases of all groups. A group settled
    wholly without labels has weight 0 and no mean, and is left out.
    """

    parts: Sequence[tuple[float, Group]]
    decidable: float
    size: int

    def __iter__(self) -> Iterator[tuple[float, Group]]:
        return iter(self.parts)


def weighted(groups: Sequence[Group]) -> Weighted:
    size = sum([group.size for group in groups])
    total = sum([group.size * group.decidable for group in groups])
    used = [group for group in groups if group.known or group.labels]
    return Weighted([(group.size * group.decidable / (total or 1.0), group) for group in used], total / size, size)


def population_variance(groups: Weighted, point: float) -> float:
    """S_y^2 over the pool: sum W_h (s_h^2 + (y_h - est)^2), the variance of one future case."""
    return sum(weight * (group.variance + (group.mean - point) ** 2) for weight, group in groups)


def _weight_variance(groups: Weighted, point: float) -> float:
    """What not knowing the decidable shares adds: the part of the ratio's linearised variance between v = 0 and 1."""
    total = 0.0
    for _, group in groups:
        v = group.decidable
        if v < 1:
            settled = sum(cell.settled for cell in group.cells)
            share, fraction = group.size / groups.size, settled / group.size
            spread = v * (1 - v) * (group.mean - point) ** 2 / max(settled - 1, 1)
            total += share**2 * (1 - fraction) * spread / groups.decidable**2
    return total


def combine(
    groups: Sequence[Group],
    *,
    traffic: bool = False,
    exact: bool = False,
    slopes: Mapping[str, Slope] | None = None,
) -> Combined:
    """Estimate from groups that all have labels (or are known, or a census).

    Parameters
    ----------
    groups : sequence of Group
    traffic : bool
        Add S_y^2 / N: the target is the process the cases came from.
    exact : bool
        Use the hypergeometric interval where one group of two values is uncertain and all others are not.
    slopes : mapping of stratum to Slope, optional
        A finer score's slope (PPI++ lambda) where one was allowed; makes the interval a t interval.

    Returns
    -------
    Combined
    """
    whole, slopes = weighted(groups), slopes or {}
    point = sum([weight * (group.mean + _shift(group, slopes)) for weight, group in whole])
    future = population_variance(whole, point) / (whole.size * whole.decidable) if traffic and whole.decidable else 0.0
    if slopes or not all(group.categorical for group in groups):
        return _student(groups, whole, point, slopes, future)
    extra = future + _weight_variance(whole, point)

    @_remembered
    def score_limits(z: float) -> Interval:
        return mover([Part(weight, group.mean, group.limits(z)) for weight, group in whole], extra=z * z * extra)

    open_parts = [(weight, group) for weight, group in whole if not group.census]
    if not open_parts:
        return Combined(point, CENSUS, score_limits, score_limits)
    if exact and len(open_parts) == 1 and len(open_parts[0][1].values) == 2:
        return Combined(point, EXACT, _exact_limits(*open_parts[0], point, extra), score_limits)
    return Combined(point, MOVER, score_limits, score_limits)


def _remembered(limits: Callable[[float], Interval]) -> Callable[[float], Interval]:
    """One look asks for the same limits several times. A `functools.cache` costs more to make than it saves here."""
    found: dict[float, Interval] = {}

    def at(z: float) -> Interval:
        if z not in found:
            found[z] = limits(z)
        return found[z]

    return at


def _shift(group: Group, slopes: Mapping[str, Slope]) -> float:
    slope = slopes.get(group.name)
    return slope.shift if slope and not group.known else 0.0


def no_wider(whole: Combined, alone: Combined) -> Combined:
    """A post-stratified estimate, with the sides of the strata alone where those make a narrower interval.

    Notes
    -----
    Score limits allow for what a small sample may have missed once in every cell, so that many cells of rare outcomes
    add up to more than their stratum: with a judge that is noise 5 to 18 % at 200 labels. But to order 1/n
    post-stratification has at most the variance of the strata, so that their sides hold for its point too. The point is
    never chosen by the outcome. Measured for levels near 0 or 1, the sides of the strata also cover better than those
    of the cells drawn in to the same width (0.93 to 0.97 against 0.88 to 0.94).
    """
    if {whole.method, alone.method} != {MOVER}:
        return whole

    @_remembered
    def limits(z: float) -> Interval:
        own, plain = whole.limits(z), alone.limits(z)
        return own if own.half_width <= plain.half_width else plain.scaled(1.0, whole.point - alone.point)

    return replace(whole, limits=limits, fixed=limits)


def _exact_limits(share: float, uncertain: Group, point: float, extra: float) -> Callable[[float], Interval]:
    """The exact interval of the one uncertain group, shifted by what the others contribute for certain."""
    rest = point - share * uncertain.mean
    low, high = uncertain.values
    # With undecided cases the number of decidable ones is estimated; its own error is in `extra`.
    size = -(-uncertain.size * uncertain.labels // uncertain.settled)

    @_remembered
    def limits(z: float) -> Interval:
        least, most = hypergeometric_interval(uncertain.counts.get(high, 0), uncertain.labels, size, two_sided_alpha(z))
        inside = Interval(least / size, most / size).scaled(share * (high - low), rest + share * low)
        if not extra:
            return inside
        # The rounding of `size` can move a limit past the point by less than one case.
        below, above = max(0.0, point - inside.low), max(0.0, inside.high - point)
        shared = z * math.sqrt(extra)
        return Interval(point - math.hypot(below, shared), point + math.hypot(above, shared))

    return limits


def _student(
    groups: Sequence[Group], whole: Weighted, point: float, slopes: Mapping[str, Slope], future: float
) -> Combined:
    moments = [_moments(group, whole, point, slopes.get(group.name)) for group in groups if not group.known]

    def limits(z: float) -> Interval:
        return satterthwaite_interval(point, moments, z, extra=future)

    varied: dict[str, int] = {}
    for group in groups:
        if not group.census:
            varied[group.stratum] = varied.get(group.stratum, 0) + group.off_mode
    too_few = tuple(stratum for stratum, count in varied.items() if count < OFF_MODE)
    return Combined(point, STUDENT if varied else CENSUS, limits, limits, too_few)


def _moments(group: Group, whole: Weighted, point: float, slope: Slope | None) -> Moments:
    share = group.size / whole.size
    if slope is not None and slope.lam:
        return Moments(share, group.size, group.settled, slope.residual_variance, group.labels - 2)
    return Moments(share, group.size, group.settled, _residual_variance(group, whole, point), group.settled - 1)


def _residual_variance(group: Group, whole: Weighted, point: float) -> float:
    """Sample variance of e = v (y - R) / vbar over the settled cases of a group."""
    if not group.undecided or not group.labels:
        return group.variance / whole.decidable**2 if group.labels else 0.0
    residuals = [(value - point, count) for value, count in group.counts.items()]
    mean = sum(e * count for e, count in residuals) / group.settled
    squares = sum(count * (e - mean) ** 2 for e, count in residuals) + group.undecided * mean**2
    return squares / (group.settled - 1) / whole.decidable**2
