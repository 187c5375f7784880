import numpy as np
import pytest
from hypothesis import given

from audits.stats.class_conditional import class_conditional, positive_labels
from audits.stats.estimate import estimate
from audits.stats.helpfulness import helpfulness
from audits.stats.pool import Cell, Pool
from core.errors import InputError
from tests.stats.examples import BINARY, mirrored, pools, swap


def close(value):
    return pytest.approx(value, abs=1e-9)


def rows(seed=1, size=600):
    """A population of tasks with human outcomes and verdicts of both versions, as 0 and 1."""
    rng = np.random.default_rng(seed)
    old = rng.random(size) < 0.5
    new = np.where(rng.random(size) < 0.7, old, rng.random(size) < 0.6)
    judged = [np.where(rng.random(size) < 0.85, human, ~human) for human in (old, new)]
    return old, new, *judged


def pool_of(population, n=None, seed=2):
    """Strata agree and disagree; the first n of a random order labelled in each, all of them by default."""
    old, new, judged_old, judged_new = population
    rng = np.random.default_rng(seed)
    name = np.array(["fail", "pass"])
    stratum = np.where(judged_old == judged_new, "agree", "disagree")
    reference = [None] * old.size
    for one in ("agree", "disagree"):
        chosen = rng.permutation(np.nonzero(stratum == one)[0])[:n]
        for row in chosen:
            reference[row] = (str(name[int(old[row])]), str(name[int(new[row])]))
    return Pool.from_arrays(
        kind="version_upgrade",
        scale=BINARY,
        stratum=stratum.tolist(),
        old=name[judged_old.astype(int)].tolist(),
        new=name[judged_new.astype(int)].tolist(),
        reference=reference,
    )


def test_census_gives_the_rates_of_the_confusion_tables_without_width():
    old, new, judged_old, judged_new = rows()
    found = class_conditional(pool_of(rows()))
    assert found.tpr_old.point == close(judged_old[old].mean())
    assert found.fpr_new.point == close(judged_new[~new].mean())
    assert found.youden_new.point == close(judged_new[new].mean() - judged_new[~new].mean())
    assert found.e.point == close(judged_new.mean() - judged_old.mean() - (new.mean() - old.mean()))
    assert found.delta.interval.half_width == close(0.0)


def test_error_is_its_differential_part_less_the_attenuation():
    # e = delta - (1 - J_o) D_H, and the transported calibration misses p_new by delta / J_o.
    old, new, judged_old, judged_new = rows()
    found = class_conditional(pool_of(rows()))
    assert found.e.point == close(found.delta.point - (1 - found.youden_old.point) * (new.mean() - old.mean()))
    transported = (judged_new.mean() - judged_old[~old].mean()) / found.youden_old.point
    assert found.transported.point == close(transported - new.mean())
    assert found.transported.interval is None


@given(pools("version_upgrade", undecided=False))
def test_error_is_the_judged_difference_less_the_human_one_in_any_sample(pool):
    whole = class_conditional(pool, merge_below=0)
    human = estimate(pool, estimand="success_difference", min_labels=0, merge_below=0)
    assert whole.e.point == close(human.judge_only.point - human.point)


@given(pools("version_upgrade", undecided=False))
def test_swapping_versions_swaps_the_rates_and_negates_the_error(pool):
    one, other = class_conditional(pool), class_conditional(mirrored(pool))
    assert one.e.point == close(-other.e.point)
    assert (one.e.interval.low, one.e.interval.high) == close((-other.e.interval.high, -other.e.interval.low))
    assert (one.tpr_old.point is None) is (other.tpr_new.point is None)
    if one.tpr_old.point is not None:
        assert one.tpr_old.point == close(other.tpr_new.point)


def test_interval_agrees_with_a_bootstrap_within_cells():
    pool = pool_of(rows(size=3000), n=200)
    found = class_conditional(pool)
    assert found.delta.reason == ""
    rng = np.random.default_rng(3)
    draws = [class_conditional(resampled(pool, rng)).delta.point for _ in range(300)]
    # The bootstrap knows no finite population: its error is larger by about 1 / sqrt(1 - f).
    fraction = np.mean([1 - cell.settled / cell.size for cell in pool.cells])
    spread = found.delta.interval.half_width / 1.97
    assert np.std(draws) * fraction**0.5 == pytest.approx(spread, rel=0.15)


def resampled(pool, rng):
    cells = []
    for cell in pool.cells:
        keys = list(cell.labels)
        counts = rng.multinomial(cell.labelled, [cell.labels[key] / cell.labelled for key in keys])
        labels = {key: int(n) for key, n in zip(keys, counts, strict=True) if n}
        cells.append(Cell(cell.stratum, cell.old, cell.new, cell.size, labels))
    return Pool(tuple(cells), pool.kind, pool.scale)


def test_rare_judge_errors_widen_the_interval_with_imagined_labels_and_say_so():
    cells = (
        Cell("agree", "pass", "pass", 500, {("pass", "pass"): 50}),
        Cell("agree", "fail", "fail", 400, {("fail", "fail"): 50}),
        Cell("disagree", "pass", "fail", 100, {("pass", "fail"): 30}),
    )
    found = class_conditional(Pool(cells, "version_upgrade", BINARY))
    assert (found.tpr_old.point, found.fpr_old.point) == close((1.0, 0.0))
    assert found.tpr_old.interval.low < 0.99
    assert found.tpr_old.reason == "few outcomes off the commonest in agree, disagree"


def test_judge_that_says_nothing_leaves_transport_undefined():
    cells = (
        Cell("agree", "pass", "pass", 60, {("pass", "pass"): 15, ("fail", "fail"): 15}),
        Cell("agree", "fail", "fail", 60, {("pass", "pass"): 15, ("fail", "fail"): 15}),
    )
    found = class_conditional(Pool(cells, "version_upgrade", BINARY))
    assert found.youden_old.point == close(0.0)
    assert (found.transported.point, "undefined" in found.transported.reason) == (None, True)


def test_rate_without_a_reference_of_its_class_is_undefined_and_says_which():
    cells = (Cell("agree", "pass", "pass", 60, {("pass", "pass"): 30}),)
    found = class_conditional(Pool(cells, "version_upgrade", BINARY))
    assert found.fpr_old.point is None
    assert found.fpr_old.reason == "no negative reference among the old version's labels"
    assert found.tpr_old.point == close(1.0)
    assert found.delta.point is None


def test_positive_labels_must_be_clear():
    pool = Pool((Cell("a", "x", "x", 3),), "version_upgrade", {"x": 0.0, "y": 0.5, "z": 1.0})
    with pytest.raises(InputError, match="which labels are positive"):
        positive_labels(pool)
    with pytest.raises(InputError, match="found 'q'"):
        class_conditional(pool, positive={"q"})
    with pytest.raises(InputError, match="version_upgrade"):
        class_conditional(swap())


def test_helpfulness_of_a_census_equals_numpy_on_the_rows():
    old, new, judged_old, judged_new = (column.astype(float) for column in rows())
    found = helpfulness(pool_of(rows()))
    assert found.r == close(np.corrcoef(old, new)[0, 1])
    assert found.r_errors == close(np.corrcoef(judged_old - old, judged_new - new)[0, 1])
    rho = np.corrcoef(new - old, judged_new - judged_old)[0, 1]
    assert found.tau_difference == close(1 / (1 - rho**2))
    judged, change = judged_new - judged_old, new - old
    assert (found.improved, found.worsened) == close(((change > 0).sum(), (change < 0).sum()))
    assert found.youden_improved == close(judged[change > 0].mean())
    assert found.youden_worsened == close(-judged[change < 0].mean())
    # D_J = (N+ J+ - N- J-) / N plus what moved on unchanged tasks.
    parts = found.improved * found.youden_improved - found.worsened * found.youden_worsened
    unchanged = found.shift_unchanged * (change == 0).sum()
    assert (parts + unchanged) / old.size == close(judged.mean())


def test_predicted_gain_is_the_measured_one_where_errors_are_unrelated_to_outcomes():
    # An exact population: outcomes and errors vary independently, equally for both versions. Errors of +-1 on a
    # binary outcome cannot be unrelated to it, so the moments are given and the identity is checked on them.
    from audits.stats.helpfulness import _predicted, _tau

    outcome, error, r, r_errors = 0.25, 0.1, 0.7, 0.2
    level = _tau((outcome / (outcome + error)) ** 0.5)
    difference = _tau((outcome * (1 - r) / (outcome * (1 - r) + error * (1 - r_errors))) ** 0.5)
    assert _predicted(level, r, r_errors) == close(difference)


def test_constant_outcomes_leave_correlations_undefined():
    cells = (Cell("agree", "pass", "pass", 60, {("pass", "pass"): 30}),)
    found = helpfulness(Pool(cells, "version_upgrade", BINARY))
    assert (found.r, found.r_errors, found.tau_level, found.youden_improved) == (None, None, None, None)
    assert (found.improved, found.shift_unchanged) == (0.0, 0.0)


def test_calibration_carried_over_misses_by_delta_over_youden_on_constructed_tables():
    # Old: TPR 40/50, FPR 10/50, J_o = 0.6. New: TPR 54/60, FPR 8/40: only TPR moved, by 0.1, on p_n = 0.6 of cases:
    # delta = 0.06, and the calibrated rate (0.62 - 0.2) / 0.6 = 0.7 misses 0.6 by 0.1 = delta / J_o.
    tables = {
        ("pass", "pass"): {("pass", "pass"): 38, ("pass", "fail"): 0, ("fail", "pass"): 2, ("fail", "fail"): 2},
        ("pass", "fail"): {("pass", "pass"): 2, ("pass", "fail"): 0, ("fail", "pass"): 2, ("fail", "fail"): 4},
        ("fail", "pass"): {("pass", "pass"): 8, ("pass", "fail"): 0, ("fail", "pass"): 6, ("fail", "fail"): 6},
        ("fail", "fail"): {("pass", "pass"): 2, ("pass", "fail"): 0, ("fail", "pass"): 0, ("fail", "fail"): 28},
    }
    cells = [
        Cell("agree" if old == new else "disagree", old, new, sum(labels.values()), labels)
        for (old, new), labels in tables.items()
    ]
    found = class_conditional(Pool(tuple(cells), "version_upgrade", BINARY), merge_below=0)
    assert (found.tpr_old.point, found.fpr_old.point) == close((0.8, 0.2))
    assert (found.tpr_new.point, found.fpr_new.point) == close((0.9, 0.2))
    assert (found.youden_old.point, found.delta.point, found.transported.point) == close((0.6, 0.06, 0.1))
