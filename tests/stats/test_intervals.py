import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.stats.intervals import (
    Interval,
    Moments,
    Part,
    hypergeometric_interval,
    hypergeometric_tails,
    mover,
    paired_wilson_interval,
    satterthwaite_interval,
    t_multiplier,
    watched_limits,
    wilson_interval,
    z_value,
)
from core.errors import InputError

Z = z_value(0.95)


@st.composite
def draws(draw, largest=60):
    size = draw(st.integers(1, largest))
    n = draw(st.integers(0, size))
    return draw(st.integers(0, n)), n, size


def test_z_is_the_full_precision_normal_quantile():
    assert z_value(0.95) == pytest.approx(1.959963984540054, abs=1e-15)
    assert z_value(0.9) == pytest.approx(1.6448536269514722, abs=1e-14)


@pytest.mark.parametrize("level", [0, 1, 1.5, -0.1])
def test_level_outside_the_unit_interval_is_refused(level):
    with pytest.raises(InputError, match=str(level)):
        z_value(level)


@given(draws())
def test_wilson_without_correction_equals_statsmodels(drawn):
    from statsmodels.stats.proportion import proportion_confint

    count, n, _ = drawn
    if n == 0:
        return
    expected = proportion_confint(count, n, alpha=0.05, method="wilson")
    found = wilson_interval(count, n, math.inf, Z)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-12)


@given(draws())
def test_wilson_limits_solve_the_score_equation_with_correction(drawn):
    count, n, size = drawn
    found = wilson_interval(count, n, size, Z)
    if n in {0, size}:
        return
    p = count / n
    for limit in (found.low, found.high):
        error = math.sqrt(limit * (1 - limit) * (size - n) / (n * (size - 1)))
        assert abs(p - limit) == pytest.approx(Z * error, abs=1e-7)


@given(draws())
def test_wilson_of_the_complement_is_the_mirror(drawn):
    count, n, size = drawn
    one, other = wilson_interval(count, n, size, Z), wilson_interval(n - count, n, size, Z)
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-12)


def test_wilson_of_a_census_has_no_width_and_without_labels_says_nothing():
    assert wilson_interval(3, 4, 4, Z) == Interval(0.75, 0.75)
    assert wilson_interval(1, 1, 1, Z) == Interval(1.0, 1.0)
    assert wilson_interval(0, 0, 9, Z) == Interval(0.0, 1.0)


@pytest.mark.parametrize(("count", "n", "size"), [(5, 4, 10), (1, 11, 10), (-1, 4, 10)])
def test_impossible_counts_are_refused(count, n, size):
    with pytest.raises(InputError):
        wilson_interval(count, n, size, Z)
    with pytest.raises(InputError):
        hypergeometric_interval(count, n, size, 0.05)


def test_paired_interval_equals_values_of_two_outside_sources():
    # 5 better, 3 worse of 14; the square-and-add interval without correction.
    found = paired_wilson_interval(5, 3, 14, math.inf, Z)
    assert (found.low, found.high) == pytest.approx((-0.23846174287240643, 0.4773233669396394), abs=1e-12)


@given(draws(), st.integers(0, 20))
def test_paired_interval_mirrors_when_gains_and_losses_swap(drawn, minus):
    plus, n, size = drawn
    minus = min(minus, n - plus)
    one = paired_wilson_interval(plus, minus, n, size, Z)
    other = paired_wilson_interval(minus, plus, n, size, Z)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-12)
    assert -1 <= one.low <= one.high <= 1
    if n:
        assert one.low - 1e-12 <= (plus - minus) / n <= one.high + 1e-12


def test_paired_interval_of_a_census_is_the_mean_itself():
    found = paired_wilson_interval(5, 3, 14, 14, Z)
    assert (found.low, found.high) == pytest.approx((2 / 14, 2 / 14), abs=1e-15)


def test_mover_of_one_stratum_is_its_own_interval():
    found = mover([Part(1.0, 0.4, Interval(0.1, 0.8))])
    assert (found.low, found.high) == pytest.approx((0.1, 0.8), abs=1e-15)


def test_mover_adds_the_squares_of_each_side_apart():
    parts = [Part(0.5, 0.4, Interval(0.34, 0.5)), Part(0.5, 0.2, Interval(0.12, 0.44))]
    found = mover(parts)
    assert found.low == pytest.approx(0.3 - 0.5 * math.hypot(0.06, 0.08), abs=1e-15)
    assert found.high == pytest.approx(0.3 + 0.5 * math.hypot(0.1, 0.24), abs=1e-15)


def two_strata_at_nine_tenths(z):
    limits = wilson_interval(27, 30, math.inf, z)
    return mover([Part(0.5, 0.9, limits), Part(0.5, 0.9, limits)])


def test_watched_interval_reaches_as_many_standard_errors_as_its_multiplier():
    fixed = two_strata_at_nine_tenths(Z)
    alone = two_strata_at_nine_tenths(6.0)
    found = watched_limits(two_strata_at_nine_tenths, 0.9, multiplier=6.0, z=Z)
    assert 0.96 < alone.high < two_strata_at_nine_tenths(1e6).high < 0.9 + 0.1 * math.sqrt(0.5)  # both could be 1
    assert found.high == pytest.approx(0.9 + 6 / Z * (fixed.high - 0.9), abs=1e-12)
    assert found.high > 1
    assert found.low == alone.low < 0.9 - 6 / Z * (0.9 - fixed.low)


def test_watched_interval_at_the_planned_stop_is_the_fixed_one():
    assert watched_limits(two_strata_at_nine_tenths, 0.9, multiplier=Z, z=Z) == two_strata_at_nine_tenths(Z)


@given(draws(40), st.sampled_from([0.0, 1e-6, 0.01, 0.05, 0.2]))
def test_hypergeometric_limits_are_exactly_the_totals_that_both_tails_allow(drawn, alpha):
    count, n, size = drawn
    found = hypergeometric_interval(count, n, size, alpha)

    def ways(total, x):
        return math.comb(total, x) * math.comb(size - total, n - x)

    allowed = [
        total
        for total in range(count, size - n + count + 1)
        if sum(ways(total, x) for x in range(count, n + 1)) > alpha / 2 * math.comb(size, n)
        and sum(ways(total, x) for x in range(count + 1)) > alpha / 2 * math.comb(size, n)
    ]
    assert found == (allowed[0], allowed[-1])


def test_hypergeometric_tails_equal_scipy_in_a_large_stratum():
    from scipy.stats import hypergeom

    for count, n, size, total in [(300, 1000, 100_000, 31_000), (2, 500, 20_000, 300), (0, 50, 5_000, 10)]:
        at_most, at_least = hypergeometric_tails(count, n, size, total)
        assert at_most == pytest.approx(hypergeom.cdf(count, size, total, n), rel=1e-8)
        assert at_least == pytest.approx(hypergeom.sf(count - 1, size, total, n), rel=1e-8)


@pytest.mark.parametrize("total", [0, 3, 17, 40])
def test_hypergeometric_interval_covers_every_total_at_least_at_its_level(total):
    size, n = 40, 15
    covered = 0
    for count in range(max(0, n - (size - total)), min(n, total) + 1):
        low, high = hypergeometric_interval(count, n, size, 0.05)
        if low <= total <= high:
            covered += math.comb(total, count) * math.comb(size - total, n - count)
    assert covered / math.comb(size, n) >= 0.95


def test_student_interval_of_one_stratum_equals_the_textbook_interval():
    from scipy.stats import t

    y = np.array([0.1, 0.7, 0.4, 0.9, 0.2])
    found = satterthwaite_interval(y.mean(), [Moments(1.0, 10**9, 5, y.var(ddof=1), 4)], Z)
    side = t.ppf(0.975, 4) * y.std(ddof=1) / math.sqrt(5)
    assert (found.low, found.high) == pytest.approx((y.mean() - side, y.mean() + side), abs=1e-8)


def test_student_multiplier_keeps_the_error_of_the_normal_one():
    from scipy.stats import t

    assert t_multiplier(Z, 7.5) == pytest.approx(t.ppf(0.975, 7.5), abs=1e-10)
    assert t_multiplier(4.0, math.inf) == 4.0
    assert t_multiplier(40.0, 7.5) == math.inf


def test_census_strata_add_no_variance_to_a_student_interval():
    found = satterthwaite_interval(0.25, [Moments(1.0, 8, 8, 0.3, 7)], Z)
    assert found == Interval(0.25, 0.25)


@pytest.mark.parametrize(
    ("estimand", "side", "kind", "name"),
    [
        ("success_difference", None, "version_upgrade", "samplics.mean.D"),
        ("accuracy_difference", None, "judge_swap", "samplics.mean.accB-accA"),
        ("success_rate", "old", "judge_swap", "samplics.mean.h"),
        ("accuracy", "old", "judge_swap", "samplics.mean.accA"),
        ("accuracy", "new", "judge_swap", "samplics.mean.accB"),
    ],
)
def test_stratified_means_equal_a_survey_library(estimand, side, kind, name):
    from audits.stats.combine import combine
    from audits.stats.estimands import ESTIMANDS
    from audits.stats.groups import strata_groups
    from tests.stats.examples import reference, reference_pool

    pool = reference_pool(kind)
    groups = strata_groups(pool, ESTIMANDS[estimand], side)
    moments = [Moments(g.size / pool.size, g.size, g.labels, g.variance, g.labels - 1) for g in groups if not g.known]
    expected = reference("vectors")["peers"][name]
    assert combine(groups).point == pytest.approx(expected["point"], abs=1e-12)
    assert sum(one.contribution for one in moments) ** 0.5 == pytest.approx(expected["se"], abs=1e-12)


@pytest.mark.parametrize("alpha", [-0.1, 1.0, 1.5])
def test_error_of_an_exact_interval_outside_its_range_is_refused(alpha):
    with pytest.raises(InputError, match=rf"alpha: an error is out of range \(found '{alpha}'\)"):
        hypergeometric_interval(3, 5, 10, alpha)
