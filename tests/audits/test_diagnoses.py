"""Every difference between people and judge, and every blocking transition, gets a reason and somebody who mends it."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from audits.diagnoses import diagnosis_counts, diagnosis_page
from audits.models import Audit, Diagnosis
from audits.outcomes import outcome_of
from audits.services.diagnosing import case_diagnose
from audits.services.registering import audit_register
from core.errors import InputError, Refused
from core.models import Author, Event, Role
from judges.models import Case, Comparison, PairIndex
from judges.pair_index import BLOCKING, cases_found, pair_index_of
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def audit(db: None) -> Audit:
    """People said pass of c1 to c3: c1 is right on both sides, c2 a regression, c3 wrong on both and unmoved. Not yet
    settled are c4, which changed in a blocking slice, c5, which did not change there, and c6, which changed elsewhere.
    """
    verdicts = {
        "c1": ("Yes", "Yes"),
        "c2": ("Yes", "No"),
        "c3": ("No", "No"),
        "c4": ("Yes", "No"),
        "c5": ("Yes", "Yes"),
        "c6": ("Yes", "No"),
    }
    slices = {case: {"risk": "high" if case in ("c4", "c5") else "low"} for case in verdicts}
    comparison = factories.make_swap(factories.make_project(), verdicts, slices=slices, blocking=["risk=high"])
    audit = factories.make_audit(comparison)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    for name in ("c1", "c2", "c3"):
        factories.settle(audit.queue, name)
    return audit


@pytest.fixture
def lead(audit: Audit) -> Author:
    return factories.make_person(audit.project, "lea", Role.LEAD)


def case(audit: Audit, name: str) -> Case:
    found: Case = audit.comparison.case_set.cases.get(case_id=name)
    return found


def diagnose(audit: Audit, name: str, lead: Author, **changes: Any) -> Diagnosis:
    said: dict[str, Any] = {"revision": 0, "code": "judge error", "kind": "repair", "words": "the judge's prompt"}
    return case_diagnose(audit=audit, case=case(audit, name), actor=lead, now=NOW, **(said | changes))


def listed(audit: Audit, **asked: Any) -> list[str]:
    return [row.pair.case_id for row in diagnosis_page(audit, **asked).rows]


def test_settled_differences_and_blocking_transitions_ask_for_a_diagnosis(audit: Audit) -> None:
    found = [
        (row.pair.case_id, row.pair.verdicts, row.label_words, row.outcome.value, row.blocking)
        for row in diagnosis_page(audit).rows
    ]
    assert found == [
        ("c2", ("pass", "fail"), "pass", "regression", ""),
        ("c3", ("fail", "fail"), "pass", "both wrong", ""),
        ("c4", ("pass", "fail"), "not settled yet", "unsettled", "risk=high"),
    ]
    factories.settle(audit.queue, "c4", "fail")
    assert [row.outcome.value for row in diagnosis_page(audit).rows] == ["regression", "both wrong", "improvement"]


def test_case_settled_outside_the_sample_asks_too(audit: Audit) -> None:
    small = {"allocation": {"agree": "all", "disagree": 30}}
    verdicts = {f"d{n:02d}": ("Yes", "No") for n in range(100)}
    other = factories.make_audit(
        factories.make_swap(audit.project, verdicts, name="swap-2", case_set="others"), plan=small
    )
    audit_register(audit=other, actor=factories.operator(other), now=NOW)
    drawn = set(other.draws.values_list("case__case_id", flat=True))
    outside = min(set(verdicts) - drawn)
    factories.add_outside_sample(other, outside)
    factories.settle(other.queue, outside)
    assert listed(other) == [outside]


def test_two_labels_of_an_upgrade_are_each_held_to_their_verdict(db: None) -> None:
    verdicts = {"u1": ("Yes", "No"), "u2": ("Yes", "No"), "u3": ("No", "Yes")}
    audit = factories.make_audit(factories.make_upgrade(factories.make_project(), verdicts))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    factories.settle(audit.queue, "u1", "pass", "fail")
    factories.settle(audit.queue, "u2", "pass", "pass")
    factories.settle(audit.queue, "u3", None)
    (row,) = diagnosis_page(audit).rows
    assert (row.pair.case_id, row.label_words, row.outcome.value) == ("u2", "pass", "both right")


def test_later_settlement_decides_whether_a_case_asks(audit: Audit) -> None:
    factories.settle(audit.queue, "c3", "fail")
    assert listed(audit) == ["c2", "c4"]


def test_diagnosis_says_reason_owner_and_component_and_a_later_one_takes_its_place(audit: Audit, lead: Author) -> None:
    first = diagnose(audit, "c2", lead)
    assert (first.owner, first.kind, first.words, first.actor, first.at) == (
        "evaluator platform",
        "repair",
        "the judge's prompt",
        lead,
        NOW,
    )
    later = diagnose(audit, "c2", lead, revision=1, code="policy change", kind="intended", words=" citations count ")
    assert (later.revision, later.owner, later.words) == (2, "policy", "citations count")
    assert [row.diagnosis for row in diagnosis_page(audit).rows] == [later, None, None]
    assert diagnosis_counts(audit).as_dict() == {
        "cases": 3,
        "undiagnosed": 2,
        "owners": {"policy": 1},
        "codes": {"policy change": 1},
    }
    event = Event.objects.filter(name="audits.case-diagnosed").latest("pk")
    assert (event.payload["code"], event.payload["kind"]) == ("policy change", "intended")


def test_nothing_falls_between_the_piles(audit: Audit, lead: Author) -> None:
    diagnose(audit, "c2", lead)
    diagnose(audit, "c3", lead, code="mapping gap")
    assert diagnosis_counts(audit).words == (
        "3 cases ask for a diagnosis: 1 without one; by owner 1 evaluator platform, 1 mapping."
    )
    assert listed(audit, code="undiagnosed") == ["c4"]
    assert listed(audit, code="judge error") == ["c2"]
    assert listed(audit, owner="mapping") == ["c3"]
    assert listed(audit, owner="mapping", code="judge error") == []
    assert listed(audit, owner="mapping", code="undiagnosed") == []
    with pytest.raises(InputError, match="no such owner"):
        listed(audit, owner="somebody")


def test_list_goes_by_pages_that_lose_and_repeat_nothing(audit: Audit) -> None:
    found, after = [], 0
    while after is not None:
        page = diagnosis_page(audit, after=after, number=1)
        found += [row.pair.case_id for row in page.rows]
        after = page.after  # type: ignore[assignment]
    assert found == ["c2", "c3", "c4"]


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        (
            "c2",
            {"words": " \n"},
            "words: missing; allowed: the policy decision behind the transition, or the component",
        ),
        ("c2", {"code": "rubric boundary"}, "code: not a diagnosis (found 'rubric boundary')"),
        ("c2", {"code": "disagreement"}, "code: not a diagnosis (found 'disagreement')"),
        ("c2", {"kind": "other"}, "kind: not a kind (found 'other'); allowed: intended, repair"),
        ("c2", {"words": "a\0b"}, r"words: U\+0000 at character 2 cannot be stored"),
        ("c3", {"kind": "intended"}, "no verdict changed here, so no transition can be intended"),
        ("c1", {}, "nothing to diagnose: no settled label differs from a verdict, and no blocking decision changed"),
        ("c6", {}, "nothing to diagnose"),
        ("c2", {"revision": 1}, "somebody else has diagnosed this case meanwhile"),
    ],
)
def test_what_is_no_diagnosis_is_refused_in_words(
    audit: Audit, lead: Author, name: str, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words.replace("(", r"\(").replace(")", r"\)")):
        diagnose(audit, name, lead, **changes)
    assert not Diagnosis.objects.exists()


def test_only_leads_and_owners_diagnose(audit: Audit) -> None:
    ann = factories.make_person(audit.project, "ann")
    with pytest.raises(Refused, match="may not do this"):
        diagnose(audit, "c2", ann)


def test_diagnosis_is_never_altered(audit: Audit, lead: Author) -> None:
    diagnose(audit, "c2", lead)
    for statement in ("UPDATE audits_diagnosis SET words = 'other'", "DELETE FROM audits_diagnosis"):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    row = {"audit": audit, "case": case(audit, "c3"), "code": "cache", "actor": lead, "at": NOW}
    for field, value, constraint in (
        ("words", "", "a_diagnosis_names_a_decision_or_a_component"),
        ("kind", "other", "diagnosis_kind_is_known"),
        ("owner", "nobody", "diagnosis_owner_is_known"),
    ):
        whole = {"words": "the cache", "kind": "repair", "owner": "mapping"} | {field: value}
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            Diagnosis.objects.create(**row, **whole)


def test_index_from_before_blocking_transitions_were_in_it_is_found_anew(audit: Audit) -> None:
    older = Comparison.objects.get()
    older.pk, older.name, older._state.adding = None, "older", True
    older.save()
    PairIndex.objects.create(comparison=older, cases_text="{}", caches_text="{}")
    assert list(cases_found(pair_index_of(older), [BLOCKING])) == [case(audit, "c4").pk]


def test_command_lists_each_case_and_exits_1_while_one_is_undiagnosed(audit: Audit, lead: Author) -> None:
    diagnose(audit, "c2", lead)
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("diagnose", audit.name, stdout=out)
    assert ended.value.code == 1
    assert out.getvalue().splitlines() == [
        "3 cases ask for a diagnosis: 2 without one; by owner 1 evaluator platform.",
        "  case c2: pass → fail; pass: regression; judge error, evaluator platform, repair: the judge's prompt",
        "  case c3: fail → fail; pass: both wrong; undiagnosed",
        "  case c4: pass → fail, blocking in risk=high; not settled yet: unsettled; undiagnosed",
    ]
    for name in ("c3", "c4"):
        diagnose(audit, name, lead)
    out = StringIO()
    call_command("diagnose", audit.name, "--owner=evaluator platform", "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert answer["counts"]["owners"] == {"evaluator platform": 3}
    assert answer["cases"][2]["diagnosis"] == {
        "code": "judge error",
        "owner": "evaluator platform",
        "kind": "repair",
        "words": "the judge's prompt",
        "revision": 1,
        "by": "p-lea",
        "at": NOW.isoformat(),
    }


SCALE = {"bad": 0.0, "fair": 1.0, "good": 2.0}
NOMINAL = {"cat": None, "dog": None}


@pytest.mark.parametrize(
    ("verdicts", "labels", "is_swap", "scale", "outcome"),
    [
        (("bad", "good"), None, True, SCALE, "unsettled"),
        (("bad", "good"), ("", ""), True, SCALE, "undecided"),
        (("bad", "good"), ("good", ""), False, SCALE, "undecided"),
        (("bad", "good"), ("bad", "bad"), True, SCALE, "regression"),
        (("bad", "good"), ("good", "good"), True, SCALE, "improvement"),
        (("bad", "good"), ("fair", "fair"), True, SCALE, "both wrong"),
        (("bad", "good"), ("fair", "bad"), False, SCALE, "regression"),
        (("good", "bad"), ("bad", "fair"), False, SCALE, "improvement"),
        (("good", "bad"), ("good", "good"), False, SCALE, "both right"),
        (("good", "bad"), ("fair", "fair"), False, SCALE, "both wrong"),
        (("cat", "dog"), ("dog", "cat"), False, NOMINAL, "regression"),
    ],
)
def test_outcome_of_a_changed_verdict(
    verdicts: tuple[str, str], labels: Any, is_swap: bool, scale: dict[str, float | None], outcome: str
) -> None:
    assert outcome_of(verdicts, labels, is_swap=is_swap, scale=scale).value == outcome
