"""What `doctor` looks at: each finding says whether it is well, and what to do where it is not."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from celery import current_app
from django.conf import settings
from django.core.checks import run_checks
from django.db import DatabaseError, connection
from django.utils import timezone

from config.metrics import BROKER_AWAY
from core.commands import unprepared
from core.models import Event
from core.records import protected_models, unguarded_tables

CLOCKS_APART = timedelta(seconds=5)
ROOM = 1_000_000_000  # bytes that should stay free
PING_SECONDS = 2.0


@dataclass(frozen=True)
class Finding:
    name: str
    well: bool
    found: str
    do: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "well": self.well, "found": self.found} | ({"do": self.do} if self.do else {})

    def line(self) -> str:
        return f"{'pass' if self.well else 'FAIL'}  {self.name:<10} {self.found}" + (f"; {self.do}" if self.do else "")


def examine() -> Iterator[Finding]:
    """Every finding in turn. Where the database is away, what needs it is said once and not guessed at."""
    yield _settings()
    database = _database()
    yield database
    if database.well:
        migrations = _migrations()
        yield migrations
        if migrations.well:
            yield _triggers()
            yield _clock()
    yield _storage()
    broker = _broker()
    yield broker
    if broker.well:
        yield _workers()


def _settings() -> Finding:
    faults = [str(message.msg) for message in run_checks() if message.is_serious() or settings.PRODUCTION]
    if faults:
        return Finding("settings", False, "; ".join(faults), "see .env.example")
    kind = "production" if settings.PRODUCTION else "one machine; TERTIUM_PRODUCTION=True would hold them to more"
    return Finding("settings", True, f"sound, for {kind}")


def _database() -> Finding:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT sqlite_version()" if connection.vendor == "sqlite" else "SHOW server_version")
            version = cursor.fetchone()[0]
    except DatabaseError as error:
        what = f"does not answer ({str(error).strip().splitlines()[0]})"
        return Finding("database", False, what, "start it, or correct DATABASE_URL")
    return Finding("database", True, f"{connection.display_name} {version} answers")


def _migrations() -> Finding:
    if unprepared():
        return Finding("migrations", False, "some are not applied", "manage.py migrate")
    return Finding("migrations", True, "all applied")


def _triggers() -> Finding:
    open_tables = unguarded_tables(connection)
    if open_tables:
        what = f"missing on {', '.join(open_tables)}: what these tables hold may have been altered"
        return Finding(
            "triggers", False, what, "manage.py migrate installs them; then hold the data to the last backup"
        )
    return Finding("triggers", True, f"on all {len(list(protected_models()))} append-only tables")


def _clock() -> Finding:
    """Leases end and looks are dated by this machine's clock: it must agree with the database's, and never go back."""
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT strftime('%s', 'now')" if connection.vendor == "sqlite" else "SELECT extract(epoch FROM now())"
        )
        apart = abs(now - datetime.fromtimestamp(float(cursor.fetchone()[0]), UTC))
    if apart > CLOCKS_APART:
        return Finding(
            "clock", False, f"{apart.total_seconds():.0f} s from the database's", "let both follow a time server"
        )
    newest = Event.objects.order_by("-pk").values_list("at", flat=True).first()
    if newest and newest > now + CLOCKS_APART:
        return Finding(
            "clock", False, f"the last event is of {newest:%Y-%m-%d %H:%M:%S}, later than now", "set the clock"
        )
    return Finding("clock", True, f"{now:%Y-%m-%d %H:%M:%S} UTC, as the database has it")


def _storage() -> Finding:
    folder: Path = settings.VAR_DIR
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return Finding(
            "storage", False, f"{folder} cannot be written ({error.strerror})", "give TERTIUM_VAR a folder of ours"
        )
    free = shutil.disk_usage(folder).free
    wanted = max(ROOM, settings.UPLOAD_LIMIT)
    found = f"{folder} can be written, {free / 1e9:.1f} GB free"
    if free < wanted:
        return Finding("storage", False, found, f"make room: {wanted / 1e9:.1f} GB, for one upload of the largest size")
    return Finding("storage", True, found)


def _broker() -> Finding:
    try:
        with current_app.connection_for_read() as line:
            waiting = line.default_channel.client.llen("celery")
    except BROKER_AWAY as error:
        what = f"does not answer ({error}); answers are stored all the same, looks wait"
        return Finding("broker", False, what, "start it, or correct REDIS_URL")
    return Finding("broker", True, f"answers, {waiting} messages wait")


def _workers() -> Finding:
    began = time.monotonic()
    names = sorted(name for reply in current_app.control.ping(timeout=PING_SECONDS) or [] for name in reply)
    if not names:
        return Finding("workers", False, f"none answered within {PING_SECONDS:.0f} s", "celery -A config worker -B")
    return Finding("workers", True, f"{', '.join(names)} answered within {time.monotonic() - began:.1f} s")
