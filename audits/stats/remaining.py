"""The remaining audit: how many labels are still needed, how sure that is, and what the judges save."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Unpack

from audits.stats.checks import checked_choice, checked_count
from audits.stats.estimands import Estimand, Side, estimand_for
from audits.stats.estimate import PREDICTORS, Predictor
from audits.stats.groups import Group, estimate_groups, strata_groups
from audits.stats.intervals import wilson_interval, z_value
from audits.stats.policies import Policy, variance_at_width
from audits.stats.pool import Pool
from audits.stats.projection import (
    MIN_LABELS,
    Expected,
    PlanAsked,
    Projector,
    demands,
    expected_groups,
    plan_basis,
)
from audits.stats.scores import Slope, slope
from audits.stats.sizing import GreedyOrder, simple_pool_size

State = Literal["ok", "reached", "cannot tell yet"]
TARGETS = ("pool", "traffic")
CURVE_POINTS = 12
# The range answers "what if the variances are other than they look", so it takes the middle 80 % of what they may be.
RANGE_LEVEL = 0.8


@dataclass(frozen=True)
class Point:
    """One point of the forecast: so many further labels, the projected half-width there."""

    more: int
    half_width: float


@dataclass(frozen=True)
class Sizing:
    """Labels for the target half-width of the plan.

    `n` are totals by stratum, `more` what is still to be settled, `total_more` their sum. `least` and `most` are the
    sum at the favourable and the unfavourable end of the variances (None before the 20-label rule is met).
    `half_width` is projected at `n` under the policy in force. `without_judge` is a plain random sample of the pool
    for the same width, `saving` 1 - (labels of the strata the estimand uses) / that.
    """

    state: State
    reason: str
    n: Mapping[str, int]
    more: Mapping[str, int]
    total_more: int
    least: int | None
    most: int | None
    half_width: float
    without_judge: int
    saving: float
    forecast: tuple[Point, ...]


def remaining_audit(
    pool: Pool,
    *,
    estimand: str,
    side: Side | None = None,
    half_width: float,
    level: float = 0.95,
    policy: Policy = "planned",
    target: Literal["pool", "traffic"] = "pool",
    min_labels: int = MIN_LABELS,
    predictor: Predictor = "cells",
    merge_below: int = 10,
    costs: Mapping[str, float] | None = None,
    exact: bool = True,
) -> Sizing:
    """How many labels an audit in progress still needs.

    Parameters
    ----------
    pool : Pool
        With the labels settled so far.
    estimand, side, half_width, level, policy, target, min_labels, predictor, merge_below, exact
        Of the plan, as in `estimate`. With a score, what it leaves of the variance is taken from the labels in hand.
    costs : mapping of stratum to float, optional
        Relative cost of a label, 1 unless given. With unequal costs the allocation is near the optimum.

    Returns
    -------
    Sizing
        `state` is "cannot tell yet" while a used stratum is below `min_labels` (the numbers are then those of the
        largest variances the labels leave), "reached" when no further label is needed.

    Raises
    ------
    InputError
        As `estimate`; and a missing width.

    Notes
    -----
    Next labels go where they reduce the variance most (`sizing.GreedyOrder`), with S_h^2 from smoothed shares; the
    stop is where the projected interval, not z sqrt(V), meets the target. It assumes that further labels look like
    those so far. Never negative, never past the pool.
    """
    spec = estimand_for(pool, estimand, side)
    checked_choice(target, "target", TARGETS)
    checked_count(min_labels, "min_labels")
    checked_count(merge_below, "merge_below")
    scored = checked_choice(predictor, "predictor", PREDICTORS) == "score"
    strata = strata_groups(pool, spec, side)
    groups = strata if scored else estimate_groups(strata, pool, spec, side, merge_below)[0]
    in_hand = {name: sum(c.settled for c in pool.cells if c.stratum == name) for name in pool.strata}
    reason = _waiting(strata, min_labels)
    floors = _floors(groups, in_hand, min_labels)
    expected = expected_groups(groups, {})
    if scored:
        expected = [_with_score(one, slope(one.group, spec, pool.scale, side)) for one in expected]
    bound = [] if scored else _bound(strata, spec, merge_below)
    exact = exact and spec.exact and not scored
    plan = _Plan(half_width, level, policy, target == "traffic", exact, dict(costs or {}), bound)
    totals = plan.totals(expected, floors)
    total = _more(totals, in_hand)
    ends = [_more(plan.shifted(up).totals(_all_shifted(expected, up), floors), in_hand) for up in (False, True)]
    state: State = "cannot tell yet" if reason else "reached" if total == 0 else "ok"
    return Sizing(
        state=state,
        reason=reason,
        n=totals,
        more={name: totals[name] - in_hand[name] for name in totals},
        total_more=total,
        least=None if reason else min(ends[0], total),
        most=None if reason else max(ends[1], total),
        half_width=plan.projector(expected).at(totals).half_width,
        without_judge=plan.without_judge(expected),
        saving=plan.saving(expected, totals),
        forecast=plan.forecast(expected, floors, in_hand, total),
    )


def plan_sizing(pool: Pool, **asked: Unpack[PlanAsked]) -> Sizing:
    """The sizing a plan shows before its registration: `initial_allocation` with its projected width and its saving.

    Parameters and errors are those of `initial_allocation`. `least` and `most` are None: there are no labels whose
    uncertainty they could show.
    """
    order, projector = plan_basis(pool, **asked)
    steps, reached = projector.reaching(order)
    totals, expected = dict(order.allocation(steps).n), projector.expected
    plan = _Plan(
        projector.half_width,
        projector.level,
        projector.policy,
        projector.traffic,
        projector.exact,
        dict(asked.get("costs") or {}),
    )
    nothing, min_labels = dict.fromkeys(totals, 0), asked.get("min_labels", MIN_LABELS)
    return Sizing(
        state="ok",
        reason="",
        n=totals,
        more=dict(totals),
        total_more=sum(totals.values()),
        least=None,
        most=None,
        half_width=reached.half_width,
        without_judge=plan.without_judge(expected),
        saving=plan.saving(expected, totals),
        forecast=plan.forecast(expected, _floors([one.group for one in expected], nothing, min_labels), nothing, None),
    )


@dataclass(frozen=True)
class _Plan:
    half_width: float
    level: float
    policy: Policy
    traffic: bool
    exact: bool
    costs: Mapping[str, float]
    bound: Sequence[Expected] = ()

    def shifted(self, upwards: bool) -> "_Plan":
        return replace(self, bound=_all_shifted(self.bound, upwards))

    def projector(self, expected: Sequence[Expected]) -> Projector:
        return Projector(
            expected,
            half_width=self.half_width,
            level=self.level,
            policy=self.policy,
            traffic=self.traffic,
            exact=self.exact,
            bound=self.bound,
        )

    def totals(self, expected: Sequence[Expected], floors: Mapping[str, int]) -> dict[str, int]:
        order = GreedyOrder(demands(expected, floors, self.costs))
        steps, _ = self.projector(expected).reaching(order)
        return dict(order.allocation(steps).n)

    def without_judge(self, expected: Sequence[Expected]) -> int:
        """A plain random sample of the pool for the same width, nothing known from verdicts."""
        pool = self.projector(expected)
        target = variance_at_width(self.policy, level=self.level, half_width=self.half_width)
        return math.ceil(simple_pool_size(pool.size, pool.spread(), target))

    def saving(self, expected: Sequence[Expected], totals: Mapping[str, int]) -> float:
        used = {one.group.stratum for one in expected if not one.group.known}
        plain = self.without_judge(expected)
        return 1 - sum(totals[name] for name in used) / plain if plain else 0.0

    def forecast(
        self, expected: Sequence[Expected], floors: Mapping[str, int], in_hand: Mapping[str, int], needed: int | None
    ) -> tuple[Point, ...]:
        """The curve from here to twice what is needed, or to the end of the pool."""
        order, projector = GreedyOrder(demands(expected, floors, self.costs)), self.projector(expected)
        end = len(order) if needed is None else min(len(order), 2 * needed)
        points = []
        for index in range(CURVE_POINTS + 1):
            n = order.allocation(round(end * index / CURVE_POINTS)).n
            points.append(Point(_more(n, in_hand), projector.at(n).half_width))
        return tuple(dict.fromkeys(points))


def _more(totals: Mapping[str, int], in_hand: Mapping[str, int]) -> int:
    return sum(max(0, total - in_hand[name]) for name, total in totals.items())


def _waiting(strata: Sequence[Group], min_labels: int) -> str:
    needed = max(min_labels, 1)
    short = [group.name for group in strata if not group.census and group.labels < needed]
    return "cannot tell before enough labels in " + ", ".join(short) if short else ""


def _floors(groups: Sequence[Group], in_hand: Mapping[str, int], min_labels: int) -> dict[str, int]:
    """What a stratum gets in any case: its labels so far, and enough for an interval where it is used."""
    sizes: dict[str, int] = {}
    for group in groups:
        if not group.known:
            sizes[group.stratum] = sizes.get(group.stratum, 0) + group.size
    return {name: max(n, min(min_labels, sizes.get(name, 0))) for name, n in in_hand.items()}


def _bound(strata: Sequence[Group], spec: Estimand, merge_below: int) -> list[Expected]:
    """The strata that an interval from cells is never wider than, under the same conditions as in `estimate`."""
    bounded = merge_below > 0 and spec.basis != "strata" and all(group.categorical for group in strata)
    return expected_groups(strata, {}) if bounded else []


def _with_score(one: Expected, fitted: Slope) -> Expected:
    spread = one.group.variance if one.group.labels else 0.0
    return replace(one, left=fitted.residual_variance / spread if fitted.lam and spread else 1.0)


def _all_shifted(expected: Sequence[Expected], upwards: bool) -> list[Expected]:
    return [_shifted(one, upwards) for one in expected]


def _shifted(one: Expected, upwards: bool) -> Expected:
    """The distribution with its share off the mode moved to an end of what the labels allow."""
    group = one.group
    if group.known or group.census or len(one.shares) < 2 or not group.labels:
        return one
    mode = max(one.shares, key=lambda value: one.shares[value])
    off = 1 - one.shares[mode]
    around = wilson_interval(off * group.labels, group.labels, group.size, z_value(RANGE_LEVEL))
    moved = min(max(around.high, off), max(0.5, off)) if upwards else min(around.low, off)
    shares = {value: share * moved / off for value, share in one.shares.items() if value != mode}
    return replace(one, shares={**shares, mode: 1 - moved})
