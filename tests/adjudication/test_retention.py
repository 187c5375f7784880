"""Texts go, and nothing else: what was decided from them stays as it was, and a page says what is gone."""

import json
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from adjudication.models import Label, Queue, Review, Settlement
from audits.exports.anchors import anchor_lines
from audits.exports.report import report_data
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from core.identity import text_hash
from core.models import Event, Project
from judges.models import Artifact, Blob, Case
from judges.services.texts import DROPPED
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
DAY = "2020-06-01"


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project("alpha")


@pytest.fixture
def long_ago(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Loads made by this call are of 2020."""

    def call(make: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr("judges.services.loads.timezone.now", lambda: LONG_AGO)
            return make(*arguments, **named)

    return call


@pytest.fixture
def old(project: Project, long_ago: Callable[..., Any]) -> Queue:
    """Three items of 2020; a queue of today has the texts of the first of them too."""
    queue: Queue = long_ago(factories.make_queue, project, 3, name="old")
    factories.make_queue(project, 1, name="new")
    return queue


def drop(capsys: pytest.CaptureFixture[str], *options: str, day: str = DAY) -> dict[str, Any]:
    call_command("drop_texts", "alpha", "--before", day, "--json", *options)
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def kept() -> set[str]:
    return set(Blob.objects.values_list("sha256", flat=True))


def texts(*cases: str) -> set[str]:
    return {text_hash(f"{what} {case}") for case in cases for what in ("question", "answer")}


def test_dry_run_says_what_would_go_and_drops_nothing(old: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    said = drop(capsys, "--dry-run")
    assert (said["texts"], said["dropped"], said["undecided_items"]) == (4, 0, {"old": 2})
    assert kept() == texts("c001", "c002", "c003")
    assert not Event.objects.exists()


def test_texts_that_people_still_have_to_read_are_kept(old: Queue) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("drop_texts", "alpha", "--before", DAY)
    says = "--before: people still have to read some of these texts: undecided items, 2 in old"
    assert (str(refused.value), refused.value.returncode) == (says, 1)
    assert (kept(), Event.objects.count()) == (texts("c001", "c002", "c003"), 0)


def test_decided_texts_go_once_and_the_log_says_so(old: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    ann = factories.make_person(old.project, "ann")
    for _ in range(3):
        factories.answer(old, ann)
    hashes = [list(Case.objects.values_list("input_hash")), list(Artifact.objects.values_list("parts", "output_hash"))]
    assert drop(capsys)["dropped"] == 4
    assert kept() == texts("c001")  # today's queue needs them too
    assert hashes == [
        list(Case.objects.values_list("input_hash")),
        list(Artifact.objects.values_list("parts", "output_hash")),
    ]
    entry = Event.objects.get(name="adjudication.texts-dropped")
    assert (entry.actor.pseudonym, entry.payload["texts"], entry.payload["before"][:10]) == ("operator", 4, DAY)
    assert drop(capsys)["dropped"] == 0
    assert Event.objects.filter(name="adjudication.texts-dropped").count() == 1


def test_another_projects_texts_and_unfinished_loads_are_left_alone(
    old: Queue, long_ago: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    from judges.models import CaseSet
    from judges.services.loads import load_begin

    long_ago(factories.make_queue, factories.make_project("beta"), 1, name="theirs")
    loading = load_begin(CaseSet, now=LONG_AGO, project=old.project, name="half", version="1")
    Case.objects.create(case_set=loading, case_id="x", input_hash=text_hash("question c002"), partition="smoke")
    assert drop(capsys, "--despite-undecided")["dropped"] == 3
    assert kept() == texts("c001") | {text_hash("question c002")}
    assert Blob.objects.filter(project__name="beta").count() == 2


def test_desk_shows_a_sentence_where_a_text_is_gone(old: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    ann = factories.make_person(old.project, "ann")
    client = Client()
    client.force_login(ann.user)
    for queue in Queue.objects.filter(name__in=["new", "old"]):  # c001 of both, whose texts stay
        factories.answer(queue, ann)
    assert "question c002" in client.get("/p/alpha/review").content.decode()
    drop(capsys, "--despite-undecided")
    sentence = DROPPED.replace("'", "&#x27;")
    page = client.get("/p/alpha/review").content.decode()
    assert page.count(sentence) == 4  # input and output, of this case and of the one loaded ahead
    assert "question c002" not in page
    factories.answer(old, ann, None)  # nobody can judge what is not there
    work = client.get("/p/alpha/work")
    assert (work.status_code, "This text was dropped by the project" in work.content.decode()) == (200, True)
    assert (Review.objects.count(), Settlement.objects.count()) == (3, 2)


def test_exports_and_numbers_are_the_same_without_the_texts(
    project: Project, long_ago: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = {"a": ("Yes", "No"), "b": ("Yes", "Yes")}
    audit = factories.make_audit(long_ago(factories.make_swap, project, verdicts))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    ann = factories.make_person(project, "ann")
    for label in ("fail", "pass"):
        factories.answer(audit.queue, ann, label)
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)

    def stands() -> list[object]:
        labels = list(Label.objects.order_by("pk").values())
        return [labels, list(anchor_lines(audit, "csv")), report_data(audit, NOW)]

    before = stands()
    assert drop(capsys)["dropped"] == 6  # two inputs, two outputs, and the replies Yes and No
    assert kept() == set()
    assert stands() == before


@pytest.mark.parametrize("day", ["yesterday", "2020-13-01", "1.6.2020"])
def test_day_that_is_none_is_refused(project: Project, day: str) -> None:
    with pytest.raises(CommandError, match=f"before: no day \\(found '{day}'\\); allowed: as in 2026-11-30"):
        call_command("drop_texts", "alpha", "--before", day)


def test_project_that_is_not_there_is_named(project: Project) -> None:
    with pytest.raises(CommandError, match="there is no such project \\(found 'gamma'\\)"):
        call_command("drop_texts", "gamma", "--before", DAY)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite's file is ours to look into")
def test_dropped_text_is_overwritten_in_the_file(old: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "SECRET-" * 3 + "".join(chr(33 + n * 7 % 90) for n in range(400))
    content = zlib.compress(secret.encode(), 1)
    Blob.objects.filter(sha256=text_hash("question c002")).update(content=content)

    def in_the_file() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return content in Path(connection.settings_dict["NAME"]).read_bytes()

    assert in_the_file()
    drop(capsys, "--despite-undecided")
    assert not in_the_file()
