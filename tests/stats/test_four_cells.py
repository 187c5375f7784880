import math

import numpy as np
import pytest
from hypothesis import given

from audits.stats.estimate import estimate
from audits.stats.four_cells import (
    CELL_NAMES,
    four_cells,
    independence_ratio,
    independence_reading,
    regression_share,
    share,
    shares_of,
)
from audits.stats.intervals import wilson_interval, z_value
from audits.stats.pool import Cell, Pool
from core.errors import InputError
from tests.stats.examples import BINARY, mirrored, pools, reference, reference_pool, swap

SWAP = reference_pool("judge_swap")
VECTORS = reference("vectors")
Z = z_value(0.95)


def close(value):
    return pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "key"), [("only_old", "onlyA"), ("only_new", "onlyB"), ("both", "both"), ("neither", "neither")]
)
def test_share_of_each_cell_equals_the_reference(name, key):
    expected = VECTORS["recommended"][f"(iii) cell {key}"]
    found = getattr(four_cells(SWAP), name)
    assert (found.point, found.interval.low, found.interval.high) == close(
        (expected["est"], expected["lo"], expected["hi"])
    )
    assert found.point == close(VECTORS["peers"][f"samplics.mean.cell_{key}"]["point"])


def test_regression_share_equals_the_reference():
    expected = VECTORS["recommended"]["(iii) regression share logit-MOVER"]
    found = regression_share(SWAP)
    assert (found.point, found.interval.low, found.interval.high) == close(
        (expected["est"], expected["lo"], expected["hi"])
    )
    assert found.point == close(VECTORS["peers"]["samplics.ratio.regression_share"]["point"])


def test_published_upgrade_gives_its_published_quotients():
    found = shares_of({"both": 6252, "only_old": 5776, "only_new": 1455, "neither": 7163})
    assert {name: round(value, 3) for name, value in found.items()} == {
        "forward": 0.280,
        "regression_share": 0.480,
        "backward": 0.070,
        "independent": 0.365,
        "independence_ratio": 0.766,
        "accuracy_loss": 0.209,
    }


def published():
    """The published counts as a census; the labels 0 and 1 stand for the grades."""
    cells = (
        Cell("agree", "pass", "pass", 6252 + 7163, {"pass": 6252, "fail": 7163}),
        Cell("disagree", "pass", "fail", 5776 + 1455, {"pass": 5776, "fail": 1455}),
    )
    return Pool(cells, "judge_swap", BINARY)


def test_census_of_the_published_counts_gives_the_quotients_without_width():
    pool = published()
    cells, lost, ratio = four_cells(pool), regression_share(pool), independence_ratio(pool)
    assert cells.only_old.point == close(5776 / 20646)
    assert cells.forward_minus_backward == close((5776 - 1455) / 20646)
    assert (lost.point, lost.interval.low, lost.interval.high) == close((5776 / 12028,) * 3)
    assert ratio.point == close(5776 / 20646 / (12028 / 20646 * (1 - 7707 / 20646)))
    assert ratio.interval.half_width == close(0.0)


@given(pools("judge_swap", undecided=True))
def test_four_shares_add_to_one_and_their_difference_is_the_accuracy_difference(pool):
    try:
        cells = four_cells(pool)
    except InputError:
        return
    assert sum(getattr(cells, name).point for name in CELL_NAMES) == close(1.0)
    if not any(cell.undecided for cell in pool.cells):
        gained = estimate(pool, estimand="accuracy_difference", min_labels=0).point
        assert cells.forward_minus_backward == close(-gained)
    other = four_cells(mirrored(pool))
    assert other.only_old.point == close(cells.only_new.point)
    assert (other.only_old.interval.low, other.only_old.interval.high) == close(
        (cells.only_new.interval.low, cells.only_new.interval.high)
    )


def test_agreeing_stratum_is_a_structural_zero_of_being_right_alone():
    pool = swap(disagree=(200, {"pass": 40, "fail": 60}), agree=(1800, {"pass": 1}))
    found = share(pool, "only_old")
    inside = wilson_interval(60, 100, 200, Z)
    assert (found.interval.low, found.interval.high) == close((inside.low / 10, inside.high / 10))


def test_third_label_lets_both_judges_be_wrong_in_different_ways():
    cells = (Cell("disagree", "a", "b", 100, {"a": 10, "b": 20, "c": 10}), Cell("agree", "a", "a", 100, {"a": 30}))
    found = four_cells(Pool(cells, "judge_swap", {"a": None, "b": None, "c": None}))
    assert [getattr(found, name).point for name in CELL_NAMES] == close([0.5, 0.125, 0.25, 0.125])


def test_no_regression_among_the_labels_leaves_only_upper_limits():
    pool = swap(disagree=(200, {"pass": 100}), agree=(1800, {"pass": 90, "fail": 10}))
    high = wilson_interval(0, 100, 200, Z).high / 10
    low_kept = 0.9 * wilson_interval(90, 100, 1800, Z).low
    lost = regression_share(pool)
    assert (lost.point, lost.interval.low, lost.interval.high) == close((0.0, 0.0, high / (high + low_kept)))
    ratio = independence_ratio(pool)
    assert (ratio.point, ratio.interval.low) == (0.0, 0.0)
    assert ratio.interval.high == close(high / (0.81 * 0.09))
    assert ratio.reason == "no regression among the labels: upper limit only"


def test_no_kept_label_makes_the_upper_limit_of_the_regression_share_one():
    pool = swap(disagree=(200, {"pass": 50, "fail": 50}), agree=(1800, {"fail": 100}))
    low = wilson_interval(50, 100, 200, Z).low / 10
    high_kept = 0.9 * wilson_interval(0, 100, 1800, Z).high
    lost = regression_share(pool)
    assert (lost.point, lost.interval.low, lost.interval.high) == close((1.0, low / (low + high_kept), 1.0))


def test_ratios_are_undefined_with_a_reason_where_the_old_judge_was_never_right():
    pool = swap(disagree=(200, {"pass": 50}), agree=(1800, {"fail": 50}))
    for found in (regression_share(pool), independence_ratio(pool)):
        assert (found.point, found.interval) == (None, None)
        assert found.reason == "the old judge was right on no labelled case"
    perfect = swap(disagree=(200, {"pass": 50}), agree=(1800, {"pass": 50}))
    assert independence_ratio(perfect).reason == "the new judge was wrong on no labelled case"


def test_independence_ratio_has_the_delta_method_variance_of_its_rows():
    pool = swap(disagree=(200, {"pass": 40, "fail": 60}), agree=(1800, {"pass": 160, "fail": 40}))
    u, a, b = 0.06, 0.06 + 0.72, 0.04 + 0.72
    variance = 0.0
    for weight, size, rows in (
        (0.1, 200, [((1, 1, 0), 60), ((0, 0, 1), 40)]),
        (0.9, 1800, [((0, 1, 1), 160), ((0, 0, 0), 40)]),
    ):
        e = np.concatenate([np.full(n, ui / u - ai / a + bi / (1 - b)) for (ui, ai, bi), n in rows])
        variance += weight**2 * (1 - e.size / size) * e.var(ddof=1) / e.size
    found = independence_ratio(pool)
    assert found.point == close(u / (a * (1 - b)))
    assert math.log(found.interval.high / found.point) == close(Z * math.sqrt(variance))
    assert math.log(found.point / found.interval.low) == close(Z * math.sqrt(variance))


@pytest.mark.parametrize(
    ("ratio", "word"), [(0.09, "spot check"), (0.14, "spot check"), (0.3, "between"), (0.71, "full depth")]
)
def test_reading_of_the_independence_ratio_tells_three_situations_apart(ratio, word):
    assert word in independence_reading(ratio)


def test_missing_labels_are_named():
    with pytest.raises(InputError, match="found 'agree'"):
        four_cells(swap(agree=(1800, {})))
    with pytest.raises(InputError, match="found 'version_upgrade'"):
        four_cells(reference_pool("version_upgrade"))
    with pytest.raises(InputError, match="undefined"):
        shares_of({"both": 0, "only_old": 0, "only_new": 3, "neither": 1})
    with pytest.raises(InputError, match=r"counts\.both: not a possible count \(found '-5'\)"):
        shares_of({"both": -5, "only_old": 10, "only_new": 3, "neither": 1})


def test_published_forward_less_backward_is_the_difference_of_both_accuracies():
    old, new = (estimate(published(), estimand="accuracy", side=side).point for side in ("old", "new"))
    difference = estimate(published(), estimand="accuracy_difference").point
    assert (round(old, 4), round(new, 4)) == (0.5826, 0.3733)
    assert old - new == close((5776 - 1455) / 20646) == close(-difference)
    assert round(old - new, 3) == 0.209
