"""Whether a count goes with a group: exact tests on small tables. Pure: numbers in, numbers out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, lgamma

import numpy as np

DRAWS = 9_999
SEED = 20_261_130  # a test gives the same answer every time
MOST_GROUPS = 200  # more values than this name cases rather than group them
SIGNIFICANT = 0.01
FAR = 0.20  # a smaller difference may be one of the systems; this is more likely one of the columns
LEAST_CASES = 20


@dataclass(frozen=True)
class Association:
    """The chi-square statistic of counts over groups, and its permutation p-value; None with the reason why not."""

    statistic: float | None
    p_value: float | None
    reason: str = ""


@dataclass(frozen=True)
class Outlier:
    """A group whose share is far below that of all others together, with the one-sided exact p-value."""

    group: str
    share: float
    cases: int
    others: float
    p_value: float


def goes_with(table: Mapping[str, tuple[int, int]], *, draws: int = DRAWS, seed: int = SEED) -> Association:
    """Test whether marked cases are spread over groups as chance would spread them.

    Parameters
    ----------
    table : mapping of group to (marked, cases)
    draws : int
        Random permutations of the marks over the cases.

    Returns
    -------
    Association
        `statistic` is sum (m_g - e_g)^2 / (e_g (1 - M/N)), e_g = n_g M/N. The p-value is the share of permutations, the
        observed one among them, with a statistic at least as large: valid at any counts, however small.
    """
    marked = np.array([one for one, _ in table.values()])
    cases = np.array([number for _, number in table.values()])
    total, of = int(marked.sum()), int(cases.sum())
    if len(table) < 2:
        return Association(None, None, "one value only")
    if len(table) > MOST_GROUPS:
        return Association(None, None, f"more than {MOST_GROUPS} values")
    if total in (0, of):
        return Association(None, None, "none is missing" if total == 0 else "all are missing")
    expected = cases * total / of
    spread = expected * (1 - total / of)
    observed = float((((marked - expected) ** 2) / spread).sum())
    shuffled = np.random.default_rng(seed).multivariate_hypergeometric(cases, total, size=draws, method="marginals")
    statistics = ((shuffled - expected) ** 2 / spread).sum(axis=1)
    reached = int((statistics >= observed * (1 - 1e-12)).sum())
    return Association(observed, (1 + reached) / (1 + draws))


def far_below(groups: Mapping[str, tuple[int, int]]) -> Sequence[Outlier]:
    """Groups in which a share is far below that of all other groups together.

    Parameters
    ----------
    groups : mapping of group to (agreeing, cases)

    Returns
    -------
    sequence of Outlier
        Groups of at least 20 cases, 20 points or more below the others, with an exact (hypergeometric) p-value of at
        most 0.01 divided by the number of groups.
    """
    agreeing, cases = (sum(column) for column in zip(*groups.values(), strict=True)) if groups else (0, 0)
    found = []
    for group, (inside, number) in groups.items():
        outside = cases - number
        if number < LEAST_CASES or outside < LEAST_CASES:
            continue
        share, others = inside / number, (agreeing - inside) / outside
        if share > others - FAR:
            continue
        p_value = at_most(inside, drawn=number, marked=agreeing, of=cases)
        if p_value <= SIGNIFICANT / len(groups):
            found.append(Outlier(group, share, number, others, p_value))
    return found


def at_most(hits: int, *, drawn: int, marked: int, of: int) -> float:
    """P(X <= hits), X hypergeometric: how many of `marked` cases are among `drawn` of `of`."""
    least = max(0, drawn - (of - marked))
    whole = _choose(of, drawn)
    terms = (_choose(marked, x) + _choose(of - marked, drawn - x) - whole for x in range(least, hits + 1))
    return min(1.0, sum(exp(term) for term in terms))


def _choose(of: int, drawn: int) -> float:
    return lgamma(of + 1) - lgamma(drawn + 1) - lgamma(of - drawn + 1)
