"""What a plan may come to, before any label: each policy's labels, the width against labels, the chance to finish."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from audits.stats.checks import checked_count
from audits.stats.policies import POLICIES, Policy, look
from audits.stats.pool import Pool
from audits.stats.projection import Expected, Projector, plan_basis
from audits.stats.remaining import Sizing, plan_sizing
from audits.stats.sizing import GreedyOrder
from core.errors import InputError

POINTS = 10
BEYOND = 1.2  # how far the curve goes past the policy that needs most
DRAWS, FEWEST_DRAWS, MOST_WORK = 400, 100, 8000  # of samples; so many, or as few, at so many group limits for a point


@dataclass(frozen=True)
class PolicyNeed:
    """What the target costs under one policy; `sizing` is None where no number of labels reaches it, for `reason`."""

    policy: Policy
    sizing: Sizing | None
    reason: str = ""


@dataclass(frozen=True)
class OutlookPoint:
    """A sample of so many labels: the half-width under each policy at the largest variances, that of a plain random
    sample under the plan's own, and the chance that the plan's own reaches the target."""

    labels: int
    half_widths: Mapping[str, float]
    without_judge: float
    chance: float


@dataclass(frozen=True)
class Outlook:
    """`fewest` is the smallest sample that the plan can use; `draws` samples stand behind each chance."""

    needs: tuple[PolicyNeed, ...]
    curve: tuple[OutlookPoint, ...]
    fewest: int
    draws: int


def plan_outlook(
    pool: Pool, *, policy: Policy, half_width: float, seed: str, budget: int | None = None, **asked: Any
) -> Outlook:
    """What a plan may come to.

    Parameters
    ----------
    pool : Pool
        The frame, without labels.
    policy, half_width
        Of the plan: the policy whose target the chances are about.
    seed : str
        Of the simulated samples.
    budget : int, optional
        So many labels are a point of the curve too.
    **asked
        What else `initial_allocation` takes.

    Returns
    -------
    Outlook

    Raises
    ------
    InputError
        As `initial_allocation`, and a budget below 1.

    Notes
    -----
    A sample of L labels is what the plan's own rule gives: the fewest of each stratum, then each next label where it
    reduces the variance most. Its half-widths are those at the largest variances, so that labels can only make them
    narrower. The chance takes every composition of labels as equally likely, stratum by stratum (a Dirichlet
    distribution with all parameters 1 over the values of y, whose mean for two values is the smoothed share of
    `smoothed_shares`), and is the share of simulated samples whose interval has the width. Its standard error is at
    most 1 / (2 sqrt(draws)). It is 1 where the largest variances reach the width.
    """
    if budget is not None:
        checked_count(budget, "budget", at_least=1)
    needs = tuple(_need(pool, one, half_width, asked) for one in POLICIES)
    order, own = plan_basis(pool, policy=policy, half_width=half_width, **asked)
    projectors = {need.policy: _projector(own, own.expected, need.policy) for need in needs}
    fewest = int(order.starts.sum())
    totals = [sum(need.sizing.n.values()) for need in needs if need.sizing]
    draws = max(FEWEST_DRAWS, min(DRAWS, MOST_WORK // len(own.expected)))
    points = [
        OutlookPoint(
            labels=labels,
            half_widths={name: one.at(n).half_width for name, one in projectors.items()},
            without_judge=_plain(own, labels),
            chance=_chance(own, n, draws, seed),
        )
        for labels, n in _samples(order, fewest, [*totals, *([budget] if budget else [])])
    ]
    return Outlook(needs, tuple(points), fewest, draws)


def _need(pool: Pool, policy: Policy, half_width: float, asked: Mapping[str, Any]) -> PolicyNeed:
    try:
        return PolicyNeed(policy, plan_sizing(pool, policy=policy, half_width=half_width, **asked))
    except InputError as error:
        return PolicyNeed(policy, None, "; ".join(problem.what for problem in error.problems))


def _samples(order: GreedyOrder, fewest: int, marked: Sequence[int]) -> list[tuple[int, dict[str, int]]]:
    """Evenly spaced samples from the fewest labels to beyond those marked, and those; never past the pool."""
    shown = {labels for labels in marked if fewest <= labels <= fewest + len(order)}
    end = min(len(order), math.ceil((max(shown) - fewest) * BEYOND)) if shown else len(order)
    even = {fewest + round(end * place / POINTS) for place in range(POINTS + 1)}
    apart = {labels for labels in even if all(abs(labels - one) * POINTS * 2 >= end for one in shown)}
    wanted = sorted(shown | apart | {fewest})
    return [(labels, dict(order.allocation(labels - fewest).n)) for labels in wanted]


def _projector(own: Projector, expected: Sequence[Expected], policy: Policy) -> Projector:
    """The same plan at other expectations, or under another policy."""
    return Projector(
        expected,
        half_width=own.half_width,
        level=own.level,
        policy=policy,
        traffic=own.traffic,
        exact=own.exact,
    )


def _plain(own: Projector, labels: int) -> float:
    """Half-width of a plain random sample of the pool, nothing known from verdicts."""
    variance = own.spread() * max(0.0, 1 / labels - (0.0 if own.traffic else 1 / own.size))
    multiplier = look(own.policy, variance, level=own.level, half_width=own.half_width).multiplier
    return min(multiplier * math.sqrt(variance), (own.most - own.least) / 2)


def _chance(own: Projector, n: Mapping[str, int], draws: int, seed: str) -> float:
    if own.reaches(n):
        return 1.0
    rng = np.random.default_rng(list(seed.encode()))
    reached = 0
    for _ in range(draws):
        observed = [_observed(one, round(own.labels_in(one, n)), rng) for one in own.expected]
        reached += _projector(own, observed, own.policy).reaches(n)
    return reached / draws


def _observed(one: Expected, labels: int, rng: np.random.Generator) -> Expected:
    """The shares of y among so many labels, where every composition is equally likely."""
    if one.group.known or len(one.group.values) < 2 or not labels:
        return one
    values = one.group.values
    counts = rng.multinomial(labels, rng.dirichlet(np.ones(len(values))))
    return replace(one, shares={value: int(count) / labels for value, count in zip(values, counts, strict=True)})
