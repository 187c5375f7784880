"""Whole estimates against survey software, on samples that are drawn here."""

import warnings

import numpy as np
import pytest

from audits.stats.combine import combine
from audits.stats.estimands import ESTIMANDS
from audits.stats.groups import strata_groups
from audits.stats.intervals import Moments, satterthwaite_freedom
from audits.stats.pool import Pool
from tests.stats.examples import BINARY


def drawn(seed):
    """Three strata of different sizes and sampling rates, with both labels settled for the sample."""
    rng = np.random.default_rng(seed)
    rows = {"stratum": [], "old": [], "new": [], "reference": []}
    for name, size, n in (("a", 400, 40), ("b", 90, 30), ("c", 25, 25)):
        for row in range(size):
            rows["stratum"].append(name)
            rows["old"].append("pass")
            rows["new"].append("fail" if name == "b" else "pass")
            labels = tuple("pass" if rng.random() < share else "fail" for share in (0.7, 0.6))
            rows["reference"].append(labels if row < n else None)
    return rows


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_stratified_mean_and_standard_error_equal_samplics(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library announces its successor on import
        from samplics import PopParam, TaylorEstimator

    rows = drawn(seed)
    pool = Pool.from_arrays(kind="version_upgrade", scale=BINARY, **rows)
    groups = strata_groups(pool, ESTIMANDS["success_difference"], None)
    moments = [Moments(g.size / pool.size, g.size, g.labels, g.variance, g.labels - 1) for g in groups]

    settled = [row for row, label in enumerate(rows["reference"]) if label]
    stratum = np.array([rows["stratum"][row] for row in settled])
    y = np.array([(rows["reference"][r][1] == "pass") - (rows["reference"][r][0] == "pass") for r in settled], float)
    sizes = {group.name: (group.size, group.labels) for group in groups}
    weight = np.array([sizes[name][0] / sizes[name][1] for name in stratum])
    fpc = {name: 1 - n / size for name, (size, n) in sizes.items()}
    outside = TaylorEstimator(param=PopParam.mean)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outside.estimate(y=y, samp_weight=weight, stratum=stratum, fpc=fpc)
    point, error = outside.point_est, outside.stderror
    if isinstance(point, dict):
        (point,), (error,) = point.values(), error.values()
    assert combine(groups).point == pytest.approx(point, abs=1e-12)
    assert sum(one.contribution for one in moments) ** 0.5 == pytest.approx(error, abs=1e-10)
    assert satterthwaite_freedom(moments) < 68
