"""docs/methods.md names everything that is registered, and its worked tables are what the code gives."""

import math
import re
from dataclasses import fields
from pathlib import Path

import pytest

from audits.secondary import slice_findings
from audits.stats.agreement import agreement
from audits.stats.class_conditional import class_conditional
from audits.stats.estimands import ESTIMANDS
from audits.stats.estimate import estimate
from audits.stats.four_cells import CELL_NAMES, Share, four_cells, independence_ratio, regression_share
from audits.stats.groups import Merge
from audits.stats.helpfulness import helpfulness
from audits.stats.intervals import (
    Part,
    hypergeometric_interval,
    hypergeometric_tails,
    mover,
    watched_limits,
    wilson_interval,
    z_value,
)
from audits.stats.outlook import plan_outlook
from audits.stats.pace import pace
from audits.stats.policies import POLICIES
from audits.stats.pool import Cell, Pool, Scores
from audits.stats.remaining import Point, Sizing, remaining_audit
from audits.stats.repeats import Floor, RepeatPair, Spread, rerun_floor
from audits.stats.result import Estimate, HumanOnly, JudgeOnly, Stratum
from audits.stats.slices import slice_estimates
from tests.stats.examples import BINARY, noise, swap

METHODS = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
SWAP = swap(disagree=(200, {"pass": 70, "fail": 30}), agree=(1800, {"pass": 57, "fail": 3}))


@pytest.mark.parametrize("name", [*ESTIMANDS, *POLICIES])
def test_every_estimand_and_policy_is_documented(name):
    assert f"`{name}`" in METHODS


def documented(heading):
    """The names in the first column of the table under a heading."""
    table = METHODS.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return {
        name for row in table.splitlines() if row.startswith("| `") for name in re.findall("`(.*?)`", row.split("|")[1])
    }


@pytest.mark.parametrize(
    ("result", "heading"), [(Estimate, "Fields of `Estimate.as_dict()`"), (Sizing, "Fields of `size --json`")]
)
def test_fields_of_a_result_are_those_documented(result, heading):
    assert documented(heading) == {field.name for field in fields(result)}


@pytest.mark.parametrize(
    "field", [field.name for part in (Stratum, HumanOnly, JudgeOnly, Merge, Point) for field in fields(part)]
)
def test_every_field_of_a_part_is_documented(field):
    assert f"`{field}`" in METHODS.partition("## Fields of")[2]


def test_fields_of_a_slice_are_those_documented():
    sentence = METHODS.partition("Fields of each: ")[2].partition(";")[0]
    (found,) = slice_findings({"all": SWAP}, estimand="accuracy_difference", side=None, level=0.95)
    assert re.findall("`(.*?)`", sentence) == list(found)


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


def test_worked_table_of_a_score_is_what_the_code_gives():
    scores = Scores(530.0, 330.9, {"pass": (21.6, 14.4), "fail": (9.6, 4.8)})
    cell = Cell("all", "pass", "pass", 1000, {"pass": 36, "fail": 24}, scores=scores)
    found = estimate(Pool((cell,), "judge_swap", BINARY), estimand="success_rate", side="old", predictor="score")
    alone, (stratum,) = found.human_only.interval, found.strata
    assert f"| {stratum.lam:.6f} |" in METHODS
    assert f"= {found.point:.6f} |" in METHODS
    assert f"| {found.interval.low:.6f} to {found.interval.high:.6f} | {alone.low:.6f} to {alone.high:.6f} |" in METHODS


def test_worked_table_of_a_watched_interval_is_what_the_code_gives():
    z = z_value(0.95)

    def one(multiplier):
        return wilson_interval(27, 30, math.inf, multiplier)

    def both(multiplier):
        return mover([Part(0.5, 0.9, one(multiplier))] * 2)

    for multiplier in (z, 6.0):
        own, whole = one(multiplier), both(multiplier)
        assert f"| {own.low:.6f}, {own.high:.6f} | {whole.low:.6f}, {whole.high:.6f} |" in METHODS
    shown = watched_limits(both, 0.9, multiplier=6.0, z=z)
    assert f"| {shown.low:.6f}, and" in METHODS
    assert f"= {shown.high:.6f}, cut at 1 |" in METHODS


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


@pytest.mark.parametrize("labels", [200, 400])
def test_worked_table_of_a_noisy_judge_is_what_the_code_gives(labels):
    shown = estimate(noise(labels), estimand="success_difference")
    apart = estimate(noise(labels), estimand="success_difference", merge_below=0)
    widths = (apart.interval, shown.human_only.interval, shown.interval)
    cells = [f"{one.half_width:.4f}" for one in widths] + [f"{-100 * apart.human_only.gain:.0f} %"]
    assert f"| {labels} | {' | '.join(cells)} |" in METHODS


def interval_words(interval):
    return f"{interval.low:.6f}, {interval.high:.6f}"


def test_worked_table_of_traffic_is_what_the_code_gives():
    for target in ("pool", "traffic"):
        found = estimate(SWAP, estimand="accuracy", side="old", target=target)
        sides = f"{found.point - found.interval.low:.6f} | {found.interval.high - found.point:.6f}"
        assert f"{sides} | {interval_words(found.interval)} |" in METHODS


def test_worked_table_of_four_cells_is_what_the_code_gives():
    shares = four_cells(SWAP)
    ratios = (regression_share(SWAP), independence_ratio(SWAP))
    found = [getattr(shares, name).interval for name in CELL_NAMES] + [ratio.interval for ratio in ratios]
    assert f"| {' | '.join(interval_words(interval) for interval in found)} |" in METHODS
    for ratio in ratios:
        assert f"= {ratio.point:.6f} |" in METHODS


TASKS = (
    ("agree", "pass", "pass", 40, {"pp": 16, "pf": 2, "ff": 2}),
    ("agree", "fail", "fail", 40, {"ff": 16, "fp": 3, "pp": 1}),
    ("disagree", "fail", "pass", 12, {"fp": 7, "pp": 3, "ff": 2}),
    ("disagree", "pass", "fail", 8, {"pf": 4, "pp": 2, "ff": 2}),
)


def test_worked_table_of_judge_error_is_what_the_code_gives():
    word = {"p": "pass", "f": "fail"}
    cells = []
    for stratum, old, new, size, labels in TASKS:
        listed = ", ".join(f"{count} {key}" for key, count in labels.items())
        assert f"| {old}, {new} | {size} | {listed} | {size // sum(labels.values())} |" in METHODS
        keys = {(word[key[0]], word[key[1]]): count for key, count in labels.items()}
        cells.append(Cell(stratum, old, new, size, keys))
    pool = Pool(tuple(cells), "version_upgrade", BINARY)
    found, why = class_conditional(pool), helpfulness(pool)
    for rate in (found.tpr_old, found.tpr_new, found.fpr_old, found.fpr_new):
        assert f"= {rate.point:.4f} |" in METHODS
    assert f"| {found.youden_old.point:.4f} | {found.delta.point:.5f} | 0.05 |" in METHODS
    assert f"= {found.e.point:.4f} |" in METHODS
    assert f"= {found.transported.point:.5f} |" in METHODS
    assert (why.improved, why.worsened) == pytest.approx((13, 8), abs=1e-9)
    assert (why.youden_improved, why.youden_worsened) == pytest.approx((7 / 13, 4 / 8), abs=1e-9)
    assert f"r = {why.r:.3f}, r_errors = {why.r_errors:.3f}." in METHODS


def test_worked_table_of_repeats_is_what_the_code_gives():
    word = {"p": "pass", "f": "fail"}
    said = {number: [word[one] for one in text] for number, text in (("1", "ppffp"), ("2", "pffpp"), ("3", "ppfff"))}
    found = rerun_floor(said, scale=BINARY, references=[word[one] for one in "ppfff"])
    for name, values, spread in (
        ("labels changed", [pair.changed for pair in found.pairs], found.changed),
        ("regressed", [pair.regressed.point for pair in found.pairs], found.regressed),
    ):
        row = " | ".join(f"{value:.1f}" for value in values)
        assert f"| {name} | {row} | {spread.low:.1f}, {spread.middle:.1f}, {spread.high:.1f} |" in METHODS


def test_worked_table_of_slices_is_what_the_code_gives():
    pools = {str(right): swap(disagree=(200, {"pass": right, "fail": 60 - right})) for right in (45, 38, 36)}
    for one in slice_estimates(pools, estimand="accuracy_difference"):
        row = next(line for line in METHODS.splitlines() if line.startswith(f"| {one.name} of 60 |"))
        _, _, point, p_value, adjusted, differs, _ = (cell.strip() for cell in row.split("|"))
        assert float(point) == pytest.approx(one.estimate.point, abs=5e-5)
        assert float(p_value) == pytest.approx(one.p_value, rel=0.01)
        assert float(adjusted.rpartition("= ")[2]) == pytest.approx(one.adjusted, rel=0.01)
        assert differs == ("yes" if one.differs else "no")


def test_worked_example_of_alpha_is_what_the_code_gives():
    found = agreement([["p", "p"], ["p", "f"], ["f", "f"], ["p", "p"]])
    assert found.raw == 3 / 4
    assert f"alpha = 1 - 7 x 2/30 = {found.alpha:.4f}" in METHODS


def test_worked_table_of_the_remaining_audit_is_what_the_code_gives():
    half = swap(disagree=(200, {"pass": 20, "fail": 10}), agree=(1800, {"pass": 29, "fail": 1}))
    found = remaining_audit(half, estimand="accuracy", side="old", half_width=0.02)
    numbers = f"{found.more['disagree']} + {found.more['agree']} | {found.least}, {found.most}"
    assert f"| {numbers} | {found.half_width:.5f} | {found.without_judge} |" in METHODS


def test_fields_of_repeats_are_those_documented():
    sentence = METHODS.partition("Fields of `--json`: ")[2].partition("\n\n")[0]
    parts = (Floor, RepeatPair, Spread, Share)
    assert set(re.findall("`(.*?)`", sentence)) == {field.name for part in parts for field in fields(part)}


def test_worked_table_of_a_plan_s_chance_is_what_the_code_gives():
    pool = swap(disagree=(20, {}), agree=(40, {}))
    asked = {"estimand": "accuracy_difference", "half_width": 0.07, "policy": "planned", "seed": "1"}
    found = plan_outlook(pool, **asked, min_labels=0, agree_minimum=0)
    chances = {point.labels: point.chance for point in found.curve}
    for labels in (12, 14, 16):
        spans = [high - low for low, high in (hypergeometric_interval(k, labels, 20, 0.05) for k in range(labels + 1))]
        narrow = sum(span <= 4 for span in spans)
        cells = f"{narrow}/{labels + 1} = {narrow / (labels + 1):.3f}" if narrow <= labels else "1"
        assert f"| {cells} | {chances[labels]:.3f} |" in METHODS


def test_worked_table_of_the_pace_is_what_the_code_gives():
    found = pace([60.0 * place for place in range(101)])
    least, most = found.hours_for(95, 210)
    factor = found.high / found.per_hour
    row = f"| {found.labels} | {found.hours:.3f} | {found.per_hour:.0f} | {factor:.4f} |"
    assert f"{row} {found.low:.2f} to {found.high:.2f} | {least:.1f} to {most:.1f} hours |" in METHODS
