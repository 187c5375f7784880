"""A release is applied while people work: no migration holds a table of a million rows for long (CONTRIBUTING.md)."""

from collections.abc import Iterator
from importlib import import_module

import pytest
from django.apps import apps
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.operations.fields import FieldOperation
from django.db.migrations.state import ProjectState

from adjudication.models import Item
from core.identity import text_hash
from tests import factories

OURS = ("core", "judges", "adjudication", "audits")
QUICK = (
    migrations.CreateModel,
    migrations.AddConstraint,
    migrations.AddIndex,
    migrations.RemoveConstraint,
    migrations.RemoveIndex,
    migrations.RemoveField,
    migrations.DeleteModel,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
)


def faults(migration: migrations.Migration, state: ProjectState) -> Iterator[str]:
    """`state` is that before the migration."""
    made: set[str] = set()  # tables that this migration makes have no rows yet
    for operation in migration.operations:
        if isinstance(operation, migrations.CreateModel):
            made.add(operation.name_lower)
        on_new = isinstance(operation, FieldOperation) and operation.model_name_lower in made
        if not on_new and (fault := fault_of(operation, migration.atomic, state, migration.app_label)):
            yield f"{migration}: {fault}"
        operation.state_forwards(migration.app_label, state)


def fault_of(operation: Operation, atomic: bool, state: ProjectState, app: str) -> str:
    if isinstance(operation, QUICK) or keeps_its_column(operation, state, app):
        return ""
    if isinstance(operation, migrations.AddField):
        field = operation.field
        empty = field.blank and field.empty_strings_allowed  # Django gives an empty text
        # A default is asked for once, and is one constant for all rows.
        return "" if field.null or field.has_default() or empty else f"{operation.name} has neither null nor a default"
    if isinstance(operation, migrations.RunPython | migrations.RunSQL):
        return "rows are changed in the transaction of the migration: atomic = False, and chunks" if atomic else ""
    return f"{type(operation).__name__} may rewrite the table: add another field, fill it in chunks, then drop the old"


def keeps_its_column(operation: Operation, state: ProjectState, app: str) -> bool:
    """A field that changes in words only, or may be longer than before."""
    if not isinstance(operation, migrations.AlterField):
        return False
    before, after = state.models[app, operation.model_name_lower].fields[operation.name], operation.field
    longer = (before.max_length or 0) <= (after.max_length or 0)
    return before.get_internal_type() == after.get_internal_type() and longer and before.null <= after.null


def test_no_migration_of_ours_holds_a_table_for_long() -> None:
    loader = MigrationLoader(None)
    ours = [migration for (app, _), migration in loader.disk_migrations.items() if app in OURS]
    later = [migration for migration in ours if not migration.initial]  # the first ones find no rows
    found = [
        fault
        for migration in later
        for fault in faults(migration, loader.project_state((migration.app_label, migration.name), at_end=False))
    ]
    assert len(ours) > len(later) > 0
    assert found == []


@pytest.fixture
def state() -> ProjectState:
    return MigrationLoader(None).project_state(("core", "0001_initial"))


class Planted(migrations.Migration):
    operations = [migrations.RunPython(lambda apps, editor: None)]


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (migrations.RunSQL("UPDATE core_event SET name = ''"), "rows are changed in the transaction"),
        (migrations.AlterField("event", "name", models.TextField()), "AlterField may rewrite the table"),
        (migrations.AddField("event", "x", models.IntegerField()), "x has neither null nor a default"),
    ],
)
def test_operation_that_would_is_found(state: ProjectState, operation: Operation, says: str) -> None:
    assert fault_of(operation, True, state, "core").startswith(says)


def test_new_choices_and_a_longer_text_keep_the_column(state: ProjectState) -> None:
    longer = models.CharField(max_length=90, choices=[("a", "a")])
    shorter = models.CharField(max_length=10)
    assert fault_of(migrations.AlterField("event", "name", longer), True, state, "core") == ""
    assert fault_of(migrations.AlterField("event", "name", shorter), True, state, "core") != ""


def test_rows_may_be_changed_in_chunks(state: ProjectState) -> None:
    planted = Planted("0009_fill", "core")
    assert list(faults(planted, state)) == [
        "core.0009_fill: rows are changed in the transaction of the migration: atomic = False, and chunks"
    ]
    planted.atomic = False
    assert list(faults(planted, state)) == []


@pytest.mark.database
@pytest.mark.django_db
def test_items_of_an_earlier_release_get_the_question_of_their_case(monkeypatch: pytest.MonkeyPatch) -> None:
    filling = import_module("adjudication.migrations.0007_question_of_an_item")
    monkeypatch.setattr(filling, "CHUNK", 2)
    queue = factories.make_queue(factories.make_project(), 3)
    given = list(queue.items.order_by("rank").values_list("question", flat=True))
    Item.objects.update(question="0" * 64)
    filling.fill(apps, None)
    found = queue.items.order_by("rank").values_list("question", flat=True)
    assert list(found) == given == [text_hash(f"question c{number:03d}") for number in (1, 2, 3)]
