"""Registering freezes a plan and draws; extending draws more of the same order. All of it, or nothing."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from adjudication.models import Item, ItemState, Lease, Reference, Slot
from audits.frames import frame_of
from audits.models import Audit, AuditState, Cell, Draw, Frame, Registration, Stratum
from audits.services.registering import audit_extend, audit_register, labels_to_target
from core.errors import InputError, Refused
from core.identity import value_hash
from core.models import Event, Project
from core.version import VERSION
from tests import factories
from tests.factories import NOW, Verdicts, answer

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _verdicts(agree: int, disagree: int) -> Verdicts:
    cases = {f"a{n:03d}": ("Yes", "Yes") for n in range(agree)} | {f"d{n:03d}": ("Yes", "No") for n in range(disagree)}
    return dict(random.Random(5).sample(list(cases.items()), len(cases)))


def _audit(project: Project, agree: int = 150, disagree: int = 170, **changes: Any) -> Audit:
    return factories.make_audit(factories.make_swap(project, _verdicts(agree, disagree)), **changes)


def _register(audit: Audit) -> Any:
    return audit_register(audit=audit, actor=factories.operator(audit), now=NOW)


def _extend(audit: Audit, **labels: int) -> Any:
    return audit_extend(audit=audit, labels=labels, actor=factories.operator(audit), now=NOW)


def _drawn(audit: Audit) -> list[tuple[str, int, str]]:
    """In serving order: stratum, position, case."""
    return list(audit.draws.order_by("item__rank").values_list("stratum__name", "position", "case__case_id"))


def _stored() -> dict[str, int]:
    return {
        model.__name__: model.objects.count() for model in (Frame, Registration, Stratum, Cell, Draw, Item, Slot, Event)
    }


NUMBERS = {"allocation": {"agree": 30, "disagree": 20}}


def test_registration_draws_what_the_plan_says_and_records_how(project: Project) -> None:
    audit = _audit(project, plan=NUMBERS)
    drawn = _register(audit)
    registration = audit.registrations.get()
    assert (drawn.added, drawn.reused) == ({"agree": 30, "disagree": 20}, 0)
    assert (registration.n, registration.labels, registration.seed, registration.at) == (
        1,
        {"agree": 30, "disagree": 20},
        "7",
        NOW,
    )
    assert registration.frame_hash == audit.frame.sha256
    assert dict(audit.strata.values_list("name", "size")) == {"agree": 150, "disagree": 170}
    assert list(Cell.objects.order_by("stratum__name").values_list("old", "new", "size")) == [
        ("pass", "pass", 150),
        ("pass", "fail", 170),
    ]
    assert _stored() == {
        "Frame": 1,
        "Registration": 1,
        "Stratum": 2,
        "Cell": 2,
        "Draw": 50,
        "Item": 50,
        "Slot": 50,
        "Event": 1,
    }
    assert Audit.objects.get().state == AuditState.REGISTERED


def test_draw_is_a_prefix_of_each_stratum_s_order_and_served_in_one_mixed_sequence(project: Project) -> None:
    audit = _audit(project, plan=NUMBERS)
    _register(audit)
    frame = {(row.stratum, row.position): row.case_id for row in frame_of(audit.frame)}
    drawn = _drawn(audit)
    assert {(stratum, place): case for stratum, place, case in drawn} == {
        place: case for place, case in frame.items() if place[1] <= NUMBERS["allocation"][place[0]]
    }
    assert list(audit.queue.items.order_by("rank").values_list("rank", flat=True)) == list(range(1, 51))
    assert {stratum for stratum, _, _ in drawn[:4]} == {"agree", "disagree"}
    for name in ("agree", "disagree"):
        places = [place for stratum, place, _ in drawn if stratum == name]
        assert places == sorted(places)


def test_seed_and_frame_reproduce_the_draw_in_a_new_process(project: Project) -> None:
    audit = _audit(project, plan=NUMBERS)
    _register(audit)
    stored = {"rows": [[row.stratum, row.case_id] for row in frame_of(audit.frame)], "seed": audit.plan["seed"]}
    program = """
import hashlib, json, sys
given = json.load(sys.stdin)
def place(case):
    identity = json.dumps(["cases", "1", case, 1], separators=(",", ":"))
    return hashlib.sha256(f"{given['seed']}|{identity}".encode()).hexdigest()
order = {}
for stratum, case in given["rows"]:
    order.setdefault(stratum, []).append(case)
json.dump({stratum: sorted(cases, key=place) for stratum, cases in order.items()}, sys.stdout)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(stored), capture_output=True, text=True, check=True
    )
    order = json.loads(done.stdout)
    assert {case for _, _, case in _drawn(audit)} == {*order["agree"][:30], *order["disagree"][:20]}


def test_extension_keeps_what_was_drawn_and_equals_drawing_all_at_once(project: Project) -> None:
    """BEHAVIOUR 8 and 34."""
    audit = _audit(project, plan=NUMBERS)
    _register(audit)
    first = _drawn(audit)
    answer(audit.queue, factories.make_person(project, "ann"))
    assert _extend(audit, agree=60, disagree=60).added == {"agree": 30, "disagree": 40}
    second = _drawn(audit)
    _extend(audit, agree=150, disagree=150)
    third = _drawn(audit)
    assert (len(first), len(second), len(third)) == (50, 120, 300)
    assigned = Lease.objects.filter(item__queue=audit.queue).values("item").distinct().count()
    unassigned = audit.queue.items.filter(leases=None, slots__state="open").distinct().count()
    assert (assigned, unassigned) == (1, 299)
    assert (second[:50], third[:120]) == (first, second)
    other = _audit(factories.make_project("other"), plan={"allocation": {"agree": 150, "disagree": 150}})
    _register(other)
    assert sorted(_drawn(other)) == sorted(third)
    assert [one.labels for one in audit.registrations.order_by("n")] == [
        {"agree": 30, "disagree": 20},
        {"agree": 60, "disagree": 60},
        {"agree": 150, "disagree": 150},
    ]


def test_size_of_an_extension_is_logged_before_its_items_show(project: Project) -> None:
    """BEHAVIOUR 34."""
    audit = _audit(project, plan=NUMBERS)
    _register(audit)
    with CaptureQueriesContext(connection) as made:
        drawn = _extend(audit, agree=60, disagree=60)
    written = [query["sql"] for query in made.captured_queries if query["sql"].startswith("INSERT")]
    tables = list(dict.fromkeys(sql.split('"')[1] for sql in written))
    logged = ["audits_registration", "core_event"]
    assert tables == [*logged, "adjudication_item", "adjudication_itemartifact", "adjudication_slot", "audits_draw"]
    event = Event.objects.latest("pk")
    assert (event.name, event.payload["added"]) == ("audits.plan-registered", {"agree": 30, "disagree": 40})
    assert (drawn.registration.n, drawn.registration.at, drawn.registration.code_version) == (2, NOW, VERSION)


def test_plan_made_anew_is_a_dated_registration_that_takes_up_what_was_labelled(project: Project) -> None:
    """After the stop more labels need a new plan: with the same seed its sample begins with the same cases."""
    first = _audit(project, plan=NUMBERS)
    _register(first)
    person = factories.make_person(project, "ann")
    for _ in range(50):
        answer(first.queue, person)
    swap = factories.make_swap(project, _verdicts(150, 170), name="swap-again")
    wider = {"allocation": {"agree": 60, "disagree": 60}}
    again = factories.make_audit(swap, plan=wider, review={"reuse_references": True})
    later = NOW + timedelta(days=1)
    drawn = audit_register(audit=again, actor=factories.operator(again), now=later)
    assert (drawn.reused, sum(drawn.added.values())) == (50, 120)
    assert (drawn.registration.n, drawn.registration.at) == (1, later)
    assert drawn.registration.plan_hash == value_hash(again.plan) != first.registrations.get().plan_hash
    by_stratum = {
        name: [case for stratum, _, case in _drawn(first) if stratum == name] for name in ("agree", "disagree")
    }
    for name, cases in by_stratum.items():
        assert [case for stratum, _, case in _drawn(again) if stratum == name][: len(cases)] == cases


@pytest.mark.parametrize(
    ("labels", "error", "says"),
    [
        ({"agree": 29}, InputError, "from 30 \\(drawn already\\) to 150"),
        ({"agree": 151}, InputError, "from 30 \\(drawn already\\) to 150"),
        ({"other": 5}, InputError, "one of the strata: agree, disagree"),
        ({"agree": -1}, InputError, "not a possible number"),
        ({}, Refused, "would not grow"),
        ({"agree": 30, "disagree": 20}, Refused, "would not grow"),
    ],
)
def test_extension_that_cannot_be_is_refused_and_draws_nothing(
    project: Project, labels: dict[str, int], error: type[InputError], says: str
) -> None:
    audit = _audit(project, plan=NUMBERS)
    _register(audit)
    before = _stored()
    with pytest.raises(error, match=says):
        _extend(audit, **labels)
    assert _stored() == before


def test_draft_is_not_extended_and_nothing_is_registered_twice(project: Project) -> None:
    audit = _audit(project, 30, 30)
    with pytest.raises(Refused, match="still a draft"):
        _extend(audit, agree=30)
    _register(audit)
    before = _stored()
    with pytest.raises(Refused, match="registered already"):
        _register(audit)
    with pytest.raises(Refused, match="registered already"):
        _register(Audit.objects.get())
    assert _stored() == before


@pytest.mark.parametrize("rule", ["fail_on_missing_pair", "fail_on_unmapped_label"])
def test_registration_is_refused_where_integrity_fails_and_leaves_nothing(project: Project, rule: str) -> None:
    verdicts = {"a": ("Yes", "No"), "b": ("Yes", None), "c": ("Maybe", "No")}
    rules = {"fail_on_missing_pair": False, "fail_on_unmapped_label": False, rule: True}
    audit = factories.make_audit(factories.make_swap(project, verdicts, rules=rules))
    before = _stored()
    with pytest.raises(Refused, match=rule):
        _register(audit)
    assert (_stored(), Audit.objects.get().state) == (before, AuditState.DRAFT)


def test_plan_that_cannot_be_drawn_leaves_a_draft(project: Project) -> None:
    audit = _audit(project, 60, 60, plan={"allocation": {"agree": 30, "disagree": 3}})
    with pytest.raises(InputError, match="the fewest the plan can use"):
        _register(audit)
    assert (_stored()["Frame"], Audit.objects.get().state) == (0, AuditState.DRAFT)


def _die_at(statement: str, work: Callable[[], Any]) -> int:
    """Run in a process of its own that is killed when it comes to a statement; how it ended."""
    connection.close()
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def kill(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if statement in sql:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(kill):
        work()
    os._exit(0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", ["audits_registration", "adjudication_item", "adjudication_slot", "audits_draw"])
def test_registration_killed_in_the_middle_leaves_a_draft_that_registers(project: Project, table: str) -> None:
    """BEHAVIOUR 8."""
    audit = _audit(project, 30, 30)
    before = _stored()
    assert _die_at(f'INSERT INTO "{table}"', lambda: _register(audit)) == -signal.SIGKILL
    assert (_stored(), Audit.objects.get().state) == (before, AuditState.DRAFT)
    assert sum(_register(Audit.objects.get()).added.values()) == 60


@pytest.mark.django_db(transaction=True)
def test_extension_killed_in_the_middle_leaves_the_sample_as_it_was(project: Project) -> None:
    """BEHAVIOUR 8."""
    audit = _audit(project, 60, 60, plan=NUMBERS)
    _register(audit)
    drawn, before = _drawn(audit), _stored()
    assert _die_at('INSERT INTO "audits_draw"', lambda: _extend(audit, agree=60)) == -signal.SIGKILL
    assert (_drawn(audit), _stored()) == (drawn, before)
    assert _extend(audit, agree=60).added["agree"] == 30


@pytest.mark.parametrize(
    ("agree", "disagree", "labels"),
    [(0, 3, {"disagree": 3}), (4, 0, {"agree": 4}), (1, 0, {"agree": 1}), (0, 1, {"disagree": 1})],
)
def test_tiny_and_one_sided_worlds_are_drawn_whole(
    project: Project, agree: int, disagree: int, labels: dict[str, int]
) -> None:
    plan = {"half_width": 0.05, "allocation": {}}
    audit = _audit(project, agree, disagree, plan=plan)
    assert _register(audit).registration.labels == labels


def test_slice_has_a_larger_share_of_double_reviews(project: Project) -> None:
    verdicts = _verdicts(60, 60)
    slices = {case: {"risk": "high" if n % 4 == 0 else "low"} for n, case in enumerate(verdicts)}
    comparison = factories.make_swap(project, verdicts, slices=slices)
    review = {"double_review_share": 0.0, "double_review_slices": {"risk=high": 1.0}}
    audit = factories.make_audit(comparison, review=review)
    _register(audit)
    twice = {item.case.case_id for item in audit.queue.items.filter(slots__n=2).select_related("case")}
    drawn = set(audit.draws.values_list("case__case_id", flat=True))
    assert twice == {case for case in drawn if slices[case]["risk"] == "high"}
    assert 0 < len(twice) < len(drawn)


def test_double_reviews_are_a_share_of_the_cases_fixed_by_the_seed(project: Project) -> None:
    audit = _audit(project, review={"double_review_share": 0.3})
    _register(audit)
    twice = {item.case.case_id for item in audit.queue.items.filter(slots__n=2).select_related("case")}
    assert 70 < len(twice) < 122
    assert Slot.objects.count() == 320 + len(twice)
    other = _audit(factories.make_project("other"), review={"double_review_share": 0.3})
    _register(other)
    assert {item.case.case_id for item in other.queue.items.filter(slots__n=2).select_related("case")} == twice


def test_references_known_from_another_audit_settle_drawn_cases_at_once(project: Project) -> None:
    first = _audit(project, 4, 4)
    _register(first)
    ann = factories.make_person(project, "ann")
    for label in ("pass", "fail", None):
        answer(first.queue, ann, label)
    swap = factories.make_swap(project, _verdicts(4, 4), name="swap-2")
    second = factories.make_audit(swap, review={"reuse_references": True})
    assert _register(second).reused == 2
    assert sorted(Reference.objects.filter(settlement__queue=second.queue).values_list("settlement__how", "label")) == [
        ("reused", "fail"),
        ("reused", "pass"),
    ]
    assert second.queue.items.filter(state=ItemState.SETTLED).count() == 2
    third = factories.make_audit(factories.make_swap(project, _verdicts(4, 4), name="swap-3"))
    assert _register(third).reused == 0


def test_labels_to_target_never_ask_for_fewer_than_are_drawn(project: Project) -> None:
    audit = _audit(project, plan={"half_width": 0.2, "allocation": {"agree": 120, "disagree": 20}})
    _register(audit)
    wanted = labels_to_target(audit)
    assert wanted["agree"] == 120
    assert 20 <= wanted["disagree"] <= 170


def test_width_out_of_reach_for_traffic_is_refused_with_the_bound_before_anything_is_stored(project: Project) -> None:
    audit = _audit(project, 90, 30, plan={"target": "traffic", "half_width": 0.05, "allocation": {}})
    with pytest.raises(InputError) as caught:
        _register(audit)
    (problem,) = caught.value.problems
    # At most 30 of 120 cases are +1 or -1: z sqrt(0.25 / 120).
    assert (problem.key, problem.value) == ("plan.half_width", "0.05")
    assert problem.allowed == "above 0.0894597 at the variance that is assumed, or the target pool"
    assert set(_stored().values()) == {0}
