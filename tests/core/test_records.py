"""What a person or a machine once stated stays as it was stated, whichever way somebody tries."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction
from django.db.models.signals import pre_migrate

from adjudication.models import (
    Calibration,
    KnownAnswer,
    Label,
    LabelDispute,
    Presentation,
    Queue,
    QueuePurpose,
    ReasonCode,
    ReasonPlacement,
    Reference,
    Review,
    ReviewReason,
    Settlement,
    Span,
    Withdrawal,
)
from adjudication.services.calibrating import label_dispute
from adjudication.services.leases import practice_claim
from adjudication.services.presentations import presentation_ensure
from adjudication.services.undo import review_undo
from audits.models import (
    AnchorCheck,
    AnchorPart,
    AnchorSet,
    Audit,
    Cell,
    ColumnCheck,
    Diagnosis,
    DraftSizing,
    Draw,
    Frame,
    Inventory,
    Look,
    Registration,
    Reuse,
    SignOff,
    Stratum,
)
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from audits.services.sizing import draft_size
from core.models import Event, WebhookAttempt, WebhookDelivery, WebhookMessage
from core.records import fixed_models, install_triggers, missing_triggers, protected_models, remove_triggers
from core.webhooks import webhook_make
from judges.models import (
    Artifact,
    Case,
    CaseSet,
    Comparison,
    ComparisonRun,
    ComparisonSummary,
    Generator,
    HoldoutOpening,
    Judgment,
    LoadState,
    Mapping,
    PairIndex,
    Reader,
    Reading,
    Rubric,
    Run,
    SystemVersion,
)
from judges.services.loads import load_begin
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]

STATED = [
    Event,
    WebhookMessage,
    WebhookAttempt,
    Comparison,
    ComparisonRun,
    ComparisonSummary,
    PairIndex,
    HoldoutOpening,
    Rubric,
    Presentation,
    Review,
    Withdrawal,
    Label,
    ReviewReason,
    ReasonCode,
    ReasonPlacement,
    Span,
    KnownAnswer,
    Calibration,
    LabelDispute,
    Settlement,
    Reference,
    ColumnCheck,
    DraftSizing,
    Frame,
    Registration,
    Stratum,
    Cell,
    Draw,
    Look,
    Diagnosis,
    SignOff,
    Inventory,
    AnchorSet,
    AnchorPart,
    AnchorCheck,
    Reuse,
]
SEALED = [CaseSet, Case, SystemVersion, Artifact, Generator, Mapping, Reader, Run, Judgment, Reading]

FIXED = {Queue: ("rubric_id",), Audit: ("rubric_id", "queue_id", "comparison_id")}
ALL_TRIGGERS = 2 * (len(STATED) + len(SEALED)) + len(FIXED)


def test_fields_that_are_fixed_some_time_are_these_and_no_others() -> None:
    assert {model: model.fixed for model in fixed_models()} == FIXED


def test_protected_models_are_these_and_no_others() -> None:
    assert set(protected_models()) == {*STATED, *SEALED}


@pytest.fixture
def world(db: None) -> None:
    """At least one row of every protected model."""
    project = factories.make_project()
    comparison = factories.make_swap(
        project, {"a": ("Yes", "No"), "b": ("Yes", "Yes")}, further=[("new", "repeat", {"a": "No", "b": "No"})]
    )
    audit = factories.make_audit(comparison)
    draft_size(audit=audit)
    ColumnCheck.objects.create(audit=audit, manifest_hash=audit.manifest_hash, warnings=[])
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    lease = factories.claim(audit.queue, factories.make_person(project, "ann"))
    presentation_ensure(item=lease.item, author=lease.author, now=NOW)
    factories.submit(lease, "fail")
    lease = review_undo(lease=lease, actor=lease.author, now=NOW)
    factories.submit(lease, "pass", reasons=["rubric boundary"], spans=[(None, 0, 0, 1)])
    practice = factories.make_known_set(project, QueuePurpose.PRACTICE, 1)
    factories.calibrate(audit.queue, practice=practice.name)
    lease = practice_claim(practice=practice, actor=lease.author, now=NOW)
    factories.submit(lease, "fail")
    label_dispute(lease=lease, actor=lease.author, code="gold-label dispute", words="it is wrong", now=NOW)
    actor = factories.operator(audit)
    webhook_make(url="https://ci.example/", kinds=["look.computed"], actor=actor, now=NOW)
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)
    WebhookAttempt.objects.create(delivery=WebhookDelivery.objects.get(), n=1, at=NOW, status=204)
    HoldoutOpening.objects.create(case_set=comparison.case_set, reason="to see", actor=actor, at=NOW)
    stated = {"audit": audit, "words": "the parser", "actor": actor, "at": NOW}
    Diagnosis.objects.create(case=lease.item.case, code="parser invalid", owner="mapping", kind="repair", **stated)
    SignOff.objects.create(n=1, kind="rollback", gate=[], **stated)
    Inventory.objects.create(audit=audit, n=1, consumers="the dashboard", actor=actor, at=NOW)
    rubric = {"rubric": "right", "rubric_version": "1", "rubric_hash": "0" * 64}
    made = {"audit": audit, "licence": "CC0-1.0", "anchors": 1, "content_hash": "0" * 64, "card_text": "{}"}
    anchors = AnchorSet.objects.create(project=project, name="set", version=1, actor=actor, at=NOW, **rubric, **made)
    AnchorPart.objects.create(anchor_set=anchors, n=1, lines=b"{}")
    run = comparison.old_run
    checked = {"reader": Reader.objects.first(), "partition": "development", "comparison": comparison}
    AnchorCheck.objects.create(anchor_set=anchors, run=run, result={}, at=NOW, **checked)
    Reuse.objects.create(audit=audit, settlement=Settlement.objects.first(), source="another audit")


def _update(row: models.Model) -> None:
    type(row)._default_manager.filter(pk=row.pk).update(id=row.pk)


def _bulk_update(row: models.Model) -> None:
    field = next(field.name for field in row._meta.concrete_fields if not field.primary_key)
    type(row)._default_manager.bulk_update([row], [field])


def _base_update(row: models.Model) -> None:
    type(row)._base_manager.filter(pk=row.pk).update(id=row.pk)


def _base_delete(row: models.Model) -> None:
    type(row)._base_manager.filter(pk=row.pk)._raw_delete(using="default")


def _manager_delete(row: models.Model) -> None:
    type(row)._default_manager.filter(pk=row.pk).delete()


def _raw(statement: str) -> Callable[[models.Model], None]:
    def run(row: models.Model) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement.format(table=row._meta.db_table), [row.pk])

    return run


ATTEMPTS: dict[str, Callable[[models.Model], Any]] = {
    "save": lambda row: row.save(),
    "delete": lambda row: row.delete(),
    "update": _update,
    "bulk_update": _bulk_update,
    "manager delete": _manager_delete,
    "base manager update": _base_update,
    "base manager delete": _base_delete,
    "raw update": _raw("UPDATE {table} SET id = id WHERE id = %s"),
    "raw delete": _raw("DELETE FROM {table} WHERE id = %s"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_every_stated_row_refuses(world: None, attempt: str) -> None:
    for model in STATED:
        row = model._default_manager.first()
        assert row is not None, model
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            ATTEMPTS[attempt](row)
        assert model._default_manager.filter(pk=row.pk).exists()


@pytest.mark.parametrize("attempt", [name for name in ATTEMPTS if "delete" not in name])
def test_every_row_of_a_complete_load_refuses_a_change(world: None, attempt: str) -> None:
    for model in SEALED:
        row = model._default_manager.first()
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            ATTEMPTS[attempt](row)


@pytest.mark.parametrize("attempt", ["base manager delete", "raw delete"])
def test_every_row_of_a_complete_load_refuses_deletion(world: None, attempt: str) -> None:
    for model in SEALED:
        row = model._default_manager.first()
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            ATTEMPTS[attempt](row)


def test_emptying_a_whole_table_is_refused(world: None) -> None:
    connection.check_constraints()  # PostgreSQL would refuse for the checks that wait for the commit
    statement = "DELETE FROM {}" if connection.vendor == "sqlite" else "TRUNCATE {} CASCADE"
    for model in protected_models():
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement.format(model._meta.db_table))


def test_rows_of_a_running_load_are_free_and_sealed_by_its_completion() -> None:
    case_set = load_begin(CaseSet, now=NOW, project=factories.make_project(), name="cases", version="1")
    case = Case.objects.create(case_set=case_set, case_id="a", input_hash="0" * 64, partition="smoke")
    case.case_id = "b"
    case.save()
    Case.objects.filter(pk=case.pk).update(case_id="c")
    Case.objects.create(case_set=case_set, case_id="d", input_hash="0" * 64, partition="smoke").delete()
    CaseSet.objects.filter(pk=case_set.pk).update(state=LoadState.COMPLETE)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        Case.objects.filter(pk=case.pk).update(case_id="e")
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        CaseSet.objects.filter(pk=case_set.pk).update(state=LoadState.LOADING)
    assert list(Case.objects.values_list("case_id", flat=True)) == ["c"]


def test_every_trigger_is_there_after_migrate_and_one_that_vanished_is_named() -> None:
    assert missing_triggers(connection) == []
    wanted = [f"append_only_{'update' if connection.vendor == 'sqlite' else 'change'}_{Look._meta.db_table}"]
    on_table = "" if connection.vendor == "sqlite" else f" ON {Look._meta.db_table}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {wanted[0]}{on_table}")
    assert missing_triggers(connection) == wanted


def test_all_triggers_are_named_where_none_is_left() -> None:
    remove_triggers(connection)
    assert len(missing_triggers(connection)) == ALL_TRIGGERS


def test_triggers_step_aside_for_migrations_and_for_nothing_else() -> None:
    core = apps.get_app_config("core")
    pre_migrate.send(sender=core, using="default", plan=[])
    assert missing_triggers(connection) == []
    pre_migrate.send(sender=core, using="default", plan=[object()])
    assert len(missing_triggers(connection)) == ALL_TRIGGERS
    install_triggers(connection)
    assert missing_triggers(connection) == []


def test_new_row_is_still_written_once(world: None) -> None:
    before = Event.objects.count()
    event = Event.objects.first()
    assert event is not None
    Event(project=event.project, name="second", actor=event.actor, at=NOW, payload={}).save()
    assert Event.objects.count() == before + 1
