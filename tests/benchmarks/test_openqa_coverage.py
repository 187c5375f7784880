"""A fast subset of benchmarks/openqa_coverage.py, whose full table stands in docs/methods.md."""

from pathlib import Path

import pytest
from scipy.stats import binom

from benchmarks.openqa import labelled_cases
from benchmarks.openqa_coverage import PLANS, Plan, coverage, drawn

SEEDS = 200
PROMISED = 0.935
# Under the promised coverage fewer hits than this have a chance of one in a thousand.
FEWEST = int(binom.ppf(0.001, SEEDS, PROMISED))


@pytest.mark.real_data
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.audit}-{sum(plan.labels.values())}")
def test_interval_covers_all_label_truth_on_both_sides(plan: Plan, real_data: Path) -> None:
    result = coverage(plan, labelled_cases(plan.audit, real_data), iter(range(SEEDS)))

    assert result.covered * SEEDS >= FEWEST
    assert result.balance > 0.001


@pytest.mark.real_data
def test_truths_are_those_of_the_owners_labels(real_data: Path) -> None:
    swap = coverage(PLANS[0], labelled_cases("swap", real_data), iter(range(1)))
    upgrade = coverage(PLANS[2], labelled_cases("upgrade", real_data), iter(range(1)))

    assert swap.truth == pytest.approx((86 - 71) / 1487, abs=1e-12)
    assert upgrade.truth == pytest.approx((63 - 31) / 299, abs=1e-12)


@pytest.mark.real_data
def test_larger_draw_of_a_seed_holds_the_smaller_one(real_data: Path) -> None:
    cases = labelled_cases("swap", real_data)
    smaller, larger = (drawn(cases, plan, "7") for plan in PLANS[:2])

    assert (smaller.sum(), larger.sum()) == (90, 130)
    assert (larger | smaller).tolist() == larger.tolist()
