"""The drill: everything is lost, a new database is prepared, and the backup brings back every row as it was."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection

from adjudication.models import Review
from audits.models import Look
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from core import backups
from core.backups import backup_write, database_verify
from core.errors import InputError
from core.models import Project, Role
from core.records import install_triggers, missing_triggers, remove_triggers
from core.services import password_set
from judges.models import Blob
from tests import factories
from tests.factories import NOW

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.database, pytest.mark.usefixtures("quick_passwords")]


@pytest.fixture
def world(db: None) -> None:
    """At least one row of most tables, with bytes, JSON, moments to the microsecond, and every kind of text."""
    project = factories.make_project("alpha")
    audit = factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No"), "b": ("Yes", "Yes")}))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    ann = factories.make_person(project, "ann", Role.REVIEWER)
    password_set(author=ann, password="correct horse battery staple")
    moment = NOW.replace(microsecond=123_457)
    factories.submit(
        factories.claim(audit.queue, ann, moment), "fail", now=moment, rationale='=1+"2"\n\u2028 שלום 🙂 \\'
    )
    factories.claim(audit.queue, ann)
    looks_bring_up_to_date(audit=audit, clock=lambda: moment)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    call_command(*map(str, arguments), "--json")
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def lose_everything() -> None:
    remove_triggers(connection)
    call_command("flush", interactive=False, verbosity=0)
    install_triggers(connection)


@pytest.mark.django_db(transaction=True)
def test_drill(world: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "all.zip"
    written = run(capsys, "backup", file)
    assert file.stat().st_mode & 0o077 == 0
    assert written["tables"]["core_project"]["rows"] == 1
    before = [list(model.objects.order_by("pk").values()) for model in (Review, Look, Blob, Project)]

    lose_everything()
    assert not Review.objects.exists()
    restored = run(capsys, "restore", file)
    assert restored["tables"] == written["tables"]
    assert [list(model.objects.order_by("pk").values()) for model in (Review, Look, Blob, Project)] == before
    assert Review.objects.get().at.microsecond == 123_457
    assert run(capsys, "verify_backup", file, "--database")["tables"] == written["tables"]
    assert missing_triggers(connection) == []
    assert get_user_model().objects.get().check_password("correct horse battery staple")
    Project.objects.create(name="next", created_at=NOW)  # the numbers go on where they were


@pytest.mark.django_db(transaction=True)
def test_backup_of_either_database_fills_a_new_sqlite_file(world: None, tmp_path: Path) -> None:
    contents = backup_write(tmp_path / "all.zip", NOW)
    kept = {"PATH": os.environ["PATH"], "TERTIUM_VAR": str(tmp_path)}
    kept |= {"DATABASE_URL": f"sqlite://{tmp_path}/new.sqlite3", "REDIS_URL": "redis://127.0.0.1:1/0"}

    def manage(*arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    manage("migrate", "--verbosity", "0")
    manage("restore", str(tmp_path / "all.zip"))
    verified = json.loads(manage("verify_backup", str(tmp_path / "all.zip"), "--database", "--json"))
    assert verified["tables"] == contents.as_dict()["tables"]


@pytest.mark.django_db(transaction=True)
def test_backup_sees_one_moment_and_keeps_nobody_from_writing(
    world: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_meanwhile() -> None:
        Project.objects.create(name="later", created_at=NOW)
        connection.close()

    def table_written(*arguments: Any) -> Any:
        table = whole(*arguments)
        if not failed:
            with ThreadPoolExecutor() as pool:
                failed.append(pool.submit(write_meanwhile).exception(timeout=10))
        return table

    failed: list[BaseException | None] = []
    whole = backups._write_table
    monkeypatch.setattr(backups, "_write_table", table_written)
    contents = backup_write(tmp_path / "all.zip", NOW)
    assert failed == [None]
    assert (contents.tables["core_project"].rows, Project.objects.count()) == (1, 2)


@pytest.mark.django_db
def test_database_that_went_on_differs_from_its_backup(world: None, tmp_path: Path) -> None:
    contents = backup_write(tmp_path / "all.zip", NOW)
    database_verify(contents)
    Project.objects.create(name="later", created_at=NOW)
    with pytest.raises(InputError, match=r"^the database: core_project: 2 rows; allowed: the 1 of the backup$"):
        database_verify(contents)


def changed(file: Path, target: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return target


@pytest.mark.django_db
def test_damaged_backup_is_refused_with_the_table(world: None, tmp_path: Path) -> None:
    file = tmp_path / "all.zip"
    backup_write(file, NOW)

    def relabel(name: str, content: bytes) -> bytes:
        return content.replace(b'"fail"', b'"pass"') if name == "adjudication_label.jsonl" else content

    def lose_a_row(name: str, content: bytes) -> bytes:
        return content[content.index(b"\n") + 1 :] if name == "judges_reading.jsonl" else content

    def lose_a_table(name: str, content: bytes) -> bytes | None:
        return None if name == "audits_look.jsonl" else content

    for change, says in (
        (relabel, "copy.zip: adjudication_label: the rows are others than the hash of the backup says"),
        (lose_a_row, "copy.zip: judges_reading: 3 rows; allowed: the 4 of the backup"),
        (lose_a_table, "audits_look is missing in copy.zip"),
    ):
        copy = changed(file, tmp_path / "copy.zip", change)
        for command in ("verify_backup", "restore"):
            with pytest.raises(CommandError) as refused:
                call_command(command, str(copy))
            assert (str(refused.value), refused.value.returncode) == (says, 2)
    (tmp_path / "cut.zip").write_bytes(file.read_bytes()[:-100])
    with pytest.raises(CommandError, match=r"^cut\.zip: is no whole backup"):
        call_command("verify_backup", str(tmp_path / "cut.zip"))


@pytest.mark.django_db
def test_restore_over_something_is_refused(world: None, tmp_path: Path) -> None:
    backup_write(tmp_path / "all.zip", NOW)
    with pytest.raises(CommandError, match="the database is not empty; allowed: one that was just prepared") as refused:
        call_command("restore", str(tmp_path / "all.zip"))
    assert refused.value.returncode == 1


@pytest.mark.django_db
def test_restore_into_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backup_write(tmp_path / "all.zip", NOW)
    here = backups._migrations()
    monkeypatch.setattr(backups, "_migrations", lambda: [*here[:-1], "zoo.0009_later"])
    with pytest.raises(
        CommandError, match=f"\\(without {here[-1]}, with zoo.0009_later\\); allowed: a database prepared"
    ):
        call_command("restore", str(tmp_path / "all.zip"))


@pytest.mark.django_db
def test_broken_off_backup_leaves_no_file(world: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "_migrations", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        backup_write(tmp_path / "all.zip", NOW)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.django_db
def test_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "all.zip").write_text("mine")
    with pytest.raises(CommandError, match="is there already; allowed: a new file"):
        call_command("backup", str(tmp_path / "all.zip"))
    assert (tmp_path / "all.zip").read_text() == "mine"
