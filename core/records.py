"""Append-only records: rows that a person or a machine once stated, never altered and never deleted.

The model refuses in Python; a trigger per table refuses whatever goes around it, on SQLite and on
PostgreSQL alike, as an IntegrityError. SQLite drops a table's triggers without a word when a migration
rebuilds the table, so they are installed anew after every migrate.
"""

from collections.abc import Iterator
from typing import Any, NoReturn

from django.apps import apps
from django.db import IntegrityError, models
from django.db.backends.base.base import BaseDatabaseWrapper


class AppendOnlyError(IntegrityError):
    """An attempt to change or delete what is append-only."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    def _refuse(self) -> NoReturn:
        raise AppendOnlyError(f"{self.model._meta.db_table} is append-only")

    def update(self, **kwargs: Any) -> int:
        self._refuse()

    def delete(self) -> tuple[int, dict[str, int]]:
        self._refuse()

    def bulk_update(self, *args: Any, **kwargs: Any) -> int:
        self._refuse()


class AppendOnly(models.Model):
    """Base of every append-only model."""

    # An SQL condition over OLD under which a row is protected; empty: always.
    protected_when = ""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise AppendOnlyError(f"{self._meta.db_table} is append-only")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise AppendOnlyError(f"{self._meta.db_table} is append-only")


class SealedOnComplete(models.Model):
    """Base of models whose rows are free while their load runs and append-only once it is complete.

    `protected_when` says so to the trigger; the load's own service is the only writer before.
    """

    protected_when = ""

    class Meta:
        abstract = True


def protected_models() -> Iterator[type[models.Model]]:
    for model in apps.get_models():
        if issubclass(model, AppendOnly | SealedOnComplete):
            yield model


def install_triggers(connection: BaseDatabaseWrapper) -> None:
    remove_triggers(connection)
    existing = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for model in protected_models():
            if model._meta.db_table in existing:
                for statement in _create(connection.vendor, model._meta.db_table, model.protected_when):  # type: ignore[attr-defined]
                    cursor.execute(statement)


def remove_triggers(connection: BaseDatabaseWrapper) -> None:
    existing = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for model in protected_models():
            if model._meta.db_table in existing:
                for statement in _drop(connection.vendor, model._meta.db_table):
                    cursor.execute(statement)


def missing_triggers(connection: BaseDatabaseWrapper) -> list[str]:
    """Names of triggers that should be there and are not."""
    catalogue = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(catalogue)
        present = {row[0] for row in cursor.fetchall()}
    wanted = [name for model in protected_models() for name in _names(connection.vendor, model._meta.db_table)]
    return [name for name in wanted if name not in present]


def unguarded_tables(connection: BaseDatabaseWrapper) -> list[str]:
    """Tables that are there without the triggers that should protect them."""
    existing, missing = set(connection.introspection.table_names()), set(missing_triggers(connection))
    tables = (model._meta.db_table for model in protected_models())
    return [table for table in tables if table in existing and missing & set(_names(connection.vendor, table))]


def _names(vendor: str, table: str) -> list[str]:
    events = ["update", "delete"] if vendor == "sqlite" else ["change", "truncate"]
    return [f"append_only_{event}_{table}" for event in events]


def _create(vendor: str, table: str, condition: str) -> list[str]:
    # Table names and conditions come from our own models, never from input.
    if vendor == "sqlite":
        when = f"WHEN {condition}" if condition else ""
        return [
            f"CREATE TRIGGER {name} BEFORE {event} ON {table} {when} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            for name, event in zip(_names(vendor, table), ["UPDATE", "DELETE"], strict=True)
        ]
    change, truncate = _names(vendor, table)
    refusal = f"RAISE EXCEPTION '{table} is append-only' USING ERRCODE = 'integrity_constraint_violation';"
    return [
        # A trigger's WHEN may hold no subquery on PostgreSQL, so the condition stands in the function.
        f"CREATE OR REPLACE FUNCTION {change}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF {condition or 'TRUE'} THEN {refusal} END IF; "
        f"IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$",
        f"CREATE TRIGGER {change} BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {change}()",
        f"CREATE OR REPLACE FUNCTION {truncate}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {refusal} END $$",
        f"CREATE TRIGGER {truncate} BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION {truncate}()",
    ]


def _drop(vendor: str, table: str) -> list[str]:
    on_table = "" if vendor == "sqlite" else f" ON {table}"
    return [f"DROP TRIGGER IF EXISTS {name}{on_table}" for name in _names(vendor, table)]
