"""Every estimand, from a plan to a report and back from its exported file: the same numbers by both ways."""

import json
import shlex
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from adjudication.services.settlements import item_settle
from audits.exports.pool import estimate_command, pool_write
from audits.exports.report import report_data, report_html
from audits.exports.wording import POLICIES as POLICY_WORDS
from audits.models import Audit, Draw
from audits.selectors import last_look
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from audits.stats.differential import holm
from audits.stats.estimands import ESTIMANDS
from audits.stats.policies import POLICIES
from core.models import Project
from tests import factories
from tests.factories import NOW, Verdicts

pytestmark = [pytest.mark.database, pytest.mark.django_db]

SIDES = {"old": "baseline", "new": "candidate"}
PLANS = [
    (kind, estimand.key, side)
    for estimand in ESTIMANDS.values()
    for kind in estimand.kinds
    for side in (("old", "new") if estimand.sided else (None,))
]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _verdicts(each: int) -> Verdicts:
    pairs = [("Yes", "Yes"), ("No", "No"), ("Yes", "No"), ("No", "Yes")]
    return {f"q{n:03d}": pairs[n % 4] for n in range(4 * each)}


def _length(case: str) -> str:
    return "long" if int(case[1:]) % 3 else "short"


def _audit(project: Project, kind: str, *, each: int = 30, **plan: Any) -> Audit:
    verdicts = _verdicts(each)
    if kind == "judge_swap":
        slices = {case: {"length": _length(case)} for case in verdicts}
        comparison = factories.make_swap(project, verdicts, slices=slices)
    else:
        comparison = factories.make_upgrade(project, verdicts)
    audit = factories.make_audit(comparison, plan=plan)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    return audit


def _settle(audit: Audit, draws: list[Draw]) -> None:
    """A label that follows from the case: right about two times in three; every eleventh case nobody can judge."""
    for draw in draws:
        number = int(draw.case.case_id[1:])
        labels = ("pass" if number % 3 else "fail", "pass" if number % 5 else "fail")
        artifacts = draw.item.shown.order_by("artifact").values_list("artifact", flat=True)
        decision = {one: None if number % 11 == 0 else labels[place] for place, one in enumerate(artifacts)}
        item_settle(item=draw.item, how="single", decision=decision, actor=factories.operator(audit), now=NOW)


def _drawn(audit: Audit) -> list[Draw]:
    return list(audit.draws.order_by("item__rank").select_related("item", "case"))


def _estimated_again(audit: Audit, folder: Path) -> Any:
    path = folder / "pool.csv"
    pool_write(audit, path)
    words = shlex.split(estimate_command(audit, str(path)))[1:]
    out = StringIO()
    call_command(*words, "--json", stdout=out)
    return json.loads(out.getvalue())


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-12
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(_same(*pair) for pair in zip(one, other, strict=True))
    return bool(one == other)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("kind", "estimand", "side"), PLANS)
def test_look_report_and_exported_file_hold_the_same_estimate(
    project: Project, tmp_path: Path, kind: str, estimand: str, side: str | None, policy: str
) -> None:
    plan = {"estimand": estimand, "side": SIDES.get(side or ""), "policy": policy, "half_width": 1 / 7, "level": 0.9375}
    audit = _audit(project, kind, allocation={"agree": 40, "disagree": 45}, **plan)
    drawn = _drawn(audit)
    _settle(audit, [*drawn[:70], *drawn[73:80]])  # three gaps, and what waits behind them
    assert looks_bring_up_to_date(audit=audit, clock=lambda: NOW) == 1
    look = last_look(audit)
    assert look is not None
    assert look.low is not None

    again = _estimated_again(audit, tmp_path)

    assert {name: value for name, value in look.result.items() if not _same(value, again[name])} == {}
    assert _same(again["secondary"], look.secondary)
    assert (look.result["policy"], look.result["estimand"], look.result["side"]) == (policy, estimand, side)
    data = report_data(audit, NOW)
    assert data["result"] == look.result
    assert (look.result["undecided"] > 0, look.result["n"] < 77) == (True, True)
    assert POLICY_WORDS[policy] in report_html(audit, NOW, chart="")


@pytest.mark.parametrize("kind", ["judge_swap", "version_upgrade"])
def test_secondary_estimates_come_from_the_exported_file_once_the_plan_has_stopped(
    project: Project, tmp_path: Path, kind: str
) -> None:
    estimand = {"judge_swap": "accuracy_difference", "version_upgrade": "success_difference"}[kind]
    allocation = {"agree": 40, "disagree": 45}
    audit = _audit(project, kind, estimand=estimand, policy="planned", half_width=0.01, allocation=allocation)
    drawn = _drawn(audit)
    for draws, stopped in ((drawn[:-1], False), (drawn[-1:], True)):
        _settle(audit, draws)
        looks_bring_up_to_date(audit=audit, clock=lambda: NOW)
        look = last_look(audit)
        assert look is not None
        again = _estimated_again(audit, tmp_path)["secondary"]
        assert (look.secondary is not None, again is not None) == (stopped, stopped)
        assert _same(again, look.secondary)
    assert len(again) >= 8


def test_slices_come_after_the_stop_with_verdicts_adjusted_over_all_of_them(project: Project) -> None:
    audit = _audit(project, "judge_swap", each=60)
    drawn = _drawn(audit)
    _settle(audit, drawn[:-1])
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)
    early = last_look(audit)
    _settle(audit, drawn[-1:])
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)
    look = last_look(audit)
    assert early is not None
    assert look is not None
    assert (early.slices, early.secondary) == (None, None)

    slices = look.slices

    assert [one["slice"] for one in slices] == ["length=long", "length=short"]
    assert [one["family"] for one in slices] == [2, 2]
    assert [one["size"] for one in slices] == [160, 80]
    # Every case is settled: a slice's estimate is what counting its cases gives. An agreement needs no answer to be 0.
    for one in slices:
        inside = [draw for draw in drawn if f"length={_length(draw.case.case_id)}" == one["slice"]]
        decided = [draw for draw in inside if draw.old == draw.new or int(draw.case.case_id[1:]) % 11]
        gains = [
            (draw.new == label) - (draw.old == label)
            for draw in decided
            for label in ["pass" if int(draw.case.case_id[1:]) % 3 else "fail"]
        ]
        assert one["point"] == pytest.approx(sum(gains) / len(decided), abs=1e-12)
        assert one["low"] == one["high"] == pytest.approx(one["point"], abs=1e-12)
    assert [one["adjusted"] for one in slices] == pytest.approx(holm([one["p_value"] for one in slices]))
    assert "Adjusted p" in report_html(audit, NOW, chart="")
    assert report_data(audit, NOW)["by_slice"] == slices


@pytest.mark.parametrize("policy", POLICIES)
def test_size_of_an_exported_plan_without_labels_gives_the_numbers_of_its_registration(
    project: Project, tmp_path: Path, policy: str
) -> None:
    plan = {"estimand": "accuracy", "side": "candidate", "policy": policy, "half_width": 0.15}
    audit = _audit(project, "judge_swap", allocation={"agree": "optimal", "disagree": "optimal"}, **plan)
    path = tmp_path / "pool.csv"
    pool_write(audit, path)
    words = shlex.split(estimate_command(audit, str(path)))[2:-2]  # a plan has nothing secondary
    out = StringIO()

    call_command("size", *words, "--json", stdout=out)

    result = json.loads(out.getvalue())
    assert result["n"] == audit.registrations.get().labels
    assert 0 < result["total_more"] < 120
