import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.stats.estimate import estimate
from audits.stats.pool import Cell, Pool
from audits.stats.projection import check_reachable, initial_allocation, width_bound
from audits.stats.sizing import (
    Demand,
    GreedyOrder,
    assumed_shares,
    greedy_allocation,
    simple_pool_size,
    smoothed_shares,
    target_variance,
    variance_of,
)
from core.errors import InputError
from tests.stats.examples import BINARY


def swap_frame(disagree=200, agree=1800):
    cells = (
        Cell("disagree", "fail", "pass", disagree // 2),
        Cell("disagree", "pass", "fail", disagree - disagree // 2),
        Cell("agree", "pass", "pass", agree),
    )
    return Pool(cells, "judge_swap", BINARY)


def test_simple_pool_formula_gives_the_published_numbers():
    target = target_variance(difference=0.05, power=0.8)
    assert simple_pool_size(300, 0.25, target) == pytest.approx(217.04212581963895, abs=1e-9)
    assert simple_pool_size(300, 0.25, target, correlation=0.46) == pytest.approx(202.04675250720865, abs=1e-9)


def test_three_hundred_pairs_pin_a_rate_near_one_half_to_about_six_points():
    assert simple_pool_size(10**9, 0.25, target_variance(half_width=0.0566)) == pytest.approx(300, abs=1)


def test_simple_pool_never_asks_for_more_than_the_pool_and_nothing_for_a_perfect_judge():
    assert simple_pool_size(300, 0.25, 1e-12) == pytest.approx(300, abs=1e-4)
    assert simple_pool_size(300, 0.0, 0.01) == 0.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "one target"),
        ({"half_width": 0.1, "difference": 0.1}, "one target"),
        ({"half_width": 0}, "'0'"),
        ({"difference": 0.1, "power": 1}, "power.*'1'"),
        ({"half_width": 0.1, "level": 2}, "level.*'2'"),
    ],
)
def test_impossible_target_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        target_variance(**options)


def test_smoothed_shares_give_the_published_variances():
    assert smoothed_shares((0.0, 1.0), {0.0: 20}) == {0.0: 21 / 22, 1.0: 1 / 22}
    three = smoothed_shares((-1.0, 0.0, 1.0), {-1.0: 2, 0.0: 13, 1.0: 5})
    plus, minus = 6 / 22, 3 / 22
    assert variance_of(three) == pytest.approx(plus + minus - (plus - minus) ** 2, abs=1e-15)


def test_before_any_label_the_variance_is_the_largest_possible():
    assert variance_of(smoothed_shares((0.0, 1.0), {})) == 0.25
    assert variance_of(smoothed_shares((-1.0, 0.0, 1.0), {})) == 1.0
    assert smoothed_shares((0.0,), {}) == {0.0: 1.0}


def test_assumed_share_replaces_the_largest_variance():
    assert assumed_shares((0.0, 1.0), 0.9) == {0.0: pytest.approx(0.1), 1.0: 0.9}
    assert variance_of(assumed_shares((-1.0, 0.0, 1.0), 0.1)) == pytest.approx(0.1, abs=1e-15)
    with pytest.raises(InputError, match=r"'1\.5'"):
        assumed_shares((0.0, 1.0), 1.5)


def test_pilot_without_agreeing_errors_asks_for_the_smoothed_number_and_not_the_raw_one():
    target = target_variance(half_width=0.02)
    raw = [Demand("disagree", 200, 20, 0.7), Demand("agree", 1800, 20, 0.0)]
    assert greedy_allocation(raw, target).n == {"disagree": 51, "agree": 20}
    share = 1 / 22
    smoothed = [Demand("disagree", 200, 20, 0.7), Demand("agree", 1800, 20, share * (1 - share))]
    assert greedy_allocation(smoothed, target).n == {"disagree": 143, "agree": 321}


@st.composite
def small_problems(draw):
    demands = []
    for name in "abc":
        size = draw(st.integers(1, 9))
        demands.append(Demand(name, size, draw(st.integers(0, size)), draw(st.floats(0.01, 1.0))))
    return demands, draw(st.floats(1e-4, 0.05))


@given(small_problems())
def test_greedy_allocation_is_the_integer_optimum_by_brute_force(problem):
    demands, target = problem
    whole = sum(demand.size for demand in demands)

    def variance(n):
        return sum((d.size / whole) ** 2 * (1 / m - 1 / d.size) * d.variance for d, m in zip(demands, n, strict=True))

    found = greedy_allocation(demands, target)
    ranges = [range(max(demand.n, 1), demand.size + 1) for demand in demands]
    # The last digits of a variance differ with the order of summation.
    enough = [n for n in itertools.product(*ranges) if variance(n) <= target * (1 + 1e-9) + 1e-15]
    assert found.total == min(sum(n) for n in enough)
    assert found.variance == pytest.approx(variance(tuple(found.n.values())), abs=1e-12)


def test_dearer_stratum_gets_fewer_labels():
    cheap = [Demand("a", 500, 1, 0.25), Demand("b", 500, 1, 0.25)]
    dear = [Demand("a", 500, 1, 0.25), Demand("b", 500, 1, 0.25, cost=9)]
    assert greedy_allocation(cheap, 1e-3).n == {"a": 100, "b": 100}
    found = greedy_allocation(dear, 1e-3).n
    # Neyman with costs: n_h is proportional to 1 / sqrt(c_h), here 3 to 1 but for the pool's end.
    assert found["a"] / found["b"] == pytest.approx(3, rel=0.05)


def test_longer_prefix_of_the_greedy_order_extends_the_shorter():
    order = GreedyOrder([Demand("a", 50, 3, 0.2), Demand("b", 30, 0, 0.1), Demand("c", 10, 4, 0.0)])
    before = order.allocation(0).n
    assert before == {"a": 3, "b": 1, "c": 4}
    for steps in range(1, len(order) + 1):
        after = order.allocation(steps).n
        assert sum(after.values()) == sum(before.values()) + 1
        assert all(after[name] >= before[name] for name in after)
        before = after
    assert before == {"a": 50, "b": 30, "c": 4}


@pytest.mark.parametrize(
    ("demands", "words"),
    [
        ([], "no strata"),
        ([Demand("a", 5, 6, 0.1)], r"a\.n.*'6'"),
        ([Demand("a", 5, 0, -0.1)], r"'-0\.1'"),
        ([Demand("a", 5, 0, 0.1, cost=0)], "'0'"),
    ],
)
def test_impossible_demand_is_refused(demands, words):
    with pytest.raises(InputError, match=words):
        greedy_allocation(demands, 0.1)


def test_first_plan_of_a_swap_labels_disagreements_for_the_width_and_agreements_for_the_minimum():
    found = initial_allocation(swap_frame(), estimand="accuracy_difference", half_width=0.02)
    assert found["agree"] == 30
    # The largest variance is one half right: the exact interval of n/2 of n is just inside the target.
    for n, inside in ((found["disagree"], True), (found["disagree"] - 4, False)):
        cells = (Cell("disagree", "fail", "pass", 200, {"pass": n // 2, "fail": n - n // 2}),)
        pool = Pool((*cells, Cell("agree", "pass", "pass", 1800)), "judge_swap", BINARY)
        assert (estimate(pool, estimand="accuracy_difference").interval.half_width <= 0.02) is inside


@pytest.mark.parametrize("policy", ["planned", "monitored", "anytime"])
def test_first_plan_of_a_level_reaches_its_width_when_the_labels_are_as_assumed(policy):
    found = initial_allocation(
        swap_frame(),
        estimand="accuracy",
        side="old",
        half_width=0.03,
        policy=policy,
        assumed={"agree": 0.9, "disagree": 0.5},
    )
    n, m = found["agree"], found["disagree"]
    cells = (
        Cell("disagree", "fail", "pass", 200, {"pass": m // 2, "fail": m - m // 2}),
        Cell("agree", "pass", "pass", 1800, {"pass": round(0.9 * n), "fail": n - round(0.9 * n)}),
    )
    result = estimate(
        Pool(cells, "judge_swap", BINARY), estimand="accuracy", side="old", policy=policy, half_width=0.03
    )
    assert result.interval.half_width == pytest.approx(0.03, abs=5e-4)


def test_monitored_plan_costs_more_labels_than_planned_and_anytime_more_again():
    costs = [
        sum(initial_allocation(swap_frame(), estimand="accuracy", side="old", half_width=0.03, policy=policy).values())
        for policy in ("planned", "monitored", "anytime")
    ]
    assert costs == sorted(costs)
    assert 1.1 < costs[1] / costs[0] < 1.31


def test_requests_of_the_plan_are_kept():
    requests = {"disagree": "all", "agree": 50}
    assert initial_allocation(swap_frame(), estimand="accuracy", side="old", half_width=0.01, requests=requests) == {
        "disagree": 200,
        "agree": 50,
    }


def test_small_agreeing_stratum_is_taken_whole():
    assert initial_allocation(swap_frame(agree=12), estimand="accuracy_difference", half_width=0.2)["agree"] == 12


def test_each_stratum_that_is_used_gets_the_labels_without_which_there_is_no_interval():
    found = initial_allocation(swap_frame(), estimand="accuracy_difference", half_width=0.09)
    assert found == {"disagree": 20, "agree": 30}


@pytest.mark.parametrize(
    ("requests", "words"),
    [
        ({"agreement": "all"}, "'agreement'.*disagree, agree"),
        ({"disagree": 201}, r"allocation\.disagree.*'201'.*from 20 .* to 200"),
        ({"disagree": 19}, "'19'"),
        ({"agree": 29}, "'29'.*from 30"),
        ({"agree": -1}, "'-1'"),
    ],
)
def test_request_that_cannot_be_met_is_refused(requests, words):
    with pytest.raises(InputError, match=words):
        initial_allocation(swap_frame(), estimand="accuracy_difference", half_width=0.02, requests=requests)


@pytest.mark.parametrize(
    ("assumed", "words"),
    [({"agreement": 0.9}, "assumed: unknown choice .*'agreement'"), ({"agree": 1.7}, r"assumed\.agree.*'1\.7'")],
)
def test_assumption_that_is_impossible_is_refused(assumed, words):
    with pytest.raises(InputError, match=words):
        initial_allocation(swap_frame(), estimand="accuracy_difference", half_width=0.02, assumed=assumed)


def test_width_for_traffic_that_no_number_of_labels_reaches_is_refused_with_its_bound():
    # y is +1 or -1 on a tenth of the pool: S^2 = 0.1 at no difference, and z sqrt(0.1 / 2000) = 0.0138590.
    bound = width_bound(swap_frame(), estimand="accuracy_difference", half_width=0.01)
    assert bound == pytest.approx(1.959963984540054 * (0.1 / 2000) ** 0.5, abs=1e-12)
    with pytest.raises(InputError, match=r"found '0\.01'.*above 0\.013859"):
        initial_allocation(swap_frame(), estimand="accuracy_difference", half_width=0.01, target="traffic")
    check_reachable(swap_frame(), estimand="accuracy_difference", half_width=0.014)


def test_bound_for_traffic_grows_with_the_constant_of_the_policy():
    options = {"estimand": "accuracy_difference", "half_width": 0.02}
    planned = width_bound(swap_frame(), **options)
    monitored = width_bound(swap_frame(), policy="monitored", **options)
    assert monitored / planned == pytest.approx(2.241402727604947 / 1.959963984540054, abs=1e-12)
