"""Append-only records: rows that a person or a machine once stated, never altered and never deleted. And fields that
are fixed from some moment on, in rows that otherwise change.

The model refuses in Python; a trigger per table refuses whatever goes around it, on SQLite and on
PostgreSQL alike, as an IntegrityError. SQLite drops a table's triggers without a word when a migration
rebuilds the table, so they are installed anew after every migrate.
"""

from collections.abc import Iterator
from typing import Any, NoReturn

from django.apps import apps
from django.db import IntegrityError, models
from django.db.backends.base.base import BaseDatabaseWrapper

from core.references import checked_models, reference_triggers, references_install


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


class FixedFields(models.Model):
    """Base of models of which some columns never change again once a condition over OLD holds."""

    fixed: tuple[str, ...] = ()
    fixed_when = ""
    fixed_since = ""  # the same for people

    class Meta:
        abstract = True


def fixed_models() -> Iterator[type[FixedFields]]:
    for model in apps.get_models():
        if issubclass(model, FixedFields):
            yield model


def protected_models() -> Iterator[type[models.Model]]:
    for model in apps.get_models():
        if issubclass(model, AppendOnly | SealedOnComplete):
            yield model


def guarded_models() -> Iterator[type[models.Model]]:
    yield from protected_models()
    yield from fixed_models()


def install_triggers(connection: BaseDatabaseWrapper) -> None:
    remove_triggers(connection)
    existing = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for model in protected_models():
            if model._meta.db_table in existing:
                for statement in _create(connection.vendor, model):
                    cursor.execute(statement)
        for model in fixed_models():
            if model._meta.db_table in existing:
                for statement in _fix(connection.vendor, model):
                    cursor.execute(statement)
    references_install(connection, existing)


def remove_triggers(connection: BaseDatabaseWrapper) -> None:
    existing = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for model in guarded_models():
            if model._meta.db_table in existing:
                for statement in _drop(connection.vendor, model):
                    cursor.execute(statement)


def missing_triggers(connection: BaseDatabaseWrapper) -> list[str]:
    """Names of triggers that should be there and are not, or are there and were disabled."""
    catalogue = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(catalogue)
        present = {row[0] for row in cursor.fetchall()}
    wanted = [name for names in _wanted(connection.vendor).values() for name in names]
    return [name for name in wanted if name not in present]


def unguarded_tables(connection: BaseDatabaseWrapper) -> list[str]:
    """Tables that are there without the triggers that should protect them."""
    existing, missing = set(connection.introspection.table_names()), set(missing_triggers(connection))
    return [table for table, names in _wanted(connection.vendor).items() if table in existing and missing & set(names)]


def _wanted(vendor: str) -> dict[str, list[str]]:
    """By table, its triggers."""
    wanted = {model._meta.db_table: _names(vendor, model) for model in guarded_models()}
    for model in checked_models():
        table = model._meta.db_table
        wanted[table] = [*wanted.get(table, ()), *reference_triggers(vendor, model)]
    return wanted


def _names(vendor: str, model: type[models.Model]) -> list[str]:
    table = model._meta.db_table
    if issubclass(model, FixedFields):
        return [f"fixed_fields_{table}"]
    events = ["update", "delete"] if vendor == "sqlite" else ["change", "truncate"]
    return [f"append_only_{event}_{table}" for event in events]


def _create(vendor: str, model: type[models.Model]) -> list[str]:
    table, condition = model._meta.db_table, model.protected_when  # type: ignore[attr-defined]
    # Table names and conditions come from our own models, never from input.
    if vendor == "sqlite":
        when = f"WHEN {condition}" if condition else ""
        return [
            f"CREATE TRIGGER {name} BEFORE {event} ON {table} {when} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            for name, event in zip(_names(vendor, model), ["UPDATE", "DELETE"], strict=True)
        ]
    change, truncate = _names(vendor, model)
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


def _fix(vendor: str, model: type[FixedFields]) -> list[str]:
    table, (name,) = model._meta.db_table, _names(vendor, model)
    refusal = f"{table}: {', '.join(model.fixed)} fixed {model.fixed_since}"
    differs = "IS NOT" if vendor == "sqlite" else "IS DISTINCT FROM"
    changed = " OR ".join(f"OLD.{column} {differs} NEW.{column}" for column in model.fixed)
    event = f"BEFORE UPDATE OF {', '.join(model.fixed)} ON {table}"
    if vendor == "sqlite":
        refused = f"SELECT RAISE(ABORT, '{refusal}')"
        return [f"CREATE TRIGGER {name} {event} WHEN ({changed}) AND {model.fixed_when} BEGIN {refused}; END"]
    refused = f"RAISE EXCEPTION '{refusal}' USING ERRCODE = 'integrity_constraint_violation';"
    return [
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF ({changed}) AND {model.fixed_when} THEN {refused} END IF; RETURN NEW; END $$",
        f"CREATE TRIGGER {name} {event} FOR EACH ROW EXECUTE FUNCTION {name}()",
    ]


def _drop(vendor: str, model: type[models.Model]) -> list[str]:
    on_table = "" if vendor == "sqlite" else f" ON {model._meta.db_table}"
    return [f"DROP TRIGGER IF EXISTS {name}{on_table}" for name in _names(vendor, model)]
