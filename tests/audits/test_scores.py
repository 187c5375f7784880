"""A judge's finer score as the plan's predictor: from the judgments through the frame to the looks and the exports."""

import json
import shlex
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from adjudication.services.settlements import item_settle
from audits.exports.pool import estimate_command, pool_write
from audits.exports.wording import gain_words
from audits.frames import frame_of
from audits.models import Audit, Look
from audits.packets.checking import packet_check
from audits.packets.contents import FRAME, LOOKS
from audits.packets.making import packet_write
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from audits.services.sizing import draft_size
from core.errors import InputError
from core.models import Project
from tests import factories
from tests.factories import NOW, Verdicts

pytestmark = [pytest.mark.database, pytest.mark.django_db]

CASES = 160
PLAN = {
    "estimand": "success_rate",
    "side": "candidate",
    "predictor": "score",
    "half_width": 0.1,
    "allocation": {"agree": 50, "disagree": 50},
}
VERDICTS: Verdicts = {f"q{n:03d}": ("Yes", "No" if n % 2 else "Yes") for n in range(CASES)}
# What people will say of a case, and a score that follows it more or less.
TRUTH = {case: "pass" if n % 7 < 4 else "fail" for n, case in enumerate(VERDICTS)}
SCORES = {case: (0.55 if TRUTH[case] == "pass" else 0.25) + n % 5 / 10 for n, case in enumerate(VERDICTS)}


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _audit(project: Project, scores: dict[str, float] = SCORES, **plan: Any) -> Audit:
    return factories.make_audit(factories.make_swap(project, VERDICTS, scores=scores), plan=PLAN | plan)


def _looked(audit: Audit, settled: int = 80) -> Look:
    """Settle drawn cases as people would, in serving order, and look."""
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    for draw in audit.draws.order_by("item__rank").select_related("item", "case")[:settled]:
        decision = dict.fromkeys(draw.item.shown.values_list("artifact", flat=True), TRUTH[draw.case.case_id])
        item_settle(item=draw.item, how="single", decision=decision, actor=factories.operator(audit), now=NOW)
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)
    return audit.looks.get()


def _numbers(value: Any, place: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        return {k: v for name, one in value.items() for k, v in _numbers(one, f"{place}.{name}").items()}
    if isinstance(value, list):
        return {k: v for n, one in enumerate(value) for k, v in _numbers(one, f"{place}[{n}]").items()}
    return {place: value}


def test_look_uses_the_score_and_its_export_gives_the_same_numbers(project: Project, tmp_path: Path) -> None:
    audit = _audit(project)
    look = _looked(audit)
    slopes = {stratum["name"]: stratum["lam"] for stratum in look.result["strata"]}
    assert look.result["method"] == "Satterthwaite t, strata, lambda from the score"
    assert 0 < slopes["agree"] <= 1
    assert 0 < slopes["disagree"] <= 1
    assert look.result["human_only"]["gain"] > 0.15

    pool_write(audit, tmp_path / "pool.csv")
    words = shlex.split(estimate_command(audit, str(tmp_path / "pool.csv")))
    out = StringIO()
    call_command(*words[1:-2], "--json", stdout=out)
    again, stored = _numbers(json.loads(out.getvalue())), _numbers(look.result)
    assert again.keys() == stored.keys()
    assert {place: value for place, value in again.items() if not isinstance(value, float)} == {
        place: value for place, value in stored.items() if not isinstance(value, float)
    }
    for place, value in stored.items():
        if isinstance(value, float):
            assert again[place] == pytest.approx(value, abs=1e-12), place


def test_slope_is_that_of_the_stored_scores_by_hand(project: Project) -> None:
    audit = _audit(project)
    look = _looked(audit)
    for stratum in look.result["strata"]:
        frame = [row for row in frame_of(audit.frame) if row.stratum == stratum["name"]]
        seen = [row for row in frame if row.position <= stratum["n"]]
        x, y = [SCORES[row.case_id] for row in seen], [float(TRUTH[row.case_id] == "pass") for row in seen]
        whole = [SCORES[row.case_id] for row in frame]
        n, mean_x, mean_y, mean = len(seen), sum(x) / len(x), sum(y) / len(y), sum(whole) / len(whole)
        covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / (n - 1)
        variance = sum((a - mean) ** 2 for a in whole) / (len(whole) - 1)
        assert n == 40
        assert stratum["lam"] == pytest.approx(min(1.0, covariance / variance), abs=1e-12)


def test_slope_is_said_in_words_with_the_gain(project: Project) -> None:
    look = _looked(_audit(project))
    slopes = "; ".join(f"{stratum['name']} {stratum['lam']:.3f}" for stratum in look.result["strata"])
    gain = look.result["human_only"]["gain"]
    assert gain_words(look.result) == (
        f"The judge's score makes the interval {gain * 100:.1f} % narrower than labels alone. "
        f"Its slope (lambda): {slopes}."
    )


def test_few_labels_leave_the_score_out_and_say_why(project: Project) -> None:
    look = _looked(_audit(project), settled=50)
    reasons = [stratum["lam_reason"] for stratum in look.result["strata"]]
    assert reasons == ["fewer than 30 labels"] * 2
    assert gain_words(look.result).endswith("agree 0, fewer than 30 labels; disagree 0, fewer than 30 labels.")


def test_case_without_a_score_is_named_and_nothing_is_drawn(project: Project) -> None:
    audit = _audit(project, scores={case: score for case, score in SCORES.items() if case != "q005"})
    sizing = draft_size(audit=audit)
    with pytest.raises(InputError) as caught:
        audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    (problem,) = caught.value.problems
    assert str(problem) == (
        "plan.predictor: the plan's predictor is a score, and 1 of 160 eligible cases have none (found 'case q005'); "
        "allowed: a score of every eligible case, or the predictor cells"
    )
    assert sizing.problems == [problem.as_dict()]
    audit.refresh_from_db()
    assert (audit.state, audit.draws.count()) == ("draft", 0)


def test_plan_of_cells_keeps_no_score(project: Project) -> None:
    audit = _audit(project, predictor="cells")
    look = _looked(audit)
    assert look.result["method"].endswith("cells")
    assert {row.score for row in frame_of(audit.frame)} == {None}
    assert not audit.draws.filter(score__isnull=False).exists()
    assert "--predictor" not in estimate_command(audit, "pool.csv")


def test_packet_of_a_scored_audit_gives_its_looks_again(project: Project, tmp_path: Path) -> None:
    audit = _audit(project)
    _looked(audit)
    packet_write(audit=audit, path=tmp_path / "packet.zip", actor=factories.operator(audit), now=NOW)
    assert [check.named for check in packet_check(tmp_path / "packet.zip") if not check.passed] == []


def test_packet_whose_score_was_changed_is_found_out(project: Project, tmp_path: Path) -> None:
    audit = _audit(project)
    _looked(audit)
    packet_write(audit=audit, path=tmp_path / "packet.zip", actor=factories.operator(audit), now=NOW)
    with zipfile.ZipFile(tmp_path / "packet.zip") as whole, zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        for name in whole.namelist():
            text = whole.read(name)
            other.writestr(name, text.replace(b",0.75\n", b",0.76\n") if name == FRAME else text)
    failed = [check for check in packet_check(tmp_path / "other.zip") if not check.passed]
    assert {"frame and order", LOOKS} <= {check.name for check in failed}
    assert any("0.76" in named for check in failed for named in check.named)
