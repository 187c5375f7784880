import pytest

from audits.stats.estimate import estimate
from audits.stats.outlook import plan_outlook
from audits.stats.pool import Cell, Pool
from audits.stats.projection import initial_allocation
from audits.stats.sizing import detected_difference, target_variance
from core.errors import InputError
from tests.stats.examples import swap

EMPTY = swap(disagree=(200, {}), agree=(1800, {}))
ASKED = {"estimand": "accuracy_difference", "half_width": 0.02, "seed": "1"}


def reaches(policy, right, labels):
    """Whether `estimate` itself finds the width reached where so many of the labelled disagreements are right."""
    pool = swap(disagree=(200, {"pass": right, "fail": labels - right}), agree=(1800, {"pass": 30}))
    found = estimate(pool, estimand="accuracy_difference", policy=policy, half_width=0.02)
    return found.final if policy == "monitored" else found.interval.half_width <= 0.02


@pytest.mark.parametrize("policy", ["planned", "monitored"])
def test_chance_is_the_share_of_all_outcomes_whose_interval_is_narrow_enough(policy):
    """Every number of right labels from 0 to m is equally likely, so the share of the m + 1 outcomes is the truth."""
    found = plan_outlook(EMPTY, **ASKED, policy=policy, budget=85)
    assert len(found.curve) >= 10
    for point in found.curve:
        labels = point.labels - 30  # the agreements of the least sample
        exact = sum(reaches(policy, right, labels) for right in range(labels + 1)) / (labels + 1)
        assert point.chance == pytest.approx(exact, abs=4 * 0.5 / found.draws**0.5), point.labels
    assert (found.curve[0].chance < 0.2, found.curve[-1].chance) == (True, 1.0)


def test_every_policy_needs_what_its_own_plan_would_draw():
    found = plan_outlook(EMPTY, **ASKED, policy="planned")
    for need in found.needs:
        alone = initial_allocation(EMPTY, estimand="accuracy_difference", half_width=0.02, policy=need.policy)
        assert dict(need.sizing.n) == alone
    totals = [sum(need.sizing.n.values()) for need in found.needs]
    assert totals == sorted(totals)
    assert found.fewest == 30 + 20


def test_curve_meets_the_target_of_each_policy_at_the_labels_it_needs():
    found = plan_outlook(EMPTY, estimand="accuracy", side="old", half_width=0.05, policy="planned", seed="1")
    points = {point.labels: point for point in found.curve}
    for need in found.needs:
        total = sum(need.sizing.n.values())
        assert points[total].half_widths[need.policy] == pytest.approx(need.sizing.half_width)
        assert need.sizing.half_width <= 0.05
    for policy in ("planned", "monitored", "anytime"):
        widths = [point.half_widths[policy] for point in found.curve]
        assert widths == sorted(widths, reverse=True)


def test_plain_sample_has_the_width_that_its_labels_were_sized_for():
    asked = {"estimand": "success_rate", "side": "old", "half_width": 0.05, "seed": "1"}
    found = plan_outlook(EMPTY, **asked, policy="planned", budget=323)
    # By hand: S^2 = 1/4, V* = (0.05 / 1.959964)^2 = 0.00065080, n = 1 / (1/2000 + V* / (1/4)) = 322.25.
    assert next(need.sizing.without_judge for need in found.needs) == 323
    width = next(point.without_judge for point in found.curve if point.labels == 323)
    assert width == pytest.approx(0.04993, abs=1e-5)  # 1.959964 sqrt(1/4 (1/323 - 1/2000))


def test_outlook_is_the_same_for_a_seed_and_a_little_different_for_another():
    first, again = (plan_outlook(EMPTY, **ASKED, policy="planned") for _ in range(2))
    other = plan_outlook(EMPTY, **(ASKED | {"seed": "2"}), policy="planned")
    assert first == again
    assert [point.chance for point in first.curve] != [point.chance for point in other.curve]


def test_budget_is_a_point_of_the_curve_unless_the_plan_cannot_be_drawn_with_it():
    labels = {
        budget: [point.labels for point in plan_outlook(EMPTY, **ASKED, policy="planned", budget=budget).curve]
        for budget in (49, 50, 77, 1900)
    }
    assert [budget in found for budget, found in labels.items()] == [False, True, True, False]
    assert all(labels[1900][-1] <= 230 for _ in labels)  # all disagreements, and the agreements of the least sample


def test_policy_whose_width_no_number_of_labels_reaches_says_so_beside_the_others():
    # Traffic: z sqrt(0.25 / 2000) = 0.0219 under `planned`, c / z times that under `monitored`.
    asked = {"estimand": "success_rate", "side": "old", "half_width": 0.0235, "target": "traffic", "seed": "1"}
    found = plan_outlook(EMPTY, **asked, policy="planned")
    reasons = {need.policy: need.reason for need in found.needs}
    assert (reasons["planned"], "reaches this width" in reasons["monitored"]) == ("", True)
    with pytest.raises(InputError, match="reaches this width"):
        plan_outlook(EMPTY, **asked, policy="monitored")


def test_plan_with_every_number_fixed_is_one_point():
    found = plan_outlook(EMPTY, **ASKED, policy="planned", requests={"disagree": 60, "agree": 30})
    assert [point.labels for point in found.curve] == [90]
    assert 0 < found.curve[0].chance < 1


def test_graded_scale_and_many_strata_have_an_outlook_too():
    cells = [Cell(f"s{n}", "fail", "pass", 40) for n in range(30)]
    found = plan_outlook(
        Pool(tuple(cells), "version_upgrade", {"fail": 0.0, "review": 0.4, "pass": 1.0}),
        estimand="score_difference",
        half_width=0.2,
        policy="anytime",
        seed="1",
    )
    assert found.draws == 266  # 8,000 limits for a point, shared by 30 strata
    assert found.curve[-1].chance == 1.0


def test_budget_below_one_is_refused():
    with pytest.raises(InputError, match="budget"):
        plan_outlook(EMPTY, **ASKED, policy="planned", budget=0)


def test_detected_difference_is_the_inverse_of_its_target_variance():
    # z = 1.959963984540054 and z_0.8 = 0.8416212335729143: 2.801585218112969 / 1.959963984540054 x 0.02.
    assert detected_difference(half_width=0.02) == pytest.approx(0.02858812958, abs=1e-11)
    assert target_variance(difference=detected_difference(half_width=0.02)) == pytest.approx(
        target_variance(half_width=0.02), rel=1e-12
    )
