"""Foreign keys that PostgreSQL checks by the statement and no longer by the row.

A load writes millions of rows, and to check each of their references by a query of its own took PostgreSQL more time
than to store them. For the models named here the same is asked once for all rows of a statement: what they refer to
is there, and is held for the transaction as a foreign key holds it, so that nobody removes it meanwhile. Who removes
a row or gives it another key is refused while something refers to it. SQLite's own foreign keys cost next to nothing,
and stay.

Unlike a foreign key that Django declares, the check does not wait for the end of the transaction: what is referred
to is written first.
"""

from collections.abc import Container, Iterable, Iterator
from graphlib import TopologicalSorter
from typing import NamedTuple

from django.apps import apps
from django.db import models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

# A session keeps its plans: one made for small tables would read large ones from end to end. Hence no such reading, and
# what is looked up are the elements of an array, or a subquery for each key: the planner makes no join of them.
BY_INDEX = "SET enable_seqscan TO off"


class CheckedByStatement(models.Model):
    """Base of models with so many rows."""

    class Meta:
        abstract = True


class Reference(NamedTuple):
    table: str
    column: str
    to: str
    key: str

    @property
    def deleted(self) -> str:
        return f"kept_for_{self.table}_{self.column}"

    @property
    def moved(self) -> str:
        return f"unmoved_for_{self.table}_{self.column}"


def references_of(model: type[models.Model]) -> list[Reference]:
    """What the rows of a model refer to."""
    return [
        Reference(model._meta.db_table, field.column, target.model._meta.db_table, target.column)
        for field in model._meta.concrete_fields
        if isinstance(field, models.ForeignKey)
        for target in field.foreign_related_fields
    ]


def checked_models() -> Iterator[type[models.Model]]:
    for model in apps.get_models():
        if issubclass(model, CheckedByStatement):
            yield model


def referred_to_first(stored: Iterable[type[models.Model]]) -> list[type[models.Model]]:
    """These models, each after what its rows refer to, where that is asked as soon as a row is written."""
    graph: TopologicalSorter[type[models.Model]] = TopologicalSorter()
    for model in stored:
        fields = model._meta.concrete_fields if issubclass(model, CheckedByStatement) else ()
        graph.add(model, *(field.related_model for field in fields if isinstance(field, models.ForeignKey)))
    return list(graph.static_order())


def reference_triggers(vendor: str, model: type[models.Model]) -> list[str]:
    """Names of the triggers that check what a model's rows refer to."""
    if vendor == "sqlite":
        return []
    kept = [name for reference in references_of(model) for name in (reference.deleted, reference.moved)]
    return [*_written(model), *kept]


def references_install(connection: BaseDatabaseWrapper, existing: Container[str]) -> None:
    """Put triggers in the place of foreign keys, one table after the other, each at one moment."""
    if connection.vendor == "sqlite":
        return
    for model in checked_models():
        if model._meta.db_table in existing:
            with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
                for statement in [*_statements(model), *_dropped(connection, model)]:
                    cursor.execute(statement)


def _dropped(connection: BaseDatabaseWrapper, model: type[models.Model]) -> Iterator[str]:
    table = model._meta.db_table
    with connection.cursor() as cursor:
        for name, constraint in connection.introspection.get_constraints(cursor, table).items():
            if constraint["foreign_key"]:
                yield f'ALTER TABLE {table} DROP CONSTRAINT "{name}"'


def _written(model: type[models.Model]) -> tuple[str, str]:
    return f"referred_to_is_there_{model._meta.db_table}_i", f"referred_to_is_there_{model._meta.db_table}_u"


def _statements(model: type[models.Model]) -> Iterator[str]:
    """Names of tables and columns come from our own models, never from input."""
    table, references = model._meta.db_table, references_of(model)
    checks = " ".join(_is_there(reference) for reference in references)
    function = f"referred_to_is_there_{table}"
    yield _function(function, f"BEGIN {checks} RETURN NULL; END", BY_INDEX)
    for name, event in zip(_written(model), ("INSERT", "UPDATE"), strict=True):
        yield (
            f"CREATE OR REPLACE TRIGGER {name} AFTER {event} ON {table} REFERENCING NEW TABLE AS written "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
        )
    for reference in references:
        referring = f"SELECT 1 FROM {table} WHERE {reference.column} = removed.{reference.key} LIMIT 1"  # noqa: S608
        found = f"SELECT 1 FROM removed WHERE ({referring}) IS NOT NULL"  # noqa: S608
        refusal = _refusal(f"{table} still refers to a row of {reference.to}")
        yield _function(
            reference.deleted, f"BEGIN IF EXISTS ({found}) THEN {refusal} END IF; RETURN NULL; END", BY_INDEX
        )
        yield (
            f"CREATE OR REPLACE TRIGGER {reference.deleted} AFTER DELETE ON {reference.to} "
            f"REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION {reference.deleted}()"
        )
        yield _function(reference.moved, f"BEGIN {_refusal(f'{table} refers to {reference.to} by its key')} END")
        yield (
            f"CREATE OR REPLACE TRIGGER {reference.moved} BEFORE UPDATE OF {reference.key} ON {reference.to} "
            f"FOR EACH ROW WHEN (OLD.{reference.key} IS DISTINCT FROM NEW.{reference.key}) "
            f"EXECUTE FUNCTION {reference.moved}()"
        )


def _is_there(reference: Reference) -> str:
    column, to, key = reference.column, reference.to, reference.key
    refusal = _refusal(f"{reference.table}.{column} refers to a row of {to} that is not there")
    # Keys of a load follow one another: looked up together, most are found where the one before was.
    given = f"ARRAY(SELECT {column} FROM written)"  # noqa: S608
    held = f"(SELECT 1 FROM {to} WHERE {key} = ANY({given}) FOR KEY SHARE) AS held"  # noqa: S608
    absent = f"(SELECT count(*) FROM {held}) < (SELECT count(DISTINCT {column}) FROM written)"  # noqa: S608
    return f"IF {absent} THEN {refusal} END IF;"


def _function(name: str, body: str, settings: str = "") -> str:
    return f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql {settings} AS $$ {body} $$"


def _refusal(message: str) -> str:
    return f"RAISE EXCEPTION '{message}' USING ERRCODE = 'foreign_key_violation';"
