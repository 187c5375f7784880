"""What further runs cost against the labels: counted from stored runs, at a look at which the audit may stop."""

import pytest

from adjudication.services.settlements import item_settle
from audits.exports.report import report_data, report_html
from audits.models import Audit
from audits.selectors import last_look
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from core.models import Project
from tests import factories
from tests.factories import NOW, FurtherLabels

pytestmark = [pytest.mark.database, pytest.mark.django_db]

# 80 cases, Yes is right everywhere. The old judge says No in the last 20, the new one in the first 30.
CASES = [f"q{n:02d}" for n in range(80)]
VERDICTS = {case: ("No" if n >= 60 else "Yes", "No" if n < 30 else "Yes") for n, case in enumerate(CASES)}


def _again(*wrong: range) -> dict[str, str | None]:
    return {case: "No" if any(n in part for part in wrong) else "Yes" for n, case in enumerate(CASES)}


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _audited(project: Project, *further: FurtherLabels, settle: int = 80) -> Audit:
    audit = factories.make_audit(factories.make_swap(project, VERDICTS, further=further))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    for item in audit.queue.items.order_by("rank")[:settle]:
        decision = dict.fromkeys(item.shown.values_list("artifact", flat=True), "pass")
        item_settle(item=item, how="single", decision=decision, actor=factories.operator(audit), now=NOW)
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)
    return audit


def test_regressions_of_a_rerun_are_shares_of_all_cases(project: Project) -> None:
    # Of the new judge's 50 right verdicts, run 2 loses those of cases 30 to 33, and wins cases 0 and 1.
    audit = _audited(project, ("new", "repeat", _again(range(2, 34))))
    look = last_look(audit)
    assert look is not None
    (found,) = look.reruns
    assert found["name"] == "regressed where the new judge is only run again, of all cases"
    # Every case is labelled: 4 of 80 one way, 2 of 80 back; a census has no error.
    assert found["point"] == pytest.approx((4 + 2) / 2 / 80)
    assert (found["low"], found["high"]) == (pytest.approx(0.05), pytest.approx(0.05))
    assert "median of 2 ordered pairs of 2 runs; least 2.5, most 5.0" in found["note"]
    # From the old to the new judge 30 cases regressed, far more than any rerun does.
    assert found["note"].endswith("from the old to the new judge 37.5 regressed: above what a rerun does")
    assert report_data(audit, NOW)["reruns"] == look.reruns
    assert "What a judge regresses by itself" in report_html(audit, NOW, chart="")


def test_swap_inside_its_rerun_floor_is_not_distinguishable_from_a_rerun(project: Project) -> None:
    look = last_look(_audited(project, ("old", "repeat", _again(range(40)))))
    assert look is not None
    (found,) = look.reruns
    # The old judge run again loses 40 of its 60 right verdicts; the new judge loses 30 of them.
    assert "most 50.0" in found["note"]
    assert found["note"].endswith("from the old to the new judge 37.5 regressed: not distinguishable from a rerun")


def test_order_probe_is_never_called_a_rerun(project: Project) -> None:
    swapped = {case: "Yes" if label == "No" else "No" for case, label in _again(range(30), range(40, 44)).items()}
    look = last_look(_audited(project, ("new", "order probe", swapped)))
    assert look is not None
    (found,) = look.reruns
    assert found["name"] == "regressed where the new judge sees another order, of all cases"
    assert (found["point"], "rerun" in found["note"]) == (pytest.approx(4 / 2 / 80), False)


def test_selective_repeat_leaves_no_floor_and_says_so(project: Project) -> None:
    look = last_look(_audited(project, ("new", "repeat", dict.fromkeys(CASES[:50], "Yes"))))
    assert look is not None
    assert [(one["point"], one["note"]) for one in look.reruns] == [(None, "fewer than two repeats cover all cases")]


def test_nothing_is_computed_before_the_stop_and_nothing_without_further_runs(project: Project) -> None:
    early = last_look(_audited(project, ("new", "repeat", _again(range(30))), settle=60))
    assert early is not None
    assert early.reruns is None
    bare = last_look(_audited(factories.make_project("bare")))
    assert bare is not None
    assert bare.reruns == []
