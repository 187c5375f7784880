"""A pool as a file, and the two commands that read it."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from audits.pools import pool_read, scale_parse, scale_text
from audits.stats.estimate import estimate
from audits.stats.intervals import hypergeometric_interval
from audits.stats.policies import POLICIES
from audits.stats.projection import initial_allocation
from audits.templatetags.figures import percent
from core.errors import InputError

SWAP = """case_id,stratum,position,old,new,settled,reference
a,disagree,2,pass,fail,1,fail
b,disagree,1,pass,fail,1,pass
c,disagree,3,fail,pass,0,
d,disagree,4,fail,pass,1,pass
e,agree,1,pass,pass,underspecified,
f,agree,,fail,fail,0,
"""
UPGRADE = """case_id,stratum,position,old,new,settled,reference_old,reference_new,identical
a,agree,1,pass,pass,1,fail,pass,0
b,agree,2,pass,pass,0,,,0
c,identical | agree,,fail,fail,0,,,1
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "pool.csv"
    path.write_text(text, encoding="utf-8")
    return path


def refusals(path: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        pool_read(path)
    return [str(problem) for problem in caught.value.problems]


def test_pool_counts_the_settled_prefix_and_what_waits_behind_a_gap(tmp_path: Path) -> None:
    pool = pool_read(written(tmp_path, SWAP))

    cells = {(cell.stratum, cell.old, cell.new): cell for cell in pool.cells}
    assert pool.kind == "judge_swap"
    assert dict(pool.scale) == {"fail": 0.0, "pass": 1.0}
    assert dict(cells["disagree", "pass", "fail"].labels) == {"fail": 1, "pass": 1}
    assert dict(cells["disagree", "fail", "pass"].labels) == {}
    assert (pool.waiting["disagree"].settled, pool.waiting["disagree"].gaps) == (1, 1)
    assert (cells["agree", "pass", "pass"].undecided, cells["agree", "fail", "fail"].size) == (1, 1)


def test_pool_of_an_upgrade_keeps_pairs_of_references_and_identical_outputs(tmp_path: Path) -> None:
    pool = pool_read(written(tmp_path, UPGRADE))

    assert pool.kind == "version_upgrade"
    assert [(cell.stratum, dict(cell.labels), cell.structural_zero) for cell in pool.cells] == [
        ("agree", {("fail", "pass"): 1}, False),
        ("identical | agree", {}, True),
    ]


def test_pool_file_with_faults_gets_every_one_by_row_and_column(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "case_id,stratum,position,old,new,settled,reference\n"
        "a,disagree,0,pass,fail,1,fail\n"
        "a,,1,pass,fail,0,\n"
        "b,disagree,,pass,fail,1,fail\n"
        "c,disagree,2,pass,fail,yes,\n"
        "d,disagree,3,pass,fail,1,\n",
    )

    assert refusals(path) == [
        "pool.csv, row 1, column position: not a place in an order (found '0'); "
        "allowed: a whole number from 1, or blank where the case was not drawn",
        "pool.csv, row 2, column stratum: blank (found ''); allowed: a text",
        "pool.csv, row 3, column position: a settled case was not drawn (found ''); "
        "allowed: its place in the order of its stratum",
        "pool.csv, row 4, column settled: not a state (found 'yes'); allowed: 1, 0, underspecified",
        "pool.csv, row 5, column reference: the reference does not fit `settled` (found ''); "
        "allowed: a label exactly where settled is 1",
    ]


def test_case_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, SWAP + "a,agree,2,pass,pass,0,\n")

    assert refusals(path) == [
        "pool.csv, row 7, column case_id: the case stands in an earlier row (found 'a'); allowed: one row per case"
    ]


def test_pool_file_without_its_columns_is_refused_by_name(tmp_path: Path) -> None:
    frame = "case_id, stratum, position, old, new, settled"

    assert refusals(written(tmp_path, "case_id,stratum,old,new,settled\n")) == [
        f"pool.csv, column position: a column is missing; allowed: {frame}",
        "pool.csv: the file does not say which kind of comparison it is; allowed: reference (judge swap), or "
        "reference_old and reference_new (version upgrade)",
    ]


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("fail=0,pass=1", {"fail": 0.0, "pass": 1.0}),
        ("fail=0,review=,pass=1", {"fail": 0.0, "review": None, "pass": 1.0}),
        ("a=b=2", {"a=b": 2.0}),
        ("a=0.3333333333333333,b=-1.5", {"a": 1 / 3, "b": -1.5}),
    ],
)
def test_scale_is_read_as_it_is_written(text: str, scale: dict[str, float | None]) -> None:
    assert scale_parse(text) == scale
    assert scale_text(scale) == text


@pytest.mark.parametrize("text", ["fail", "=1", "fail=x", "fail=0,fail=1", "fail=nan"])
def test_scale_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--scale: not a scale"):
        scale_parse(text)


def run(name: str, *arguments: str) -> tuple[int, Any]:
    out = StringIO()
    try:
        call_command(name, *arguments, "--json", stdout=out)
    except SystemExit as stop:
        return int(str(stop.code)), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


def pool_of_disagreements(folder: Path, *, right: int, labelled: int, cases: int) -> Path:
    references = [("pass" if n <= right else "fail") if n <= labelled else "" for n in range(1, cases + 1)]
    rows = [
        f"c{n},disagree,{n},fail,pass,{int(bool(reference))},{reference}" for n, reference in enumerate(references, 1)
    ]
    return written(folder, "case_id,stratum,position,old,new,settled,reference\n" + "\n".join(rows) + "\n")


def test_estimate_of_a_census_is_the_truth_with_no_width(tmp_path: Path) -> None:
    path = pool_of_disagreements(tmp_path, right=30, labelled=40, cases=40)

    code, result = run("estimate", str(path), "--estimand", "accuracy_difference")

    assert code == 0
    assert result["point"] == 0.5
    assert result["interval"] == {"low": 0.5, "high": 0.5, "half_width": 0.0}


def test_estimate_before_twenty_labels_is_too_early(tmp_path: Path) -> None:
    path = pool_of_disagreements(tmp_path, right=10, labelled=19, cases=40)

    assert run("estimate", str(path), "--estimand", "accuracy_difference")[0] == 1
    assert run("estimate", str(path), "--estimand", "accuracy_difference", "--min-labels", "19")[0] == 0


def test_size_asks_for_more_labels_the_narrower_the_target(tmp_path: Path) -> None:
    path = pool_of_disagreements(tmp_path, right=15, labelled=30, cases=100)
    common = ("size", str(path), "--estimand", "accuracy_difference", "--target-half-width")

    wide, narrow = run(*common, "0.2")[1], run(*common, "0.05")[1]

    assert wide["state"] == narrow["state"] == "ok"
    assert 0 < wide["total_more"] < narrow["total_more"] <= 70


def test_size_without_a_width_says_what_is_missing(tmp_path: Path) -> None:
    path = pool_of_disagreements(tmp_path, right=15, labelled=30, cases=100)

    with pytest.raises(CommandError, match="--target-half-width: missing") as caught:
        call_command("size", str(path), "--estimand", "accuracy_difference")

    assert caught.value.returncode == 2


def test_estimate_of_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    code, result = run("estimate", str(tmp_path / "none.csv"), "--estimand", "accuracy_difference")

    assert code == 2
    assert result["errors"][0]["what"] == "there is no such file"


UNLABELLED = "case_id,stratum,position,old,new,settled,reference\n" + "".join(
    f"c{n},{'agree' if n > 60 else 'disagree'},,pass,{'pass' if n > 60 else 'fail'},0,\n" for n in range(1, 301)
)


@pytest.mark.parametrize("policy", POLICIES)
def test_size_before_any_label_gives_the_numbers_of_a_plan(tmp_path: Path, policy: str) -> None:
    path = written(tmp_path, UNLABELLED)
    options = ("--estimand", "accuracy", "--side", "new", "--target-half-width", "0.08", "--policy", policy)

    code, result = run("size", str(path), *options)

    plan = initial_allocation(pool_read(path), estimand="accuracy", side="new", half_width=0.08, policy=policy)
    assert (code, result["state"], result["n"], result["more"]) == (0, "ok", plan, plan)
    assert result["total_more"] == sum(plan.values())
    assert run("size", str(path), *options, "--agree-minimum", "240")[1]["n"]["agree"] == 240
    out = StringIO()
    call_command("size", str(path), *options, stdout=out)
    assert out.getvalue().startswith(f"A plan for ±8.0 points: {sum(plan.values())} labels.")


def test_size_says_the_chance_that_a_budget_reaches_the_width(tmp_path: Path) -> None:
    path = written(tmp_path, UNLABELLED)
    options = ("--estimand", "accuracy_difference", "--target-half-width", "0.03", "--budget", "60")

    code, result = run("size", str(path), *options)

    (point,) = [point for point in result["budget"]["curve"] if point["labels"] == 60]
    # 30 of 60 disagreements: each number of right ones from 0 to 30 is equally likely.
    narrow = [high - low <= 9 for low, high in (hypergeometric_interval(k, 30, 60, 0.05) for k in range(31))]
    assert (code, point["chance"]) == (0, pytest.approx(sum(narrow) / 31, abs=0.1))
    assert 0.1 < point["chance"] < 0.9
    out = StringIO()
    call_command("size", str(path), *options, stdout=out)
    said = f"The chance that the budget of 60 labels reaches ±3.0 points is {percent(point['chance'])}."
    assert out.getvalue().splitlines()[-1] == said


def test_budget_of_an_audit_under_way_is_refused(tmp_path: Path) -> None:
    options = ("--estimand", "accuracy_difference", "--target-half-width", "0.03", "--budget", "60")
    code, result = run("size", str(written(tmp_path, SWAP)), *options)
    assert (code, result["errors"][0]["what"]) == (2, "the file has labels already: a budget is held to a plan")


SCORED = "case_id,stratum,position,old,new,settled,reference_old,reference_new,score\n" + "".join(
    f"c{n},all,{n},pass,{'pass' if n % 2 else 'fail'},{int(n <= 80)},"
    + (f"pass,{'pass' if n % 5 < 2 else 'fail'}" if n <= 80 else ",")
    + f",{(n % 5 < 2) * 0.5 + n % 7 / 20}\n"
    for n in range(1, 401)
)


def test_finer_score_of_a_file_is_a_predictor_with_its_slope(tmp_path: Path) -> None:
    path = written(tmp_path, SCORED)

    result = run("estimate", str(path), "--estimand", "success_difference", "--predictor", "score")[1]

    expected = estimate(pool_read(path), estimand="success_difference", predictor="score").as_dict()
    assert result == json.loads(json.dumps(expected))
    assert result["method"] == "Satterthwaite t, strata, lambda from the score"
    (stratum,) = result["strata"]
    # lambda by hand: s_yx of the 80 labelled over S_x^2 of all 400, here above 1 and clipped.
    y = np.array([(n % 5 < 2) - 1.0 for n in range(1, 81)])
    x = np.array([(n % 5 < 2) * 0.5 + n % 7 / 20 for n in range(1, 401)])
    lam = min(1.0, np.cov(y, x[:80])[0, 1] / x.var(ddof=1))
    assert stratum["lam"] == pytest.approx(lam, abs=1e-12)
    assert result["point"] == pytest.approx(y.mean() + lam * (x.mean() - x[:80].mean()), abs=1e-12)


def test_score_as_predictor_without_its_column_is_refused(tmp_path: Path) -> None:
    path = pool_of_disagreements(tmp_path, right=15, labelled=30, cases=100)

    code, result = run("estimate", str(path), "--estimand", "accuracy_difference", "--predictor", "score")

    assert (code, result["errors"][0]["key"], result["errors"][0]["column"]) == (2, "--predictor", "score")


@pytest.mark.parametrize(
    ("options", "key", "value"),
    [
        (("--level", "0"), "level", "0.0"),
        (("--level", "1"), "level", "1.0"),
        (("--level", "95"), "level", "95.0"),
        (("--level", "nan"), "level", "nan"),
        (("--min-labels", "-1"), "min_labels", "-1"),
        (("--merge-below", "-2"), "merge_below", "-2"),
        (("--policy", "monitored"), "half_width", "None"),
        (("--policy", "monitored", "--target-half-width", "0"), "half_width", "0.0"),
        (("--policy", "anytime", "--target-half-width", "-0.1"), "half_width", "-0.1"),
        (("--policy", "monitored", "--target-half-width", "nan"), "half_width", "nan"),
        (("--side", "new"), "side", "new"),
        (("--estimand", "success_difference"), "kind", "judge_swap"),
        (("--estimand", "accuracy"), "side", "None"),
        (("--scale", "fail=0"), "cells.disagree.fail→pass", "pass"),
        (("--scale", "fail=,pass=", "--estimand", "success_rate", "--side", "old"), "scale", "fail, pass"),
    ],
)
@pytest.mark.parametrize("command", ["estimate", "size"])
def test_option_that_cannot_be_is_named_with_its_value(
    tmp_path: Path, command: str, options: tuple[str, ...], key: str, value: str
) -> None:
    path = pool_of_disagreements(tmp_path, right=15, labelled=30, cases=100)
    given = {"--estimand": "accuracy_difference"} | dict(zip(options[::2], options[1::2], strict=True))
    if command == "size" and key == "half_width" and value == "None":
        key, value = "--target-half-width", None  # type: ignore[assignment]
    elif command == "size":
        given = {"--target-half-width": "0.1"} | given

    code, result = run(command, str(path), *(f"{name}={one}" for name, one in given.items()))

    assert (code, result["errors"][0]["key"], result["errors"][0].get("value")) == (2, key, value)


def test_width_that_no_number_of_labels_reaches_is_refused_with_the_bound(tmp_path: Path) -> None:
    common = ("--estimand", "accuracy_difference", "--target", "traffic", "--target-half-width")
    # S^2 of y after 15 of 30 disagreements, each smoothed by one: 1; the bound is z sqrt(1 / 100).
    labelled = pool_of_disagreements(tmp_path, right=15, labelled=30, cases=100)
    code, result = run("size", str(labelled), *common, "0.19")
    (error,) = result["errors"]
    assert (code, error["value"]) == (2, "0.19")
    assert error["what"] == "no number of labels of these 100 cases reaches this width for future traffic"
    assert error["allowed"] == "above 0.195996 at the variance that is assumed, or the target pool"
    # Before any label at most 60 of 300 cases are +1 or -1: z sqrt(0.2 / 300).
    code, result = run("size", str(written(tmp_path, UNLABELLED)), *common, "0.05")
    assert (code, result["errors"][0]["allowed"].split()[1]) == (2, "0.0506061")


def test_label_for_a_case_that_was_not_drawn_and_label_off_the_scale_are_named(tmp_path: Path) -> None:
    head = "case_id,stratum,position,old,new,settled,reference\n"
    undrawn = written(tmp_path, head + "a,d,,pass,fail,1,pass\n")
    assert run("estimate", str(undrawn), "--estimand", "accuracy_difference")[1]["errors"][0]["column"] == "position"
    odd = written(tmp_path, head + "a,d,1,pass,fail,1,maybe\n")
    code, result = run("estimate", str(odd), "--estimand", "accuracy_difference", "--scale", "fail=0,pass=1")
    assert (code, result["errors"][0]["value"], result["errors"][0]["allowed"]) == (2, "maybe", "fail, pass")
    empty = written(tmp_path, head)
    assert run("estimate", str(empty), "--estimand", "accuracy_difference")[1]["errors"][0]["what"] == (
        "there is no data row"
    )
    gap = written(tmp_path, head + "a,d,1,pass,fail,1,pass\nb,d,3,pass,fail,1,pass\n")
    assert run("estimate", str(gap), "--estimand", "accuracy_difference")[1]["errors"][0]["value"] == "3"
