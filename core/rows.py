"""Records straight from SQL, several from one row.

For what is asked with every answer at the desk and nothing else: there, building a query from query sets took ten
times as long as the database took to answer it.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import Model

Converter = Callable[[Any], Any]


class Joined:
    """Models under the names that a statement gives to their tables. It asks for `columns` first; what it asks for
    after them comes back as it is. A record that an outer join did not find is None."""

    def __init__(self, **models: type[Model]) -> None:
        self.models = tuple(models.values())
        self.columns = ", ".join(
            f'{name}."{field.column}"' for name, model in models.items() for field in model._meta.concrete_fields
        )

    def ask(self, statement: str, values: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
        for row in all_rows(statement, values):
            yield tuple(self._records(row))

    def _records(self, row: tuple[Any, ...]) -> Iterator[Any]:
        start = 0
        for model in self.models:
            names, converters = _fields(model, connection.vendor)
            values = list(row[start : start + len(names)])
            start += len(names)
            for place, convert in converters:
                values[place] = convert(values[place])
            yield None if values[0] is None else model.from_db(connection.alias, names, values)
        yield from row[start:]


def all_rows(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def one_value(statement: str, values: Mapping[str, Any]) -> Any:
    """The one value that a statement finds; None where it finds no row."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row = cursor.fetchone()
    return row and row[0]


def stored(model: type[Model], **values: Any) -> dict[str, Any]:
    """Values as this database keeps them in fields of these names."""
    return {name: model._meta.get_field(name).get_db_prep_value(value, connection) for name, value in values.items()}


@lru_cache
def _fields(model: type[Model], vendor: str) -> tuple[list[str], list[tuple[int, Converter]]]:
    """The names of a model's fields, its key first, and what makes values of Python from those of this database."""
    fields = model._meta.concrete_fields
    converters = []
    for place, field in enumerate(fields):
        column = field.get_col(model._meta.db_table)
        for convert in (*connection.ops.get_db_converters(column), *column.get_db_converters(connection)):
            converters.append((place, _bound(convert, column)))
    return [field.attname for field in fields], converters


def _bound(convert: Callable[..., Any], column: Any) -> Converter:
    return lambda value: convert(value, column, connection)
