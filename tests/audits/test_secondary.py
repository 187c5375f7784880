"""What else the labels of a finished audit say. Expected values: the owners' figures for OpenQA, all labels known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audits.plans import has_stopped
from audits.secondary import secondary_findings
from audits.stats.pool import Cell, Pool
from benchmarks.openqa import Labelled, labelled_cases

SCALE: dict[str, float | None] = {"fail": 0.0, "pass": 1.0}


def census(cases: Labelled) -> Pool:
    return Pool.from_arrays(
        kind=cases.kind,
        scale=cases.scale,
        stratum=cases.stratum,
        old=cases.old,
        new=cases.new,
        reference=cases.reference,
        identical=cases.same_content,
    )


def points(pool: Pool, by: str = "agreement") -> dict[str, Any]:
    return {finding["name"]: finding["point"] for finding in secondary_findings(pool, level=0.95, by=by)}


@pytest.mark.real_data
def test_swap_with_all_labels_gives_the_owners_cells_and_ratios(real_data: Path) -> None:
    found = points(census(labelled_cases("swap", real_data)))

    assert found["both judges right"] == pytest.approx(1175 / 1487, abs=1e-12)
    assert found["only the old judge right (regression, of all cases)"] == pytest.approx(71 / 1487, abs=1e-12)
    assert found["only the new judge right (backward regression, of all cases)"] == pytest.approx(86 / 1487, abs=1e-12)
    assert found["neither judge right"] == pytest.approx(155 / 1487, abs=1e-12)
    assert found["regression, as a share of the old judge's correct labels"] == pytest.approx(71 / 1246, abs=1e-12)
    assert found["independence ratio"] == pytest.approx((71 / 1487) / (1246 / 1487 * 226 / 1487), abs=1e-12)
    assert found["accuracy of the old judge"] == pytest.approx(1246 / 1487, abs=1e-12)
    assert found["accuracy of the new judge"] == pytest.approx(1261 / 1487, abs=1e-12)


@pytest.mark.real_data
def test_upgrade_with_all_labels_gives_the_owners_class_conditional_errors(real_data: Path) -> None:
    found = points(census(labelled_cases("upgrade", real_data)))

    assert found["success rate of the old version"] == pytest.approx(194 / 299, abs=1e-12)
    assert found["success rate of the new version"] == pytest.approx(226 / 299, abs=1e-12)
    assert round(found["true positive rate of the judge on the old version"], 3) == 0.866
    assert round(found["true positive rate of the judge on the new version"], 3) == 0.867
    assert round(found["false positive rate of the judge on the old version"], 3) == 0.133
    assert round(found["false positive rate of the judge on the new version"], 3) == 0.137
    assert round(found["whole error of the judged difference (e)"], 3) == -0.027


def test_what_the_labels_do_not_allow_says_why_instead_of_a_number() -> None:
    pool = Pool(
        (
            Cell("agree", "pass", "pass", 50, {}),
            Cell("disagree", "pass", "fail", 40, {"pass": 20, "fail": 10}),
        ),
        "judge_swap",
        SCALE,
    )

    findings = {finding["name"]: finding for finding in secondary_findings(pool, level=0.95, by="agreement")}

    assert findings["four cells"]["point"] is None
    assert findings["four cells"]["note"].startswith("strata: a stratum has no label yet (found 'agree'")
    assert findings["accuracy of the old judge"]["note"] == "agree has 0 of 20 labels"


def test_transition_strata_offer_no_test_of_differential_error() -> None:
    pool = Pool(
        (
            Cell("pass→pass", "pass", "pass", 60, {("pass", "pass"): 25, ("fail", "pass"): 5}),
            Cell("pass→fail", "pass", "fail", 40, {("pass", "fail"): 20, ("fail", "fail"): 5}),
        ),
        "version_upgrade",
        SCALE,
    )

    by_transition = {f["name"]: f for f in secondary_findings(pool, level=0.95, by="transition")}

    assert by_transition["differential error"]["point"] is None
    assert "inclusion depends on the direction of change" in by_transition["differential error"]["note"]


@pytest.mark.parametrize(
    ("policy", "result", "drawn", "stopped"),
    [
        ("planned", {"n": 50, "final": False}, 50, True),
        ("planned", {"n": 49, "final": False}, 50, False),
        ("monitored", {"n": 50, "final": False}, 50, False),
        ("monitored", {"n": 40, "final": True}, 50, True),
        ("anytime", {"n": 40, "final": False}, 50, True),
    ],
)
def test_audit_has_stopped_when_its_policy_says_so(
    policy: str, result: dict[str, Any], drawn: int, stopped: bool
) -> None:
    plan = {"policy": policy, "half_width": 0.05, "detectable_difference": None, "level": 0.95, "power": None}
    shown = result | {"interval": {"half_width": 0.05}}

    assert has_stopped(plan, shown, drawn) is stopped
    assert has_stopped(plan, result | {"interval": None}, drawn) is False


def test_upgrade_says_why_its_judge_helps_little() -> None:
    # 40 improved of which the judge saw 10, 20 worsened of which it saw 15, 40 unchanged: a census of 100 tasks.
    cells = (
        Cell("disagree", "fail", "pass", 10, {("fail", "pass"): 10}),
        Cell("disagree", "pass", "fail", 15, {("pass", "fail"): 15}),
        Cell("agree", "fail", "fail", 50, {("fail", "pass"): 30, ("fail", "fail"): 20}),
        Cell("agree", "pass", "pass", 25, {("pass", "fail"): 5, ("pass", "pass"): 20}),
    )

    found = {
        one["name"]: one
        for one in secondary_findings(Pool(cells, "version_upgrade", SCALE), level=0.95, by="agreement")
    }

    improved = found["mean judged change on tasks that improved"]
    assert improved["point"] == pytest.approx(10 / 40, abs=1e-12)
    assert improved["note"].startswith("40 tasks improved, 20 got worse, as estimated; no interval")
    assert found["mean judged change on tasks that got worse, reversed"]["point"] == pytest.approx(15 / 20, abs=1e-12)
    assert found["mean judged change on the other tasks"]["point"] == pytest.approx(0.0, abs=1e-12)
    outcomes = np.repeat([[0, 1], [1, 0], [0, 1], [0, 0], [1, 0], [1, 1]], [10, 15, 30, 20, 5, 20], axis=0)
    expected = np.corrcoef(outcomes.T)[0, 1]
    assert found["correlation of the versions' outcomes over tasks"]["point"] == pytest.approx(expected, abs=1e-12)
