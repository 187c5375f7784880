import math

import pytest

from audits.stats.estimate import estimate
from audits.stats.intervals import two_sided_alpha
from audits.stats.policies import boundary, look, mixture_tuning
from audits.stats.pool import Cell, Pool
from core.errors import InputError
from tests.stats.examples import BINARY, reference

REFERENCE = reference("monitored")
RECOMMENDED = reference("vectors")["recommended"]


def test_boundary_constant_is_the_root_of_its_equation():
    assert boundary(0.95) == pytest.approx(2.241402727604947, abs=1e-12)
    assert 2 * two_sided_alpha(boundary(0.9)) == pytest.approx(0.1, abs=1e-14)


@pytest.mark.parametrize("case", REFERENCE["monitored"])
def test_monitored_multiplier_equals_an_independent_script(case):
    variance, width, level = case["given"]
    now = look("monitored", variance, level=level, half_width=width)
    assert now.multiplier == pytest.approx(case["multiplier"], abs=1e-9)
    assert now.fraction == pytest.approx(case["t"], abs=1e-9)
    assert now.final is (case["t"] >= 1)


@pytest.mark.parametrize("case", REFERENCE["anytime"])
def test_anytime_multiplier_equals_an_independent_script(case):
    variance, width, level = case["given"]
    now = look("anytime", variance, level=level, half_width=width)
    assert mixture_tuning(level, width) == pytest.approx(case["rho"], rel=1e-9)
    assert now.multiplier == pytest.approx(case["multiplier"], abs=1e-9)
    assert now.final is False


def test_anytime_multiplier_equals_the_reference_vector():
    expected = RECOMMENDED["anytime z_t"]
    now = look("anytime", expected["V"], half_width=expected["target_half_width"])
    assert now.multiplier == pytest.approx(expected["z_t"], abs=1e-9)


@pytest.mark.parametrize(("fraction", "ratio"), [(1.0, 1.55), (0.4, 1.59), (0.2, 1.72), (0.1, 1.97)])
def test_anytime_is_tightest_at_its_tuning_point(fraction, ratio):
    # Published with the method: z_t / z at fractions of the information it is tuned for.
    variance = (0.05 / 1.959963984540054) ** 2 / fraction
    now = look("anytime", variance, half_width=0.05)
    assert now.multiplier / 1.959963984540054 == pytest.approx(ratio, abs=0.01)


@pytest.mark.parametrize(("fraction", "discrete"), [(0.2, 4.875), (0.1, 6.989)])
def test_first_discrete_boundary_spends_twice_the_continuous_error(fraction, discrete):
    # Lan and DeMets' O'Brien-Fleming spending is 4 - 4 Phi(c / sqrt t); a first look spends all of it.
    variance = (0.05 / boundary(0.95)) ** 2 / fraction
    continuous = look("monitored", variance, half_width=0.05).multiplier
    assert math.log(two_sided_alpha(discrete)) == pytest.approx(math.log(2 * two_sided_alpha(continuous)), abs=0.02)


@pytest.mark.parametrize("case", REFERENCE["swap"])
def test_monitored_swap_uses_the_exact_interval_at_the_error_of_the_boundary(case):
    right, n, disagree, size, width, level = case["given"]
    cells = (
        Cell("disagree", "fail", "pass", disagree, {"pass": right, "fail": n - right}),
        Cell("agree", "pass", "pass", size - disagree, {"pass": 1}),
    )
    result = estimate(
        Pool(cells, "judge_swap", BINARY),
        estimand="accuracy_difference",
        policy="monitored",
        half_width=width,
        level=level,
        min_labels=0,
    )
    assert result.fraction == pytest.approx(case["t"], abs=1e-9)
    assert two_sided_alpha(result.multiplier) == pytest.approx(case["alpha"], rel=1e-9)
    assert [result.interval.low, result.interval.high] == pytest.approx(case["limits"], abs=1e-9)


def test_census_is_final_under_each_policy():
    assert look("planned", 0.0, half_width=0.01).final is True
    assert look("monitored", 0.0, half_width=0.01).multiplier == boundary(0.95)
    assert look("anytime", 0.0, half_width=0.01).final is True


def test_planned_needs_no_width_and_keeps_z():
    now = look("planned", 0.01)
    assert (now.multiplier, now.fraction, now.final) == (pytest.approx(1.959963984540054), None, False)


@pytest.mark.parametrize("policy", ["monitored", "anytime"])
def test_missing_width_is_refused_where_the_policy_needs_it(policy):
    with pytest.raises(InputError, match="target half-width"):
        look(policy, 0.01)


def test_unknown_policy_is_refused_with_the_choices():
    with pytest.raises(InputError, match=r"'peek'.*planned, monitored, anytime"):
        look("peek", 0.01, half_width=0.05)
