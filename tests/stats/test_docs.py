"""docs/methods.md names everything that is registered, and its worked tables are what the code gives."""

from dataclasses import fields
from pathlib import Path

import pytest

from audits.stats.estimands import ESTIMANDS
from audits.stats.estimate import estimate
from audits.stats.intervals import hypergeometric_interval, hypergeometric_tails, wilson_interval, z_value
from audits.stats.policies import POLICIES
from audits.stats.result import Estimate, Stratum
from tests.stats.examples import swap

METHODS = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
SWAP = swap(disagree=(200, {"pass": 70, "fail": 30}), agree=(1800, {"pass": 57, "fail": 3}))


@pytest.mark.parametrize("name", [*ESTIMANDS, *POLICIES])
def test_every_estimand_and_policy_is_documented(name):
    assert f"`{name}`" in METHODS


@pytest.mark.parametrize("field", [field.name for result in (Estimate, Stratum) for field in fields(result)])
def test_every_field_of_the_result_is_documented(field):
    assert f"`{field}`" in METHODS.partition("## Fields of")[2]


def test_worked_table_of_wilson_is_what_the_code_gives():
    found = wilson_interval(10, 14, 20, z_value(0.95))
    assert f"{found.low:.6f}, {found.high:.6f}" in METHODS


def test_worked_table_of_mover_is_what_the_code_gives():
    found = estimate(SWAP, estimand="accuracy", side="old").interval
    assert f"Limits {found.low:.6f} and {found.high:.6f}" in METHODS


def test_worked_table_of_the_exact_interval_is_what_the_code_gives():
    assert hypergeometric_interval(10, 14, 20, 0.05) == (11, 16)
    for total in (10, 11):
        assert f"| {total} | {hypergeometric_tails(10, 14, 20, total)[1]:.4f} |" in METHODS


@pytest.mark.parametrize("policy", POLICIES)
def test_worked_table_of_the_policies_is_what_the_code_gives(policy):
    found = estimate(SWAP, estimand="accuracy_difference", policy=policy, half_width=0.01)
    row = f"{found.fraction:.3f} | {found.multiplier:.3f} |"
    limits = f"| {found.interval.low:.3f} to {found.interval.high:.3f} |"
    assert any(row in line and limits in line for line in METHODS.splitlines() if f"`{policy}`" in line)


def test_worked_table_of_undecided_cases_is_what_the_code_gives():
    pool = swap(disagree=(200, {"pass": 60, "fail": 20}), undecided=20)
    found = estimate(pool, estimand="accuracy_difference")
    assert f"{found.point:.6f}, interval {found.interval.low:.6f} to {found.interval.high:.6f}" in METHODS
    assert (found.worst_case.low, found.worst_case.high) == pytest.approx((0.006, 0.07), abs=1e-9)
