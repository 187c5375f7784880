"""What the interval will be at an allocation, and the allocation that reaches a target half-width.

MOVER and exact intervals are wider than z sqrt(V) where outcomes are rare, so a plan quotes the projected half-width of
the interval that will be used, never z sqrt(V).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Required, TypedDict, Unpack

from audits.stats.checks import checked_choice, checked_count, checked_share, checked_width, refused
from audits.stats.estimands import Estimand, Side, estimand_for
from audits.stats.groups import Group, strata_groups
from audits.stats.intervals import (
    Interval,
    Part,
    hypergeometric_interval,
    mover,
    paired_wilson_interval,
    two_sided_alpha,
    watched_limits,
    wilson_interval,
    z_value,
)
from audits.stats.policies import Policy, boundary, look
from audits.stats.pool import Pool
from audits.stats.sizing import Demand, GreedyOrder, assumed_shares, smoothed_shares, variance_of

Request = int | Literal["optimal", "all"]
AGREE_MINIMUM = 30
MIN_LABELS = 20


@dataclass(frozen=True)
class Expected:
    """A group with the distribution of y that is expected in it. `left` is the share of its variance that a finer
    score leaves, where the plan takes one."""

    group: Group
    shares: Mapping[float, float]
    left: float | None = None

    @property
    def variance(self) -> float:
        return variance_of(self.shares)

    @property
    def residual(self) -> float:
        return self.variance * (1.0 if self.left is None else self.left)

    @property
    def numeric(self) -> bool:
        return self.left is not None or not self.group.categorical

    @property
    def mean(self) -> float:
        return sum(value * share for value, share in self.shares.items())

    def limits(self, n: float, z: float) -> Interval:
        """Score limits after `n` labels at the expected shares; normal ones where y is numeric."""
        group, size = self.group, float(self.group.size)
        if n >= size or len(group.values) == 1:
            return Interval(self.mean, self.mean)
        low, high = group.values[0], group.values[-1]
        plus, minus = self.shares.get(high, 0.0), self.shares.get(low, 0.0)
        if self.numeric:
            side = z * math.sqrt(self.residual * (1 / n - 1 / size)) if n else high - low
            return Interval(self.mean - side, self.mean + side)
        if len(group.values) == 2:
            return wilson_interval(min(plus * n, n), n, size, z).scaled(high - low, low)
        return paired_wilson_interval(plus * n, min(minus * n, n - plus * n), n, size, z).scaled(high)


def expected_groups(groups: Sequence[Group], assumed: Mapping[str, float]) -> list[Expected]:
    """Smoothed shares of the labels so far; an assumption counts only where there is no label yet."""
    strata = {group.stratum for group in groups}
    for name, share in assumed.items():
        checked_choice(name, "assumed", strata)
        checked_share(share, f"assumed.{name}")
    result = []
    for group in groups:
        if not group.labels and not group.known and group.stratum in assumed:
            shares = assumed_shares(group.values, assumed[group.stratum])
        else:
            shares = smoothed_shares(group.values, group.counts)
        result.append(Expected(group, shares))
    return result


@dataclass(frozen=True)
class Projection:
    """How wide the interval will be at an allocation, under the policy in force.

    `fixed` is the fixed-n half-width of the score interval, `half_width` that of the interval that will be shown;
    `reached` says that the plan's target is met.
    """

    fixed: float
    half_width: float
    reached: bool


class Projector:
    """Projects the interval of one estimand under one plan; made once, asked for many allocations."""

    def __init__(
        self,
        expected: Sequence[Expected],
        *,
        half_width: float,
        level: float,
        policy: Policy,
        traffic: bool,
        exact: bool,
        bound: Sequence[Expected] = (),
    ):
        """`bound` are the strata whose interval that of the cells in `expected` is never wider than."""
        self.expected, self.bound = list(expected), list(bound)
        self.size = sum(one.group.size for one in expected)
        self.half_width, self.level, self.policy, self.exact = checked_width(half_width), level, policy, exact
        self.traffic = traffic
        self.mean = sum(one.group.size * one.mean for one in expected) / self.size
        self.least, self.most = (pick(value for one in expected for value in one.group.values) for pick in (min, max))
        self.future = self.spread() / self.size if traffic else 0.0
        self._stratum_sizes: dict[str, int] = {}
        for one in expected:
            name = one.group.stratum
            self._stratum_sizes[name] = self._stratum_sizes.get(name, 0) + one.group.size

    def spread(self) -> float:
        """S_y^2 of a case of the pool, whatever its group."""
        return sum(one.group.size * (one.variance + (one.mean - self.mean) ** 2) for one in self.expected) / self.size

    def _score(self, n: Mapping[str, int], z: float) -> Interval:
        """The sides of the score interval, around 0."""
        bases = [basis for basis in (self.expected, self.bound) if basis]
        return min((self._sides(basis, n, z) for basis in bases), key=lambda sides: sides.half_width)

    def _sides(self, basis: Sequence[Expected], n: Mapping[str, int], z: float) -> Interval:
        parts = [
            Part(one.group.size / self.size, one.mean, one.limits(self.labels_in(one, n), z))
            for one in basis
            if not one.group.known
        ]
        return mover(parts, extra=z * z * self.future).scaled(1.0, -sum(part.weight * part.point for part in parts))

    def _shown(self, n: Mapping[str, int], multiplier: float) -> float:
        """Half-width of the interval under a multiplier, as `Combined.watched` would show it."""
        open_ones = [one for one in self.expected if not one.group.known and self.labels_in(one, n) < one.group.size]
        if self.exact and len(open_ones) == 1 and len(open_ones[0].group.values) == 2:
            return self._exact(open_ones[0], int(self.labels_in(open_ones[0], n)), multiplier)
        if any(one.numeric for one in self.expected):
            return self._score(n, multiplier).half_width
        z = z_value(self.level)
        sides = watched_limits(lambda z: self._score(n, z), 0.0, multiplier=multiplier, z=z)
        return sides.clipped(self.least - self.mean, self.most - self.mean).half_width

    def _exact(self, one: Expected, labels: int, multiplier: float) -> float:
        size, (low, high) = one.group.size, one.group.values
        count = round(labels * one.shares.get(high, 0.0))
        least, most = hypergeometric_interval(count, labels, size, two_sided_alpha(multiplier))
        return math.hypot((most - least) / 2 * (high - low) / self.size, multiplier * math.sqrt(self.future))

    def at(self, n: Mapping[str, int]) -> Projection:
        """The projection at `n` settled labels in each stratum."""
        z = z_value(self.level)
        fixed = self._score(n, z).half_width
        if self.policy == "planned":
            shown = self._shown(n, z)
            return Projection(fixed, shown, shown <= self.half_width)
        now = look(self.policy, (fixed / z) ** 2, level=self.level, half_width=self.half_width)
        shown = self._shown(n, now.multiplier)
        # Under `monitored` the look is final when t reaches 1, whatever the exact interval's last step.
        reached = now.final if self.policy == "monitored" else shown <= self.half_width
        return Projection(fixed, shown, reached)

    def reaches(self, n: Mapping[str, int]) -> bool:
        """Whether the target is met at `n`; under `monitored` without the exact interval, which has no say in it."""
        if self.policy != "monitored":
            return self.at(n).reached
        z = z_value(self.level)
        variance = (self._score(n, z).half_width / z) ** 2
        return look(self.policy, variance, level=self.level, half_width=self.half_width).final

    def labels_in(self, one: Expected, n: Mapping[str, int]) -> float:
        """Labels of a group when its stratum has n: its share of the stratum's."""
        name = one.group.stratum
        whole = self._stratum_sizes[name]
        return float(one.group.size) if n[name] >= whole else n[name] * one.group.size / whole

    def reaching(self, order: GreedyOrder) -> tuple[int, Projection]:
        """The fewest further labels of a greedy order that reach the target, and the projection there.

        The width falls with the labels but for the steps of the exact interval, so a bisection finds the place.
        """
        low, high = 0, len(order)
        while low < high:
            middle = (low + high) // 2
            if self.at(order.allocation(middle).n).reached:
                high = middle
            else:
                low = middle + 1
        return low, self.at(order.allocation(low).n)


def demands(expected: Sequence[Expected], n: Mapping[str, int], costs: Mapping[str, float]) -> list[Demand]:
    """Strata to be sized; S_h^2 within a stratum is the mean over its groups, weighted by their sizes."""
    sizes: dict[str, int] = {}
    spread: dict[str, float] = {}
    for one in expected:
        name = one.group.stratum
        sizes[name] = sizes.get(name, 0) + one.group.size
        spread[name] = spread.get(name, 0.0) + (0.0 if one.group.known else one.group.size * one.residual)
    return [
        Demand(name, size, min(n.get(name, 0), size), spread[name] / size, costs.get(name, 1.0))
        for name, size in sizes.items()
    ]


def width_bound(
    pool: Pool,
    *,
    estimand: str,
    side: Side | None = None,
    level: float = 0.95,
    policy: Policy = "planned",
    half_width: float,
    assumed: Mapping[str, float] | None = None,
) -> float:
    """The smallest half-width any number of labels can reach when the target is traffic.

    Even a census leaves S_y^2 / N. S_y^2 is that of the labels so far, or of what is assumed; before both it is the
    largest possible, so that the bound is then an upper one.
    """
    spec = estimand_for(pool, estimand, side)
    expected = expected_groups(strata_groups(pool, spec, side), assumed or {})
    projector = Projector(expected, half_width=half_width, level=level, policy="planned", traffic=True, exact=False)
    return _multiplier(policy, projector.future, level, half_width) * math.sqrt(projector.future)


def _multiplier(policy: Policy, variance: float, level: float, half_width: float) -> float:
    if policy == "monitored":
        return boundary(level)
    return look(policy, variance, level=level, half_width=half_width).multiplier


def check_reachable(
    pool: Pool,
    *,
    estimand: str,
    side: Side | None = None,
    level: float = 0.95,
    policy: Policy = "planned",
    half_width: float,
    assumed: Mapping[str, float] | None = None,
) -> None:
    """Refuse a plan for traffic whose width no number of labels can reach.

    Raises
    ------
    InputError
        With the bound.
    """
    bound = width_bound(
        pool, estimand=estimand, side=side, level=level, policy=policy, half_width=half_width, assumed=assumed
    )
    if bound >= half_width:
        raise refused(
            f"no number of labels of these {pool.size} cases reaches this width for future traffic",
            key="plan.half_width",
            value=half_width,
            allowed=f"above {bound:.6g} at the variance that is assumed, or the target pool",
        )


class PlanAsked(TypedDict, total=False):
    """What is known of a plan before its registration; what is left out is as `plan_basis` has it."""

    estimand: Required[str]
    side: Side | None
    half_width: Required[float]
    level: float
    policy: Policy
    target: Literal["pool", "traffic"]
    requests: Mapping[str, Request] | None
    agree_minimum: int
    min_labels: int
    assumed: Mapping[str, float] | None
    costs: Mapping[str, float] | None
    exact: bool


def initial_allocation(pool: Pool, **asked: Unpack[PlanAsked]) -> dict[str, int]:
    """Labels to draw from each stratum when a plan is registered.

    Parameters
    ----------
    pool : Pool
        The frame; usually without labels.
    estimand, side, level, policy, half_width, target, exact
        Of the plan, as in `estimate`.
    requests : mapping of stratum to {'optimal', 'all'} or int
        What the plan asks for. A stratum without a request is 'optimal'.
    agree_minimum : int
        At least so many from every stratum in which the judges agree, or all if it has fewer: errors that both
        judges share are seen nowhere else. Byte-identical outputs of an upgrade are exempt.
    min_labels : int
        At least so many from every stratum the estimand uses, since no interval exists before them.
    assumed : mapping of stratum to share, optional
        See `assumed_shares`. Without it every stratum is planned at its largest variance.
    costs : mapping of stratum to float, optional
        Relative cost of a label, 1 unless given.

    Returns
    -------
    dict of stratum to int
        All strata of the pool.

    Raises
    ------
    InputError
        A request for an unknown stratum, for more cases than there are, or a width out of reach.
    """
    order, projector = plan_basis(pool, **asked)
    steps, _ = projector.reaching(order)
    return dict(order.allocation(steps).n)


def plan_basis(
    pool: Pool,
    *,
    estimand: str,
    side: Side | None = None,
    half_width: float,
    level: float = 0.95,
    policy: Policy = "planned",
    target: Literal["pool", "traffic"] = "pool",
    requests: Mapping[str, Request] | None = None,
    agree_minimum: int = AGREE_MINIMUM,
    min_labels: int = MIN_LABELS,
    assumed: Mapping[str, float] | None = None,
    costs: Mapping[str, float] | None = None,
    exact: bool = True,
) -> tuple[GreedyOrder, Projector]:
    """In which order a plan's labels are given to its strata, from the fewest on, and what its interval would be.

    Parameters and errors are those of `initial_allocation`. The order is the same for every policy and width.
    """
    spec = estimand_for(pool, estimand, side)
    assumed, costs = assumed or {}, costs or {}
    if target == "traffic":
        check_reachable(
            pool, estimand=estimand, side=side, level=level, policy=policy, half_width=half_width, assumed=assumed
        )
    expected = expected_groups(strata_groups(pool, spec, side), assumed)
    floors, optimal = _floors(pool, spec, requests or {}, agree_minimum, min_labels)
    order = GreedyOrder(
        [demand if demand.stratum in optimal else _fixed(demand) for demand in demands(expected, floors, costs)]
    )
    projector = Projector(
        expected,
        half_width=half_width,
        level=level,
        policy=policy,
        traffic=target == "traffic",
        exact=exact and spec.exact,
    )
    return order, projector


def _fixed(demand: Demand) -> Demand:
    return Demand(demand.stratum, demand.size, demand.n, 0.0, demand.cost)


def _floors(
    pool: Pool, spec: Estimand, requests: Mapping[str, Request], agree_minimum: int, min_labels: int
) -> tuple[dict[str, int], set[str]]:
    """Labels every stratum gets in any case, and the strata that may get more."""
    checked_count(agree_minimum, "allocation.agree_minimum")
    for name in requests:
        if name not in pool.strata:
            raise refused("unknown stratum", key="allocation", value=name, allowed=", ".join(pool.strata))
    floors, optimal = {}, set()
    for name in pool.strata:
        cells = [cell for cell in pool.cells if cell.stratum == name]
        size = sum(cell.size for cell in cells)
        # Identical outputs of an upgrade cannot hide a difference: nothing has to be looked for there.
        agrees = all(cell.old == cell.new and not cell.structural_zero for cell in cells)
        request = requests.get(name, "optimal")
        least = 0 if all(spec.is_zero(cell) for cell in cells) else min(size, min_labels)
        floors[name] = max(least, min(size, agree_minimum) if agrees else 0)
        if request == "optimal":
            optimal.add(name)
        elif request == "all":
            floors[name] = size
        else:
            floors[name] = _checked_request(request, name, size, floors[name])
    return floors, optimal


def _checked_request(request: Request, name: str, size: int, least: int) -> int:
    asked = checked_count(request, f"allocation.{name}")
    if not least <= asked <= size:
        allowed = f"from {least} (the fewest the plan can use) to {size}, 'optimal' or 'all'"
        raise refused("not a possible number of labels", key=f"allocation.{name}", value=asked, allowed=allowed)
    return asked
