"""The test database as it was made, after a test that commits.

Django's flush empties every table and fills some again: with the triggers that refuse it taken away before and brought
back after, that took most of such a test. Here rows go only where there are any, and what migrations stored stays.
"""

import sqlite3
from collections.abc import Callable

from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase

Restore = Callable[[TransactionTestCase], None]


def as_made(connection: BaseDatabaseWrapper) -> Restore:
    """A teardown that brings this database back to what it holds now."""
    return (_from_copy if connection.vendor == "sqlite" else _by_deleting)(connection)


def _from_copy(connection: BaseDatabaseWrapper) -> Restore:
    made = sqlite3.connect(":memory:", check_same_thread=False)
    connection.ensure_connection()
    connection.connection.backup(made)

    def restore(_: TransactionTestCase) -> None:
        connection.ensure_connection()
        made.backup(connection.connection)

    return restore


def _by_deleting(connection: BaseDatabaseWrapper) -> Restore:
    """The role `replica` fires no trigger: neither those that refuse a deletion nor those of foreign keys."""
    from core.records import install_triggers, missing_triggers  # models, which need Django's registry

    kept = set(_filled(connection))

    def restore(_: TransactionTestCase) -> None:
        used = [table for table in _filled(connection) if table not in kept]
        deletions = "".join(f'DELETE FROM "{table}";' for table in used)
        with connection.cursor() as cursor:
            cursor.execute(f"BEGIN; SET LOCAL session_replication_role = replica; {deletions} COMMIT")
        if missing_triggers(connection):  # which a test had taken away
            install_triggers(connection)

    return restore


def _filled(connection: BaseDatabaseWrapper) -> list[str]:
    """The tables that hold a row."""
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    each = " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM \"{table}\")" for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(each)
        return [table for (table,) in cursor.fetchall()]
