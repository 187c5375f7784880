"""Backup and restore: every stored record as text, the same on SQLite and PostgreSQL, so that one can follow the other.

A backup is a zip file: one member per table, one row per line in the order of its key, and `contents.json` with how
many rows each table has and their hash. Sessions and failed sign-ins are left out: a restore signs everybody out.
"""

import base64
import contextlib
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.db.migrations.recorder import MigrationRecorder

from core.errors import InputError, Problem, Refused
from core.models import Project
from core.moments import one_moment
from core.references import referred_to_first
from core.version import VERSION

FORMAT = 1
CONTENTS = "contents.json"
CHUNK = 2000  # rows read and written at a time
LEFT_OUT = frozenset({"sessions", "axes"})  # apps


@dataclass(frozen=True)
class Table:
    rows: int
    sha256: str


@dataclass(frozen=True)
class Contents:
    version: str
    made_at: str
    migrations: list[str]
    tables: dict[str, Table]

    def as_dict(self) -> dict[str, Any]:
        tables = {name: {"rows": table.rows, "sha256": table.sha256} for name, table in self.tables.items()}
        whole = {"version": self.version, "made_at": self.made_at, "migrations": self.migrations, "tables": tables}
        return {"format": FORMAT, **whole}


def backup_write(path: Path, now: datetime) -> Contents:
    """Write everything, as it was at one moment, to `path`; readable for this user alone, and there only when whole."""
    partial = path.with_name(f"{path.name}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive, one_moment():
                tables = {model._meta.db_table: _write_table(archive, model) for model in _models()}
                contents = Contents(VERSION, now.isoformat(), _migrations(), tables)
                archive.writestr(CONTENTS, json.dumps(contents.as_dict(), indent=2))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return contents


def backup_verify(path: Path) -> Contents:
    """Read a backup to its end and hold every row to what its contents say. Raises InputError with every difference."""
    with _opened(path) as archive:
        contents = _contents(archive, path)
        found = {
            name: _measured(_lines(archive, name)) for name in contents.tables if _member(name) in archive.namelist()
        }
    _refuse_differences(contents.tables, found, path.name)
    return contents


def database_verify(contents: Contents) -> None:
    """Hold the database, as it is now, to what a backup says of it. Raises InputError with every difference."""
    with one_moment():
        found = {model._meta.db_table: _measured(_rows(model)) for model in _models()}
    _refuse_differences(contents.tables, found, "the database")


def backup_restore(path: Path) -> Contents:
    """Fill a prepared and empty database from a backup, in one transaction, held to the backup before it counts."""
    contents = backup_verify(path)
    _refuse_another_schema(contents, path)
    if Project.objects.exists() or get_user_model().objects.exists():
        raise Refused(Problem("the database is not empty", allowed="one that was just prepared by manage.py migrate"))
    with transaction.atomic(), _opened(path) as archive:
        for model in _models():
            # What migrate itself puts into a new database: the names of tables and rights.
            model._base_manager.all()._raw_delete(using=connection.alias)
        for model in referred_to_first(_models()):
            _fill(model, _lines(archive, model._meta.db_table))
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), _models()):
                cursor.execute(statement)
        found = {model._meta.db_table: _measured(_rows(model)) for model in _models()}
        _refuse_differences(contents.tables, found, "the restored database")
    return contents


def _models() -> list[type[models.Model]]:
    stored = (model for model in apps.get_models(include_auto_created=True) if model._meta.managed)
    kept = [model for model in stored if not model._meta.proxy and model._meta.app_label not in LEFT_OUT]
    return sorted(kept, key=lambda model: model._meta.db_table)


def _rows(model: type[models.Model]) -> Iterator[str]:
    names = [field.attname for field in model._meta.concrete_fields]
    for row in model._base_manager.order_by("pk").values_list(*names).iterator(chunk_size=CHUNK):
        yield json.dumps([_plain(value) for value in row], sort_keys=True)


def _plain(value: Any) -> Any:
    """Whatever a column can hold, as JSON without loss."""
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value


def _fill(model: type[models.Model], lines: Iterable[str]) -> None:
    fields, rows = model._meta.concrete_fields, []
    for line in lines:
        values = {field.attname: _stored(field, value) for field, value in zip(fields, json.loads(line), strict=True)}
        rows.append(model(**values))
        if len(rows) == CHUNK:
            model._base_manager.bulk_create(rows)
            rows = []
    model._base_manager.bulk_create(rows)


def _stored(field: "models.Field[Any, Any]", value: Any) -> Any:
    if isinstance(field, models.BinaryField):
        return None if value is None else base64.b64decode(value)
    return value if isinstance(field, models.JSONField) else field.to_python(value)


def _write_table(archive: zipfile.ZipFile, model: type[models.Model]) -> Table:
    with archive.open(_member(model._meta.db_table), "w", force_zip64=True) as member:
        return _measured(_copied(_rows(model), member))


def _copied(lines: Iterable[str], target: Any) -> Iterator[str]:
    for line in lines:
        target.write(f"{line}\n".encode())
        yield line


def _measured(lines: Iterable[str]) -> Table:
    rows, digest = 0, hashlib.sha256()
    for line in lines:
        rows += 1
        digest.update(f"{line}\n".encode())
    return Table(rows, digest.hexdigest())


def _member(table: str) -> str:
    return f"{table}.jsonl"


def _lines(archive: zipfile.ZipFile, table: str) -> Iterator[str]:
    with archive.open(_member(table)) as member:
        for line in io.TextIOWrapper(member, encoding="ascii", newline="\n"):
            yield line.removesuffix("\n")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zipfile.LargeZipFile, UnicodeDecodeError, EOFError) as error:
        raise InputError(Problem(f"is no whole backup ({error})", file=path.name)) from error


def _contents(archive: zipfile.ZipFile, path: Path) -> Contents:
    if CONTENTS not in archive.namelist():
        raise InputError(Problem(f"is no backup: it has no {CONTENTS}", file=path.name))
    said = json.loads(archive.read(CONTENTS))
    if said.get("format") != FORMAT:
        raise InputError(Problem("another format", file=path.name, value=str(said.get("format")), allowed=str(FORMAT)))
    tables = {name: Table(table["rows"], table["sha256"]) for name, table in said["tables"].items()}
    return Contents(said["version"], said["made_at"], said["migrations"], tables)


def _migrations() -> list[str]:
    """What made this schema. Of a squashed history only the last matters, and which apps there are."""
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


def _refuse_another_schema(contents: Contents, path: Path) -> None:
    here, there = set(_migrations()), set(contents.migrations)
    if here == there:
        return
    more = [f"without {name}" for name in sorted(there - here)] + [f"with {name}" for name in sorted(here - there)]
    raise Refused(
        Problem(
            f"the backup is of version {contents.version}, the database of {VERSION} ({', '.join(more[:5])})",
            file=path.name,
            allowed="a database prepared by the version of the backup; upgrade after it is restored",
        )
    )


def _refuse_differences(said: dict[str, Table], found: dict[str, Table], where: str) -> None:
    problems = []
    for name in sorted({*said, *found}):
        expected, actual = said.get(name), found.get(name)
        if expected is None or actual is None:
            problems.append(Problem(f"{name} is missing in {'the backup' if expected is None else where}"))
        elif expected.rows != actual.rows:
            problems.append(
                Problem(f"{name}: {actual.rows} rows", file=where, allowed=f"the {expected.rows} of the backup")
            )
        elif expected != actual:
            problems.append(Problem(f"{name}: the rows are others than the hash of the backup says", file=where))
    if problems:
        raise InputError(problems)
