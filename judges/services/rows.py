"""Rows written by plain SQL: a million of them are too many for objects. Only loads write this way."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any

from django.db import IntegrityError, connection, models, transaction

# Rows of one statement on SQLite, which for every statement begins, writes the table's last key and ends anew.
TOGETHER = 50
# SQLite numbers a table's rows from its first row on; here its first keys may be taken before it has a row.
NUMBERED = "INSERT INTO sqlite_sequence SELECT %s, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = %s)"
TAKEN = "UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s RETURNING seq"
LISTED = {
    "sqlite": "IN (SELECT value FROM json_each(%s))",
    "postgresql": "= ANY(ARRAY(SELECT jsonb_array_elements_text(%s::jsonb)))",
}


def ids_taken(model: type[models.Model], number: int) -> Sequence[int]:
    """Keys for so many new rows, growing, which nobody else gets: those that are not used are nobody's."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            with transaction.atomic():
                cursor.execute(NUMBERED, [table, table])
                cursor.execute(TAKEN, [number, table])
                last = cursor.fetchone()[0]
            return range(last + 1 - number, last + 1)
        sequence = "(SELECT pg_get_serial_sequence(%s, 'id')::regclass)"  # looked up once, not for every key
        cursor.execute(f"SELECT nextval({sequence}) FROM generate_series(1, %s)", [table, number])  # noqa: S608
        return [key for (key,) in cursor.fetchall()]


def rows_write(
    model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]], *, types: Sequence[str] = ()
) -> None:
    """COPY on PostgreSQL, prepared statements on SQLite. JSON goes in as text."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            _insert(cursor, table, columns, rows)
        else:
            _copy(cursor, table, columns, rows, types)


def tables_measure(*written: type[models.Model]) -> None:
    """Let PostgreSQL look at tables that were written just now: until it did, it plans as if they were empty. With a
    tenth of its usual sample, 3,000 rows, so that it takes no longer the more there are."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL default_statistics_target = 10")
            cursor.execute(f"ANALYZE {', '.join(model._meta.db_table for model in written)}")


def new_rows_write(
    model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]], *, types: Sequence[str]
) -> None:
    """The same, leaving out rows that a unique constraint knows already. `types` are those of the columns."""
    table, names = model._meta.db_table, ", ".join(columns)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            _insert(cursor, table, columns, rows, "ON CONFLICT DO NOTHING")
            return
        # COPY knows no conflicts: the rows come in beside the table first.
        declared = ", ".join(f"{name} {kind}" for name, kind in zip(columns, types, strict=True))
        cursor.execute(f"CREATE TEMPORARY TABLE IF NOT EXISTS incoming_{table} ({declared}) ON COMMIT DELETE ROWS")
        cursor.execute(f"TRUNCATE incoming_{table}")
        _copy(cursor, f"incoming_{table}", columns, rows, types)
        cursor.execute(
            f"INSERT INTO {table} ({names}) SELECT {names} FROM incoming_{table} ON CONFLICT DO NOTHING"  # noqa: S608
        )


def rows_write_once(
    model: type[models.Model],
    columns: Sequence[str],
    rows: Mapping[str, Sequence[Any]],
    *,
    types: Sequence[str],
    there: str,
    parameter: Any,
    ask: bool,
) -> bool:
    """Write, in a transaction, the rows whose key is not there, as `there` asks; whether any was there, as far as that
    showed. PostgreSQL can be asked first: that it finds out while it writes is dear; to SQLite it costs nothing."""
    if connection.vendor == "postgresql":
        known = {key for (key,) in found(there, list(rows), parameter)} if ask else set()
        absent = [row for key, row in rows.items() if key not in known]
        with suppress(IntegrityError), transaction.atomic():  # somebody else may write one of them meanwhile
            rows_write(model, columns, absent, types=types)
            return bool(known)
    with transaction.atomic():
        new_rows_write(model, columns, rows.values(), types=types)
    return True


def found(query: str, keys: Sequence[str], *parameters: Any) -> list[tuple[Any, ...]]:
    """The rows of a query whose `{keys}` stands for a list of texts: one parameter, however long it is. As JSON, on
    PostgreSQL too: to make an array of the texts took its driver longer than the server took to find them."""
    with connection.cursor() as cursor:
        cursor.execute(query.format(keys=LISTED[connection.vendor]), [json.dumps(keys), *parameters])
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def as_json(value: Any) -> str:
    return _JSON.encode(value)


def _insert(
    cursor: Any, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], conflicts: str = ""
) -> None:
    """As many rows as go together in each statement, and what is left one by one."""
    # Names come from our own models, never from input.
    into, row = f"INSERT INTO {table} ({', '.join(columns)}) VALUES", f"({', '.join(['%s'] * len(columns))})"
    left = list(rows)
    full = len(left) - len(left) % TOGETHER
    source = chain.from_iterable(left)
    values = [tuple(islice(source, TOGETHER * len(columns))) for _ in range(0, full, TOGETHER)]
    cursor.executemany(f"{into} {', '.join([row] * TOGETHER)} {conflicts}", values)
    cursor.executemany(f"{into} {row} {conflicts}", left[full:])


def _copy(
    cursor: Any, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], types: Sequence[str] = ()
) -> None:
    """Text, or with `types` binary: bytes are half as long there."""
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN{' (FORMAT BINARY)' if types else ''}"
    with connection.wrap_database_errors, cursor.copy(statement) as copy:
        if types:
            copy.set_types(types)
        write: Callable[[Sequence[Any]], None] = copy.write_row
        for row in rows:
            write(row)
