"""A release is applied while people work: no migration holds a table of a million rows for long (CONTRIBUTING.md)."""

from collections.abc import Iterator

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

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


def faults(migration: migrations.Migration) -> Iterator[str]:
    for operation in migration.operations:
        if fault := fault_of(operation, migration.atomic):
            yield f"{migration}: {fault}"


def fault_of(operation: Operation, atomic: bool) -> str:
    if isinstance(operation, QUICK):
        return ""
    if isinstance(operation, migrations.AddField):
        constant = operation.field.has_default() and not callable(operation.field.default)
        constant = constant or operation.field.default in (dict, list)  # Django writes what they make, once
        return "" if operation.field.null or constant else f"{operation.name} has neither null nor a constant default"
    if isinstance(operation, migrations.RunPython | migrations.RunSQL):
        return "rows are changed in the transaction of the migration: atomic = False, and chunks" if atomic else ""
    return f"{type(operation).__name__} may rewrite the table: add another field, fill it in chunks, then drop the old"


def test_no_migration_of_ours_holds_a_table_for_long() -> None:
    loader = MigrationLoader(None)
    found = [
        fault for (app, _), migration in loader.disk_migrations.items() if app in OURS for fault in faults(migration)
    ]
    assert found == []


class Planted(migrations.Migration):
    operations = [migrations.RunPython(lambda apps, editor: None)]


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (migrations.RunSQL("UPDATE core_event SET name = ''"), "rows are changed in the transaction"),
        (migrations.AlterField("event", "name", models.TextField()), "AlterField may rewrite the table"),
        (migrations.AddField("event", "x", models.IntegerField()), "x has neither null nor a constant default"),
        (
            migrations.AddField("event", "x", models.FloatField(default=lambda: 1.0)),
            "x has neither null nor a constant",
        ),
    ],
)
def test_operation_that_would_is_found(operation: Operation, says: str) -> None:
    assert fault_of(operation, atomic=True).startswith(says)


def test_rows_may_be_changed_in_chunks() -> None:
    planted = Planted("0009_fill", "core")
    assert list(faults(planted)) == [
        "core.0009_fill: rows are changed in the transaction of the migration: atomic = False, and chunks"
    ]
    planted.atomic = False
    assert list(faults(planted)) == []
