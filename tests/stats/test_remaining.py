import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.stats.estimands import estimand_for
from audits.stats.estimate import estimate
from audits.stats.groups import cell_groups, strata_groups
from audits.stats.intervals import z_value
from audits.stats.policies import look, variance_at_width
from audits.stats.pool import Cell, Pool, Scores
from audits.stats.projection import Projector, expected_groups
from audits.stats.remaining import plan_sizing, remaining_audit
from audits.stats.sizing import simple_pool_size
from tests.stats.examples import noise, swap

HALFWAY = swap(disagree=(200, {"pass": 20, "fail": 10}), agree=(1800, {"pass": 29, "fail": 1}))


def test_remaining_labels_reach_the_width_if_they_look_like_those_so_far():
    found = remaining_audit(HALFWAY, estimand="accuracy", side="old", half_width=0.02)
    n, m = found.n["agree"], found.n["disagree"]
    # The smoothed shares of 1 in 30 and of 10 in 30.
    wrong, right = round(n * 2 / 32), round(m * 11 / 32)
    later = swap(disagree=(200, {"pass": m - right, "fail": right}), agree=(1800, {"pass": n - wrong, "fail": wrong}))
    reached = estimate(later, estimand="accuracy", side="old").interval.half_width
    assert reached == pytest.approx(0.02, abs=3e-4)
    assert found.half_width == pytest.approx(reached, abs=3e-4)
    assert found.more == {"disagree": m - 30, "agree": n - 30}
    assert found.total_more == n + m - 60


def test_range_holds_the_number_and_comes_from_the_uncertainty_of_the_shares():
    found = remaining_audit(HALFWAY, estimand="accuracy", side="old", half_width=0.02)
    assert found.least < found.total_more < found.most <= 2000 - 60


def test_audit_that_has_its_width_needs_nothing_more():
    found = remaining_audit(HALFWAY, estimand="accuracy_difference", half_width=0.05)
    assert (found.state, found.total_more, found.least) == ("reached", 0, 0)


def test_below_the_twenty_label_rule_it_cannot_tell_yet():
    early = swap(disagree=(200, {"pass": 19}), agree=(1800, {"pass": 30}))
    found = remaining_audit(early, estimand="accuracy_difference", half_width=0.02)
    assert (found.state, found.least, found.most) == ("cannot tell yet", None, None)
    assert found.reason == "cannot tell before enough labels in disagree"


def test_zero_errors_so_far_do_not_end_the_audit():
    found = remaining_audit(
        swap(disagree=(200, {"pass": 14, "fail": 6}), agree=(1800, {"pass": 20})),
        estimand="accuracy",
        side="old",
        half_width=0.02,
    )
    assert found.more["agree"] > 200


@given(st.integers(0, 100), st.integers(0, 100), st.sampled_from(["planned", "monitored", "anytime"]))
def test_remaining_is_never_negative_and_never_past_the_pool(right, wrong, policy):
    pool = swap(disagree=(200, {"pass": right, "fail": wrong}), agree=(300, {"pass": 30}))
    for estimand, side in (("accuracy_difference", None), ("accuracy", "new")):
        found = remaining_audit(pool, estimand=estimand, side=side, half_width=0.01, policy=policy)
        assert all(more >= 0 for more in found.more.values())
        assert found.n["disagree"] <= 200
        assert found.n["agree"] <= 300
        widths = [point.half_width for point in found.forecast]
        assert widths[-1] <= widths[0]


def test_forecast_falls_from_here_to_twice_what_is_needed():
    found = remaining_audit(HALFWAY, estimand="accuracy", side="old", half_width=0.02, policy="monitored")
    assert found.forecast[0].more == 0
    assert found.forecast[-1].more == 2 * found.total_more
    widths = [point.half_width for point in found.forecast]
    assert widths == sorted(widths, reverse=True)
    assert next(point.half_width for point in found.forecast if point.more == found.total_more) == found.half_width


def test_plan_of_a_swap_saves_about_the_agreement_rate():
    found = plan_sizing(swap(disagree=(200, {}), agree=(1800, {})), estimand="accuracy_difference", half_width=0.02)
    # y is 0 on 0.9 of the pool and +-1 on the rest: S^2 = 0.1 for a plain sample.
    plain = simple_pool_size(2000, 0.1, variance_at_width("planned", level=0.95, half_width=0.02))
    assert found.without_judge == pytest.approx(plain, abs=1)
    assert found.saving == pytest.approx(1 - found.n["disagree"] / found.without_judge, abs=1e-12)
    assert found.saving == pytest.approx(0.9, abs=0.02)
    assert (found.n["agree"], found.half_width <= 0.02) == (30, True)


@pytest.mark.parametrize("policy", ["planned", "monitored", "anytime"])
def test_variance_at_width_is_where_the_policy_has_that_width(policy):
    variance = variance_at_width(policy, level=0.95, half_width=0.03)
    assert look(policy, variance, half_width=0.03).multiplier * variance**0.5 == pytest.approx(0.03, rel=1e-9)


def test_forecast_of_cells_is_never_wider_than_that_of_their_strata():
    pool = noise(200)
    cells = expected_groups(cell_groups(pool, estimand_for(pool, "success_difference"), None, 10)[0], {})
    strata = expected_groups(strata_groups(pool, estimand_for(pool, "success_difference"), None), {})
    options = {"half_width": 0.02, "level": 0.95, "policy": "planned", "traffic": False, "exact": False}
    apart, alone, both = (
        Projector(basis, bound=bound, **options).at({"all": 600}).half_width
        for basis, bound in ((cells, ()), (strata, ()), (cells, strata))
    )
    assert both == alone < apart
    found = remaining_audit(pool, estimand="success_difference", half_width=0.02)
    as_they_are = remaining_audit(pool, estimand="success_difference", half_width=0.02, merge_below=0)
    assert found.half_width == pytest.approx(Projector(strata, **options).at(found.n).half_width, abs=1e-12)
    assert found.total_more < as_they_are.total_more


def scored_pool(labels=60):
    """One stratum of 1,000 cases; half of the labels are 1, and the score is 0.8 of them and 0.2 of the others."""
    half = labels // 2
    scores = Scores(500.0, 340.0, {"pass": (0.8 * half, 0.64 * half), "fail": (0.2 * half, 0.04 * half)})
    cell = Cell("all", "pass", "pass", 1000, {"pass": half, "fail": half}, scores=scores)
    return Pool((cell,), "judge_swap", {"fail": 0.0, "pass": 1.0})


def test_score_lowers_the_labels_needed_by_what_it_leaves_of_the_variance():
    options = {"estimand": "success_rate", "side": "old", "half_width": 0.03}
    found = remaining_audit(scored_pool(), predictor="score", **options)
    # S_x^2 = 90/999, s_y^2 = 15/59, s_xy = 9/59: lambda is 1, and y - x is 0.2 or -0.2, with 58 degrees of freedom.
    left = 60 * 0.04 / 58 / (15 / 59)
    spread = 0.25 * left  # the smoothed share is a half
    needed = math.ceil(1 / (1 / 1000 + (0.03 / z_value(0.95)) ** 2 / spread))
    assert (found.n, needed) == ({"all": needed}, 148)
    assert found.total_more < remaining_audit(scored_pool(), **options).total_more
    assert found.saving > 0.5


def test_score_that_is_not_used_yet_saves_nothing():
    early = scored_pool(28)  # below the 30 labels of the slope
    found = remaining_audit(early, predictor="score", estimand="success_rate", side="old", half_width=0.05)
    assert found.total_more == math.ceil(1 / (1 / 1000 + (0.05 / z_value(0.95)) ** 2 / 0.25)) - 28
