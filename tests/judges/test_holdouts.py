"""A holdout is counted until somebody opens it, for a reason and under a name; then it is none any more."""

import pytest
from django.db import IntegrityError, transaction

from core.errors import InputError, Refused
from core.models import Author, Event, Project
from core.services import operator_of
from judges.holdouts import UNNAMED, holdout_of, is_sealed, require_open
from judges.models import Comparison, HoldoutOpening
from judges.services.comparisons import comparison_open
from judges.services.holdouts import holdout_open, refuse_retired_named
from judges.summaries import summary_of
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]

VERDICTS = {"secret-1": ("Yes", "No"), "secret-2": ("Yes", None), "secret-3": ("secret prose", "Yes")}


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


@pytest.fixture
def lead(project: Project) -> Author:
    return operator_of(project)


def holdout(project: Project, name: str = "check-1", case_set: str = "cases", inputs: str = "question") -> Comparison:
    rows = [
        factories.case_row(case, n, partition="holdout", slices={"risk": "high"}, input=f"{inputs} {case}")
        for n, case in enumerate(VERDICTS, 1)
    ]
    system = factories.load_artifacts(factories.load_cases(project, [*rows, "open-1"], case_set))
    reader = factories.make_reader(project)
    runs = [
        factories.load_run(
            system, factories.judged({case: pair[side] for case, pair in VERDICTS.items()}), f"judge-{side}"
        )
        for side in (0, 1)
    ]
    return comparison_open(
        project=project,
        name=name,
        kind="judge_swap",
        partition="holdout",
        old=(runs[0], reader),
        new=(runs[1], reader),
        labels=["fail", "pass"],
        rules=factories.RULES,
        slices=["risk"],
        blocking_slices=["risk=high"],
    )


def test_sealed_reports_count_and_name_no_case_and_no_label(project: Project) -> None:
    summary = summary_of(holdout(project))
    integrity, transitions = summary.integrity, summary.transitions
    assert (integrity["cases"], integrity["eligible"], integrity["pairs"]["missing"]) == (3, 1, 1)
    assert integrity["failures"] == ["fail_on_unmapped_label: 1 judgments have labels no table holds"]
    assert transitions["blocking_changes"] == [{"slice": "risk=high", "case_id": UNNAMED, "old": "pass", "new": "fail"}]
    assert "secret" not in summary.integrity_text + summary.transitions_text


def test_opened_reports_name_them_again(project: Project, lead: Author) -> None:
    comparison = holdout(project)
    holdout_open(case_set=comparison.case_set, reason="the gate failed", actor=lead, now=NOW)
    summary = summary_of(comparison)
    assert summary.integrity["cases_named"]["missing"] == ["secret-2"]
    assert summary.integrity["old"]["unmapped_labels"] == {"secret prose": 1}
    assert [change["case_id"] for change in summary.transitions["blocking_changes"]] == ["secret-1"]


def test_sealed_cases_may_not_be_read_and_opened_ones_may(project: Project, lead: Author) -> None:
    comparison = holdout(project)
    with pytest.raises(Refused, match="the holdout of cases 1 is sealed"):
        require_open(comparison)
    holdout_open(case_set=comparison.case_set, reason="the gate failed", actor=lead, now=NOW)
    require_open(comparison)
    assert not is_sealed(comparison)


def test_opening_is_an_event_with_reason_and_person(project: Project, lead: Author) -> None:
    comparison = holdout(project)
    holdout_open(case_set=comparison.case_set, reason="  the gate failed\n", actor=lead, now=NOW)
    event = Event.objects.get(name="judges.holdout-opened")
    assert (event.actor, event.at) == (lead, NOW)
    assert event.payload == {"case_set": comparison.case_set_id, "name": "cases 1", "reason": "the gate failed"}
    status = holdout_of(comparison)
    assert status is not None
    assert status.words == (
        "Holdout of cases 1: opened 2026-03-01 09:00 UTC by operator, and retired. Reason: the gate failed"
    )


@pytest.mark.parametrize(
    ("reason", "said"), [("", "missing"), (" \n", "missing"), ("a\x00b", "U\\+0000"), ("x" * 2001, "too long")]
)
def test_opening_without_a_usable_reason_is_refused(project: Project, lead: Author, reason: str, said: str) -> None:
    comparison = holdout(project)
    with pytest.raises(InputError, match=f"reason: .*{said}"):
        holdout_open(case_set=comparison.case_set, reason=reason, actor=lead, now=NOW)
    assert is_sealed(comparison)


def test_database_refuses_an_opening_without_a_reason(project: Project, lead: Author) -> None:
    with pytest.raises(IntegrityError, match="a_holdout_is_opened_for_a_reason"), transaction.atomic():
        HoldoutOpening.objects.create(case_set=holdout(project).case_set, reason="", actor=lead, at=NOW)


def test_second_opening_is_refused_and_names_the_first(project: Project, lead: Author) -> None:
    case_set = holdout(project).case_set
    holdout_open(case_set=case_set, reason="the gate failed", actor=lead, now=NOW)
    with pytest.raises(
        Refused, match="holdout of cases 1, opened by operator at 2026-03-01 09:00 UTC, is open already"
    ):
        holdout_open(case_set=case_set, reason="again", actor=lead, now=NOW)
    assert Event.objects.filter(name="judges.holdout-opened").count() == 1


def test_set_without_a_holdout_has_nothing_to_open(project: Project, lead: Author) -> None:
    with pytest.raises(Refused, match="case set plain 1 has no holdout"):
        holdout_open(case_set=factories.load_cases(project, ["a"], "plain"), reason="why not", actor=lead, now=NOW)


def test_opened_holdout_is_refused_for_a_new_comparison_and_keeps_the_old_one(project: Project, lead: Author) -> None:
    comparison = holdout(project)
    holdout_open(case_set=comparison.case_set, reason="the gate failed", actor=lead, now=NOW)
    assert holdout(project) == comparison
    with pytest.raises(Refused, match="is retired: the gate failed"):
        holdout(project, name="check-2")
    assert Comparison.objects.count() == 1


def test_cases_that_were_read_are_refused_under_another_name(project: Project, lead: Author) -> None:
    holdout_open(case_set=holdout(project).case_set, reason="the gate failed", actor=lead, now=NOW)
    with pytest.raises(Refused, match="is retired: the gate failed"):
        holdout(project, name="check-2", case_set="renamed")
    fresh = holdout(project, name="check-3", case_set="fresh", inputs="other question")
    assert is_sealed(fresh)


def test_manifest_that_names_a_retired_holdout_is_refused_by_its_key(project: Project, lead: Author) -> None:
    case_set = holdout(project).case_set
    refuse_retired_named(project, "cases-1", key="partitions.holdout")
    holdout_open(case_set=case_set, reason="the gate failed", actor=lead, now=NOW)
    refuse_retired_named(project, "not-loaded-1", key="partitions.holdout")
    with pytest.raises(Refused, match=r"^partitions\.holdout: holdout of cases 1"):
        refuse_retired_named(project, "cases-1", key="partitions.holdout")


def test_comparison_on_other_cases_is_never_sealed_and_reports_the_opening(project: Project, lead: Author) -> None:
    comparison = factories.make_swap(project, {"a": ("Yes", "No")}, case_set="both")
    assert (is_sealed(comparison), holdout_of(comparison)) == (False, None)
    HoldoutOpening.objects.create(case_set=comparison.case_set, reason="to see", actor=lead, at=NOW)
    status = holdout_of(comparison)
    assert status is not None
    assert status.reason == "to see"
