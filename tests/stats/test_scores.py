"""The finer score: its slope against formulas written out on rows, its guards, and the identity with PPI++."""

import json
import subprocess
import sys

import numpy as np
import pytest

from audits.stats.estimands import ESTIMANDS
from audits.stats.estimate import estimate
from audits.stats.groups import strata_groups
from audits.stats.pool import Pool
from audits.stats.scores import slope
from tests.stats.examples import BINARY, reference, reference_pool


def scored(n=80, size=400, seed=3, constant=False, rare=False):
    """One stratum whose score tells the label fairly well, with the rows it was made of."""
    rng = np.random.default_rng(seed)
    truth = rng.random(size) < (0.03 if rare else 0.4)
    score = np.ones(size) if constant else truth * 0.5 + rng.normal(0, 0.4, size)
    labels = [("pass" if truth[row] else "fail") if row < n else None for row in range(size)]
    pool = Pool.from_arrays(
        kind="judge_swap",
        scale=BINARY,
        stratum=["all"] * size,
        old=["pass"] * size,
        new=["pass"] * size,
        reference=labels,
        score=score.tolist(),
    )
    return pool, truth[:n].astype(float), score


def fitted(pool):
    spec = ESTIMANDS["success_rate"]
    (group,) = strata_groups(pool, spec, "old")
    return slope(group, spec, pool.scale, "old")


def test_slope_and_residual_variance_equal_the_formulas_on_rows():
    pool, y, x = scored()
    lam = np.cov(y, x[:80], ddof=1)[0, 1] / x.var(ddof=1)
    residual = y - lam * x[:80]
    found = fitted(pool)
    assert found.lam == pytest.approx(lam, abs=1e-12)
    assert found.shift == pytest.approx(lam * (x.mean() - x[:80].mean()), abs=1e-12)
    assert found.residual_variance == pytest.approx(((residual - residual.mean()) ** 2).sum() / 78, abs=1e-12)


def test_estimate_with_a_score_is_the_regression_estimate_with_a_student_interval():
    from scipy.stats import t

    pool, y, x = scored()
    result = estimate(pool, estimand="success_rate", side="old", predictor="score")
    lam = np.cov(y, x[:80], ddof=1)[0, 1] / x.var(ddof=1)
    residual = y - lam * x[:80]
    variance = (1 - 80 / 400) * ((residual - residual.mean()) ** 2).sum() / 78 / 80
    assert result.point == pytest.approx(y.mean() + lam * (x.mean() - x[:80].mean()), abs=1e-12)
    assert result.interval.half_width == pytest.approx(t.ppf(0.975, 78) * variance**0.5, abs=1e-9)
    assert result.strata[0].lam == pytest.approx(lam, abs=1e-12)
    assert result.method == "Satterthwaite t, strata, lambda from the score"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"n": 29}, "fewer than 30 labels"),
        ({"constant": True}, "constant score"),
        ({"rare": True}, "fewer than 10 labels off the commonest value"),
    ],
)
def test_slope_is_zero_with_a_reason_where_it_would_do_harm(options, reason):
    found = fitted(scored(**options)[0])
    assert (found.lam, found.shift, found.reason) == (0.0, 0.0, reason)


def test_score_that_points_the_wrong_way_is_clipped_to_no_help():
    x = scored()[2]
    rows = [None if row >= 80 else ("pass" if x[row] < 0.2 else "fail") for row in range(400)]
    against = Pool.from_arrays(
        kind="judge_swap",
        scale=BINARY,
        stratum=["all"] * 400,
        old=["pass"] * 400,
        new=["pass"] * 400,
        reference=rows,
        score=x.tolist(),
    )
    assert fitted(against).lam == 0.0


def test_slope_of_the_reference_rows_equals_an_outside_regression_estimator():
    # The guard on few labels is what the reference does without, so the fit is called past it.
    from audits.stats import scores

    expected = reference("vectors")["peers"]["greg.residual.samplics"]["lam_d"]
    pool = reference_pool("version_upgrade")
    spec = ESTIMANDS["success_difference"]
    group = strata_groups(pool, spec, None)[0]
    moments = [cell.scores for cell in group.cells]
    mean = sum(one.total for one in moments) / group.size
    variance = (sum(one.squares for one in moments) - group.size * mean**2) / (group.size - 1)
    found = scores._fitted(group, scores._labelled_sums(group, spec, pool.scale, None), mean, variance)
    assert found.lam == pytest.approx(expected, abs=1e-9)


PPI = """
import json, sys, warnings
import numpy as np
from ppi_py import ppi_mean_pointestimate
y, x, rest, lam = json.load(sys.stdin)
print(ppi_mean_pointestimate(np.array(y), np.array(x), np.array(rest), lam=lam).item())
"""


def test_given_slope_makes_the_point_estimate_of_ppi_plus_plus():
    # In a process of its own, because importing ppi_py silences all warnings.
    pool, y, x = scored()
    lam = fitted(pool).lam
    given = [y.tolist(), x[:80].tolist(), x[80:].tolist(), lam / (1 + 80 / 320)]
    done = subprocess.run([sys.executable, "-c", PPI], input=json.dumps(given), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ours = estimate(pool, estimand="success_rate", side="old", predictor="score").point
    # lambda' = lambda / (1 + n / (N - n)) weighs the unlabelled rest as lambda weighs all N.
    assert ours == pytest.approx(float(done.stdout), abs=1e-9)


def test_variance_of_ppi_plus_plus_is_the_design_variance_and_the_future_one():
    # With population moments: Var_PPI++ = (1/n - 1/N) S^2 (1 - rho^2) + S^2 / N at the optimal lambda.
    n, size, variance, rho = 80, 400, 0.24, 0.6
    ratio = n / (size - n)
    slope_there = rho / (1 + ratio)  # in units of S_y / S_x
    ppi = slope_there**2 / (size - n) + (1 - 2 * slope_there * rho + slope_there**2) / n
    design = (1 / n - 1 / size) * (1 - rho**2)
    assert variance * ppi == pytest.approx(variance * (design + 1 / size), abs=1e-12)
