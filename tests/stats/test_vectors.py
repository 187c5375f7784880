"""The package against the project's own reference values, made before it by a separate script (to 1e-9)."""

import pytest

from audits.stats.combine import combine, population_variance, weighted
from audits.stats.estimands import ESTIMANDS
from audits.stats.estimate import estimate
from audits.stats.groups import cell_groups, strata_groups
from audits.stats.intervals import Moments, satterthwaite_freedom, satterthwaite_interval, z_value
from tests.stats.examples import reference, reference_pool

RECOMMENDED = reference("vectors")["recommended"]
UPGRADE, SWAP = reference_pool("version_upgrade"), reference_pool("judge_swap")
Z = z_value(0.95)


def close(value):
    return pytest.approx(value, abs=1e-9)


def bare(pool, **options):
    return estimate(pool, min_labels=0, merge_below=0, **options)


def moments_of(groups):
    size = sum(group.size for group in groups)
    return [Moments(g.size / size, g.size, g.labels, g.variance, g.labels - 1) for g in groups]


def test_stratified_mean_of_an_upgrade_equals_the_reference():
    expected = RECOMMENDED["(i) strat"]
    groups = strata_groups(UPGRADE, ESTIMANDS["success_difference"], None)
    moments = moments_of(groups)
    point = combine(groups).point
    assert point == close(expected["est"])
    assert sum(one.contribution for one in moments) ** 0.5 == close(expected["se"])
    assert satterthwaite_freedom(moments) == close(expected["df"])
    interval = satterthwaite_interval(point, moments, Z)
    assert (interval.low, interval.high) == close((expected["lo"], expected["hi"]))


def test_human_only_interval_of_an_upgrade_equals_the_reference():
    expected = RECOMMENDED["(i) strat MOVER-Wilson-FPC"]
    result = bare(UPGRADE, estimand="success_difference")
    human = result.human_only
    assert (human.point, human.interval.low, human.interval.high) == close(
        (expected["est"], expected["lo"], expected["hi"])
    )
    rows = {row.name: (row.mean, row.low, row.high) for row in result.strata}
    assert rows["d"] == close(tuple(expected["stratum_d"]))
    assert rows["a"] == close(tuple(expected["stratum_a"]))


def test_post_stratified_interval_of_an_upgrade_equals_the_reference():
    expected = RECOMMENDED["(i) cells MOVER-Wilson-FPC"]
    result = bare(UPGRADE, estimand="success_difference")
    assert result.point == close(expected["est"])
    assert (result.interval.low, result.interval.high) == close((expected["lo"], expected["hi"]))


@pytest.mark.parametrize("name", sorted(RECOMMENDED["(i) cells MOVER-Wilson-FPC"]["cells"]))
def test_limits_of_each_cell_equal_the_reference(name):
    expected = RECOMMENDED["(i) cells MOVER-Wilson-FPC"]["cells"][name]
    stratum, old, new = name.replace("a=", "").replace("b=", "").split(",")
    label = {"0": "fail", "1": "pass"}
    groups, _ = cell_groups(UPGRADE, ESTIMANDS["success_difference"], None, 0)
    (group,) = [one for one in groups if one.name == f"{stratum}: {label[old]}→{label[new]}"]
    limits = group.limits(Z)
    assert (group.size, group.labels) == (expected["N"], expected["n"])
    assert (group.counts.get(1.0, 0), group.counts.get(-1.0, 0)) == (expected["plus"], expected["minus"])
    assert (group.mean, limits.low, limits.high) == close((expected["est"], expected["lo"], expected["hi"]))


def test_exact_interval_of_a_swap_equals_the_reference():
    result = bare(SWAP, estimand="accuracy_difference")
    assert result.method == "hypergeometric exact, strata"
    assert result.point == close(RECOMMENDED["(ii)"]["est"])
    assert [result.interval.low, result.interval.high] == close(RECOMMENDED["(ii)"]["hypergeometric"])


def test_score_interval_of_a_swap_equals_the_reference():
    result = bare(SWAP, estimand="accuracy_difference", exact=False)
    assert [result.interval.low, result.interval.high] == close(RECOMMENDED["(ii)"]["wilson_fpc"])
    (row,) = [row for row in result.strata if row.name == "d"]
    shares = RECOMMENDED["(ii)"]["p_wilson_fpc"]
    assert [row.low, row.high] == close([2 * p - 1 for p in shares])


def test_standard_error_of_a_swap_equals_the_reference():
    groups = [g for g in strata_groups(SWAP, ESTIMANDS["accuracy_difference"], None) if not g.known]
    (moment,) = moments_of(groups)
    share = groups[0].size / SWAP.size
    assert share * moment.contribution**0.5 == close(RECOMMENDED["(ii)"]["se"])


@pytest.mark.parametrize(
    ("estimand", "side", "name"),
    [
        ("accuracy", "old", "(iii) accuracy A strata MOVER"),
        ("accuracy", "new", "(iii) accuracy B strata MOVER"),
        ("success_rate", "new", "(iii) pass rate strata MOVER"),
    ],
)
def test_human_only_level_equals_the_reference(estimand, side, name):
    human = bare(SWAP, estimand=estimand, side=side).human_only
    expected = RECOMMENDED[name]
    assert human.point == close(expected["est"])
    assert (human.interval.low, human.interval.high) == close((expected["lo"], expected["hi"]))


def test_post_stratified_pass_rate_equals_the_reference():
    result = bare(SWAP, estimand="success_rate", side="old")
    expected = RECOMMENDED["(iii) pass rate cells MOVER"]
    assert result.point == close(expected["est"])
    assert (result.interval.low, result.interval.high) == close((expected["lo"], expected["hi"]))


def test_traffic_adds_the_variance_of_a_future_case():
    expected = RECOMMENDED["(i) superpopulation"]
    groups = strata_groups(UPGRADE, ESTIMANDS["success_difference"], None)
    variance = population_variance(weighted(groups), combine(groups).point)
    assert variance == close(expected["S2"])
    design = sum(one.contribution for one in moments_of(groups))
    assert (design + variance / UPGRADE.size) ** 0.5 == close(expected["se"])


def test_traffic_widens_each_side_of_the_interval_by_the_same_square():
    pool = bare(UPGRADE, estimand="success_difference")
    traffic = bare(UPGRADE, estimand="success_difference", target="traffic")
    groups, _ = cell_groups(UPGRADE, ESTIMANDS["success_difference"], None, 0)
    added = Z**2 * population_variance(weighted(groups), pool.point) / 60
    assert (traffic.point - traffic.interval.low) ** 2 == close((pool.point - pool.interval.low) ** 2 + added)
    assert (traffic.interval.high - traffic.point) ** 2 == close((pool.interval.high - pool.point) ** 2 + added)
