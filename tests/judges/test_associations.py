"""Whether a count goes with a group: values that can be counted by hand, and scipy beside them."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy import stats

from judges.associations import FAR, LEAST_CASES, MOST_GROUPS, at_most, far_below, goes_with


def test_permutation_p_value_is_the_share_of_all_ways_to_place_the_marks() -> None:
    # Both of 2 marks among the 3 cases of one group of two, 3 + 3: C(3, 2) of C(6, 2) ways, and as many for the other.
    found = goes_with({"short": (2, 3), "long": (0, 3)})
    assert found.statistic == pytest.approx(2 * (2 - 1) ** 2 / (1 * (1 - 2 / 6)))
    ways = [len(set(pair) & {0, 1, 2}) for pair in combinations(range(6), 2)]
    assert ways.count(2) + ways.count(0) == 6
    assert found.p_value == pytest.approx(6 / 15, abs=0.02)


def test_statistic_is_that_of_pearson_s_chi_square() -> None:
    table = {"short": (12, 200), "medium": (30, 300), "long": (61, 250)}
    missing = [[marked, cases - marked] for marked, cases in table.values()]
    found, outside = goes_with(table), stats.chi2_contingency(missing, correction=False)
    assert found.statistic == pytest.approx(outside.statistic, rel=1e-12)
    assert outside.pvalue < 1e-6
    assert found.p_value == 1e-4  # the least that 9,999 permutations can give


def test_even_spread_goes_with_nothing() -> None:
    found = goes_with({"short": (10, 100), "long": (20, 200)})
    assert (found.statistic, found.p_value) == (pytest.approx(0.0, abs=1e-12), 1.0)


def test_p_value_is_held_under_chance() -> None:
    """At counts of one or two, where the chi-square distribution is no guide: rejected at 0.05 in at most 0.05."""
    chance = np.random.default_rng(3)
    cases = np.array([3, 5, 40])
    p_values = [
        goes_with(
            {str(n): (int(m), int(c)) for n, (m, c) in enumerate(zip(marks, cases, strict=True))}, draws=199
        ).p_value
        for marks in chance.multivariate_hypergeometric(cases, 2, size=300)
    ]
    rejected = sum(p is not None and p <= 0.05 for p in p_values)
    assert rejected <= stats.binom.ppf(0.999, 300, 0.05)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"one": (1, 5)}, "one value only"),
        ({"a": (0, 5), "b": (0, 5)}, "none is missing"),
        ({"a": (5, 5), "b": (5, 5)}, "all are missing"),
        ({str(n): (n % 2, 1) for n in range(MOST_GROUPS + 1)}, "more than 200 values"),
    ],
)
def test_what_cannot_be_tested_says_why(table: dict[str, tuple[int, int]], reason: str) -> None:
    found = goes_with(table)
    assert (found.statistic, found.p_value, found.reason) == (None, None, reason)


def test_exact_tail_is_counted_by_hand_and_by_scipy() -> None:
    # At most 1 of 4 marked among 3 drawn of 10: (C(6,3) + C(4,1) C(6,2)) / C(10,3).
    assert at_most(1, drawn=3, marked=4, of=10) == pytest.approx((comb(6, 3) + 4 * comb(6, 2)) / comb(10, 3))
    assert at_most(30, drawn=60, marked=800, of=1000) == pytest.approx(stats.hypergeom.cdf(30, 1000, 800, 60), rel=1e-9)


def test_group_that_agrees_far_less_than_all_others_together_is_named() -> None:
    found = far_below({"v1": (180, 200), "v2": (170, 200), "v3": (100, 200)})
    assert [(one.group, one.share, one.others, one.cases) for one in found] == [("v3", 0.5, 0.875, 200)]
    assert found[0].p_value == pytest.approx(stats.hypergeom.cdf(100, 600, 450, 200), rel=1e-6)


def test_small_groups_and_small_differences_raise_no_alarm() -> None:
    assert far_below({}) == []
    assert far_below({"v1": (180, 200), "v2": (0, LEAST_CASES - 1)}) == []
    assert far_below({"v1": (1800, 2000), "v2": (1800 - int((FAR - 0.01) * 2000), 2000)}) == []
    assert len(far_below({"v1": (1800, 2000), "v2": (1800 - int((FAR + 0.01) * 2000), 2000)})) == 1
