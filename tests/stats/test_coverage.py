"""A fast subset of benchmarks/coverage.py: the intervals hold where naive ones do not.

A simulated coverage of R draws has a standard error of sqrt(p (1 - p) / R); the tolerances are four of them.
"""

from collections import Counter

import numpy as np
import pytest

from audits.stats.estimate import estimate
from audits.stats.pool import Cell, Pool
from tests.stats.examples import BINARY

DRAWS = 300
SLACK = 4 * (0.95 * 0.05 / DRAWS) ** 0.5


def sample_of(rng, population, n):
    """Counts of labels when the first n of a stratum's random order are settled; cells in the order given."""
    flat = [(cell, key) for cell, labels in population.items() for key, count in labels.items() for _ in range(count)]
    chosen = Counter(flat[row] for row in rng.permutation(len(flat))[:n])
    return [
        (cell, sum(labels.values()), {key: chosen[cell, key] for key in labels if chosen[cell, key]})
        for cell, labels in population.items()
    ]


def drawn(rng, strata, sizes, kind):
    cells = [
        Cell(name, *verdicts, size, labels)
        for name, population in strata.items()
        for verdicts, size, labels in sample_of(rng, population, sizes[name])
    ]
    return Pool(tuple(cells), kind, BINARY)


def coverage(truth, strata, sizes, kind="judge_swap", **options):
    rng = np.random.default_rng(20261130)
    hits = 0
    for _ in range(DRAWS):
        found = estimate(drawn(rng, strata, sizes, kind), **options).interval
        hits += found.low - 1e-12 <= truth <= found.high + 1e-12
    return hits / DRAWS


# Both judges are wrong on 2 % of the agreements: the case where pooled and Wald intervals cover 0.00 to 0.91.
SHARED_ERRORS = {
    "disagree": {("pass", "fail"): {"pass": 60, "fail": 40}, ("fail", "pass"): {"pass": 40, "fail": 60}},
    "agree": {("pass", "pass"): {"pass": 1180, "fail": 20}, ("fail", "fail"): {"pass": 16, "fail": 584}},
}


def test_accuracy_with_rare_shared_errors_is_covered():
    truth = (60 + 60 + 1180 + 584) / 2000
    sizes = {"disagree": 100, "agree": 100}
    assert coverage(truth, SHARED_ERRORS, sizes, estimand="accuracy", side="old") >= 0.95 - SLACK


def test_exact_interval_of_a_swap_is_covered():
    strata = {"disagree": {("fail", "pass"): {"pass": 110, "fail": 70}}, "agree": {("pass", "pass"): {"pass": 1820}}}
    sizes = {"disagree": 60, "agree": 30}
    assert coverage(40 / 2000, strata, sizes, estimand="accuracy_difference") >= 0.95 - SLACK


def test_estimate_among_decidable_cases_is_covered_when_answers_depend_on_the_outcome():
    # New right on 120 of 200 disagreements; undecidable on 48 of those and on 8 of the others.
    rng = np.random.default_rng(11)
    stratum = ["pass"] * 72 + [None] * 48 + ["fail"] * 72 + [None] * 8
    hits = bounded = 0
    for _ in range(DRAWS):
        seen = Counter(stratum[row] for row in rng.permutation(200)[:100])
        labels = {key: seen[key] for key in ("pass", "fail")}
        cells = (Cell("disagree", "fail", "pass", 200, labels, seen[None]), Cell("agree", "pass", "pass", 1800))
        found = estimate(Pool(cells, "judge_swap", BINARY), estimand="accuracy_difference")
        truth_of_all = (120 - 80) / 2000
        hits += found.interval.low <= 0 <= found.interval.high
        bounded += found.worst_case.low <= truth_of_all <= found.worst_case.high
    # Among the decidable the judges are equal: (72 - 72) / (144 + 1800).
    assert hits / DRAWS >= 0.95 - SLACK
    assert bounded / DRAWS >= 0.99


UPGRADE = {
    "disagree": {
        ("fail", "pass"): {("fail", "pass"): 78, ("pass", "pass"): 30, ("pass", "fail"): 12},
        ("pass", "fail"): {("pass", "fail"): 52, ("fail", "fail"): 20, ("fail", "pass"): 8},
    },
    "agree": {("pass", "pass"): {("pass", "pass"): 1764, ("fail", "pass"): 36}},
}


@pytest.mark.parametrize("policy", ["planned", "monitored", "anytime"])
def test_upgrade_with_one_sided_rare_errors_is_covered_at_one_look(policy):
    truth = (78 + 8 + 36 - 12 - 52) / 2000
    covered = coverage(
        truth,
        UPGRADE,
        {"disagree": 100, "agree": 100},
        "version_upgrade",
        estimand="success_difference",
        policy=policy,
        half_width=0.03,
    )
    assert covered >= 0.95 - SLACK


def test_watching_a_swap_keeps_the_error_of_all_looks_together():
    rng = np.random.default_rng(7)
    outcomes = np.array([1] * 45 + [0] * 45)
    excluded = 0
    for _ in range(100):
        order = rng.permutation(outcomes)
        for n in range(20, 61, 2):
            right = int(order[:n].sum())
            cells = (Cell("disagree", "fail", "pass", 90, {"pass": right, "fail": n - right}),)
            pool = Pool((*cells, Cell("agree", "pass", "pass", 910)), "judge_swap", BINARY)
            found = estimate(pool, estimand="accuracy_difference", policy="monitored", half_width=0.01)
            if not found.interval.low <= 0 <= found.interval.high:
                excluded += 1
                break
            if found.final:
                break
    assert excluded / 100 <= 0.05 + 4 * (0.05 * 0.95 / 100) ** 0.5
