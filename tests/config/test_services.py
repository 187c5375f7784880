"""The ground that other tests stand on: test databases, and triggers that come back."""

import multiprocessing
import os
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from django.contrib.auth.models import Group
from django.db import connection

from core import records
from core.models import Author, Event, Project
from tests import services

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("run", [1, 2])
def test_append_only_tables_are_empty_and_guarded_before_each_transactional_test(run: int) -> None:
    assert records.missing_triggers(connection) == []
    assert Event.objects.count() == 0
    project = Project.objects.create(name="p", created_at=NOW)
    actor = Author.objects.create(project=project, pseudonym="a", kind="operator")
    Event.objects.create(project=project, name="left behind", actor=actor, at=NOW, payload={"run": run})
    records.remove_triggers(connection)


def _add_groups(number: int) -> None:
    connection.close()
    for turn in range(20):
        Group.objects.create(name=f"{number}-{turn}")


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_several_processes_write_to_the_test_database() -> None:
    connection.close()
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(_add_groups, range(4))
    assert Group.objects.count() == 80


@pytest.mark.skipif(os.getuid() != 0, reason="only root has to become another user")
@pytest.mark.parametrize("maps_users", [True, False], ids=["user namespace", "nobody"])
def test_temporary_postgres_starts_for_root(monkeypatch: pytest.MonkeyPatch, maps_users: bool) -> None:
    if maps_users and not services._may_map_users():
        pytest.skip("this machine refuses user namespaces")
    monkeypatch.setattr(services, "_may_map_users", lambda: maps_users)
    with services.temporary_postgres() as url, psycopg.connect(url) as line:
        folder = Path(line.execute("SHOW data_directory").fetchone()[0])
        assert line.execute("SHOW listen_addresses").fetchone() == ("",)
    assert not folder.parent.exists()


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({"ENGINE": "django.db.backends.sqlite3", "NAME": "/a b/t.sqlite3"}, "sqlite:///a%20b/t.sqlite3"),
        (
            {
                "ENGINE": "django.db.backends.postgresql",
                "NAME": "test_t",
                "USER": "ann",
                "PASSWORD": "p@ss",
                "HOST": "",
                "PORT": "",
                "OPTIONS": {"host": "/Tmp/pg"},
            },
            "postgresql://ann:p%40ss@/test_t?host=%2FTmp%2Fpg",
        ),
    ],
)
def test_database_url_leads_to_the_same_database(settings: dict[str, object], url: str) -> None:
    from config import env

    assert services.database_url(settings) == url
    read = env.database(url, Path("unused"))
    assert {name: read[name] for name in settings if name != "NAME"} == {
        name: value for name, value in settings.items() if name != "NAME"
    }
    assert str(read["NAME"]) == settings["NAME"]
