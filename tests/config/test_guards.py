"""Nothing starts over tables that lost the triggers which keep them append-only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection, connections

from core.records import install_triggers, unguarded_tables
from tests.services import database_url

ROOT = Path(__file__).resolve().parents[2]
NO_BROKER = "redis://127.0.0.1:1/0"
STARTS = {
    "web": [sys.executable, "-c", "import config.wsgi"],
    "worker": [sys.executable, "-m", "celery", "-A", "config", "worker", "--pool", "solo"],
}
REFUSAL = (
    "(core.E002) core_event: triggers that guard these tables are missing; "
    "manage.py migrate installs them, and doctor says whether they are there"
)


def start(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings", "TERTIUM_VAR": str(folder)}
    kept |= {"DATABASE_URL": database_url(connections["default"].settings_dict), "REDIS_URL": NO_BROKER}
    return subprocess.run(STARTS[name], cwd=ROOT, env=kept, capture_output=True, text=True, timeout=60, check=False)


def drop_one_trigger() -> None:
    name = "append_only_update_core_event" if connection.vendor == "sqlite" else "append_only_truncate_core_event"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {name}" + ("" if connection.vendor == "sqlite" else " ON core_event"))


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", STARTS)
def test_start_is_refused_with_the_table_that_is_open(name: str, tmp_path: Path) -> None:
    drop_one_trigger()
    assert unguarded_tables(connection) == ["core_event"]
    refused = start(name, tmp_path)
    assert refused.returncode == 1
    assert refused.stderr.rstrip().endswith(REFUSAL)
    install_triggers(connection)
    assert unguarded_tables(connection) == []


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no trigger that is there and sleeps")
@pytest.mark.parametrize("how", ["DISABLE TRIGGER ALL", "ENABLE REPLICA TRIGGER append_only_change_core_event"])
def test_trigger_that_was_disabled_is_as_good_as_none(how: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE core_event {how}")
    assert unguarded_tables(connection) == ["core_event"]
    install_triggers(connection)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE core_event ENABLE TRIGGER ALL")
    assert unguarded_tables(connection) == []


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_web_server_starts_where_every_table_is_guarded(tmp_path: Path) -> None:
    assert start("web", tmp_path).returncode == 0


def test_database_that_is_away_or_empty_does_not_keep_the_server_from_starting(tmp_path: Path) -> None:
    kept = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings", "TERTIUM_VAR": str(tmp_path)}
    for url in ("postgresql://nobody@127.0.0.1:1/none", f"sqlite://{tmp_path}/empty.sqlite3"):
        environment = kept | {"DATABASE_URL": url}
        begun = subprocess.run(STARTS["web"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert begun.returncode == 0, begun.stderr
