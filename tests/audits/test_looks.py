"""A burst of settlements costs one look, nothing that was settled is lost, and a final look is the last."""

import json
import multiprocessing
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from adjudication.services.settlements import item_settle
from audits.exports.pool import pool_write
from audits.exports.wording import remaining_words
from audits.models import Audit, Draw, Look
from audits.selectors import audits_with_due_looks, is_closed, last_look, look_is_due
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_extend, audit_register
from audits.tasks import look_due, looks_sweep
from core.errors import Refused
from core.models import Project
from core.pulse import DEAD_AFTER
from core.version import VERSION
from tests import factories
from tests.factories import NOW, Verdicts

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _verdicts(number: int) -> Verdicts:
    return {f"q{n:02d}": ("Yes", "No" if n % 2 else "Yes") for n in range(number)}


def _registered(project: Project, number: int = 12, name: str = "swap-1", **plan: Any) -> Audit:
    audit = factories.make_audit(factories.make_swap(project, _verdicts(number), name=name), plan=plan)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    return audit


def _settle(audit: Audit, number: int, label: str = "pass") -> None:
    """Settle the next drawn items, in serving order."""
    draws = audit.draws.filter(item__state="open").order_by("item__rank").select_related("item")[:number]
    for draw in draws:
        decision = dict.fromkeys(draw.item.shown.values_list("artifact", flat=True), label)
        item_settle(item=draw.item, how="single", decision=decision, actor=factories.operator(audit), now=NOW)


def _bring_up(audit: Audit) -> int:
    return looks_bring_up_to_date(audit=audit, clock=lambda: NOW)


def test_burst_of_settlements_costs_one_look(project: Project) -> None:
    audit = _registered(project)
    assert (look_is_due(audit), _bring_up(audit)) == (False, 0)
    _settle(audit, 7)
    assert (look_is_due(audit), _bring_up(audit)) == (True, 1)
    assert (look_is_due(audit), _bring_up(audit)) == (False, 0)
    look = Look.objects.get()
    assert (look.watermark, look.labels, look.at, look.code_version) == (7, 7, NOW, VERSION)
    assert look.registration == audit.registrations.get()


def test_look_reads_the_draws_in_one_aggregate_query_whatever_their_number(project: Project) -> None:
    audit = _registered(project, number=12, half_width=0.05)
    counts = []
    for settled in (1, 6, 5):
        _settle(audit, settled)
        with CaptureQueriesContext(connection) as queries:
            assert _bring_up(audit) == 1
        counts.append(sum("audits_draw" in query["sql"] for query in queries.captured_queries))
    assert counts == [1, 1, 1]


def test_look_at_a_census_is_exact(project: Project) -> None:
    audit = _registered(project)
    _settle(audit, 12, "pass")
    _bring_up(audit)
    look = Look.objects.get()
    assert (look.point, look.low, look.high) == (-0.5, -0.5, -0.5)
    assert look.result["interval"] == {"low": -0.5, "high": -0.5, "half_width": 0.0}


def test_looks_follow_settlements_and_keep_the_curve(project: Project) -> None:
    audit = _registered(project)
    for _ in range(3):
        _settle(audit, 4)
        _bring_up(audit)
    assert list(Look.objects.order_by("pk").values_list("watermark", "labels")) == [(4, 4), (8, 8), (12, 12)]
    assert last_look(audit) == Look.objects.get(watermark=12)


def test_database_holds_one_look_per_watermark(project: Project) -> None:
    audit = _registered(project)
    _settle(audit, 1)
    _bring_up(audit)
    look = Look.objects.get()
    look.pk, look._state.adding = None, True
    with pytest.raises(IntegrityError, match=r"one_look_per_watermark|watermark"), transaction.atomic():
        look.save()


def test_taken_audit_is_left_to_its_taker_until_it_must_be_dead(project: Project) -> None:
    audit = _registered(project)
    _settle(audit, 1)
    Audit.objects.update(look_taker="somebody", look_taken_at=NOW)
    assert looks_bring_up_to_date(audit=audit, clock=lambda: NOW + DEAD_AFTER) == 0
    assert looks_bring_up_to_date(audit=audit, clock=lambda: NOW + DEAD_AFTER + timedelta(seconds=1)) == 1
    fresh = Audit.objects.get()
    assert (fresh.look_taker, fresh.look_taken_at) == ("", None)


def test_taker_whose_computation_fails_lets_go(project: Project) -> None:
    audit = _registered(project)
    _settle(audit, 1)
    audit.plan["estimand"] = "no such estimand"
    with pytest.raises(Exception, match="no such estimand"):
        _bring_up(audit)
    assert Audit.objects.get().look_taker == ""
    assert _bring_up(Audit.objects.get()) == 1


def test_settlement_that_comes_while_a_look_is_computed_gets_its_own(project: Project) -> None:
    audit = _registered(project)
    _settle(audit, 1)
    times = iter([NOW, NOW, NOW])

    def clock() -> Any:
        _settle(audit, 1)
        return next(times)

    assert looks_bring_up_to_date(audit=audit, clock=clock) == 1
    assert Look.objects.get().watermark == 3


def test_final_monitored_look_closes_the_audit(project: Project) -> None:
    audit = _registered(project, 60, policy="monitored", half_width=0.3)
    for _ in range(30):
        _settle(audit, 2)
        _bring_up(audit)
    finals = list(Look.objects.filter(final=True))
    assert len(finals) == 1
    assert finals[0] == last_look(audit)
    assert is_closed(finals[0])
    audit.queue.refresh_from_db()
    assert audit.queue.settled == 60 > finals[0].watermark
    assert not look_is_due(audit)
    with pytest.raises(Refused, match="has come to the stop of its plan"):
        audit_extend(audit=audit, labels={"agree": 30}, actor=factories.operator(audit), now=NOW)


def test_planned_audit_goes_on_after_its_target(project: Project) -> None:
    audit = _registered(project, 60, policy="planned", half_width=0.3)
    _settle(audit, 58)
    _bring_up(audit)
    assert last_look(audit).final  # type: ignore[union-attr]
    _settle(audit, 2)
    assert _bring_up(audit) == 1


def test_draft_has_no_look(project: Project) -> None:
    audit = factories.make_audit(factories.make_swap(project, _verdicts(4)))
    assert (look_is_due(audit), _bring_up(audit), audits_with_due_looks()) == (False, 0, [])


def test_sweeper_finds_the_audits_whose_message_was_lost(project: Project) -> None:
    one, two = _registered(project), _registered(project, name="swap-2")
    _settle(two, 2)
    assert audits_with_due_looks() == [two]
    looks_sweep()
    assert list(Look.objects.values_list("audit", "watermark")) == [(two.pk, 2)]
    assert (one.looks.count(), audits_with_due_looks()) == (0, [])


def test_message_about_a_queue_without_audit_is_no_error(project: Project) -> None:
    look_due(queue=factories.make_queue(project, 1).pk, number=1)
    assert Look.objects.count() == 0


def _bring_up_in_a_process(audit: Audit) -> int:
    return looks_bring_up_to_date(audit=audit, clock=lambda: NOW)


@pytest.mark.django_db(transaction=True)
def test_six_takers_at_once_compute_one_look(project: Project) -> None:
    audit = _registered(project)
    for round_ in range(1, 4):
        _settle(audit, 2)
        connection.close()
        with multiprocessing.get_context("fork").Pool(6, initializer=connection.close) as pool:
            assert sum(pool.map(_bring_up_in_a_process, [audit] * 6, chunksize=1)) == 1
        assert Look.objects.count() == round_


def test_labels_still_needed_move_with_each_batch_as_an_offline_computation_says(
    project: Project, tmp_path: Path
) -> None:
    """BEHAVIOUR 33. The offline computation is `size` over the exported pool, which knows no database."""
    verdicts = {f"q{n:03d}": ("Yes", "No" if n < 200 else "Yes") for n in range(500)}
    plan = {"policy": "monitored", "half_width": 0.02, "allocation": {"agree": 30, "disagree": 200}}
    audit = factories.make_audit(factories.make_swap(project, verdicts), plan=plan)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    needed, states = [], []
    for turn, batch in enumerate((15, 30, 40, 40)):
        _settle(audit, batch, "pass" if turn % 2 else "fail")
        _bring_up(audit)
        stored = last_look(audit).remaining  # type: ignore[union-attr]
        path = tmp_path / f"{turn}.csv"
        pool_write(audit, path)
        out = StringIO()
        asked = "--estimand accuracy_difference --policy monitored --target-half-width 0.02 --json"
        with suppress(SystemExit):  # exits 1 while it cannot tell
            call_command("size", str(path), *asked.split(), stdout=out)
        offline = json.loads(out.getvalue())
        assert {name: offline[name] for name in stored} == stored
        needed.append(stored["total_more"])
        states.append(stored["state"])
    assert states == ["cannot tell yet", "ok", "ok", "ok"]
    assert len(set(needed)) == 4
    assert remaining_words(audit.looks.earliest("pk").remaining, half_width=0.02).startswith(
        "How many more labels reach"
    )


def _wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.05)


@pytest.mark.django_db(transaction=True)
def test_worker_computes_the_look_after_a_settlement(
    celery_broker: Celery, worker: str, transactional_db: None, project: Project
) -> None:
    audit = _registered(project)
    with transaction.atomic():
        _settle(audit, 3)
    _wait_for(lambda: Look.objects.filter(watermark=3).exists())
    assert Look.objects.get().audit == audit


@pytest.mark.django_db(transaction=True)
def test_worker_finds_by_sweeping_what_was_settled_while_the_broker_was_down(
    project: Project, worker: str, request: pytest.FixtureRequest
) -> None:
    audit = _registered(project)
    with transaction.atomic():
        _settle(audit, 3)  # no broker is reachable yet
    assert not Look.objects.exists()
    request.getfixturevalue("celery_broker")
    looks_sweep.delay()
    _wait_for(lambda: Look.objects.filter(watermark=3).exists())
    assert Draw.objects.filter(audit=audit, item__state="settled").count() == 3


@pytest.mark.parametrize("labels", [["pass"], ["fail"], ["pass", "fail"]])
@pytest.mark.parametrize("number", [1, 2, 3, 25])
@pytest.mark.parametrize("words", [("Yes", "Yes"), ("Yes", "No"), ("No", "No")])
def test_world_of_one_cell_has_looks_without_an_error(
    project: Project, labels: list[str], number: int, words: tuple[str, str]
) -> None:
    swap = factories.make_swap(project, {f"q{n}": words for n in range(number)})
    audit = factories.make_audit(swap, plan={"policy": "monitored", "half_width": 0.05})
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    for turn in range(number):
        _settle(audit, 1, labels[turn % len(labels)])
        _bring_up(audit)
    look = last_look(audit)
    assert look is not None
    assert look.low is not None
    assert look.high is not None
    assert look.low <= look.point <= look.high  # type: ignore[operator]


def test_all_cases_underspecified_give_a_look_without_an_interval(project: Project) -> None:
    audit = _registered(project, 4)
    _settle(audit, 4, None)  # type: ignore[arg-type]
    _bring_up(audit)
    look = Look.objects.get()
    assert (look.labels, look.low, look.high) == (4, None, None)
    assert (look.result["undecided"], look.result["labels"]) == (4, 0)
