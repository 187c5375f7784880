"""Chunks are stored while the next is made ready, and nothing of them is lost or told too early."""

from threading import Event, get_ident

import pytest
from django.db import IntegrityError, connection, transaction

from core.models import Project
from judges.services.writing import LINES, Writer
from tests.factories import NOW
from tests.house import until

pytestmark = pytest.mark.database
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite is written in place")


def project(name: str) -> Project:
    return Project.objects.create(name=name, created_at=NOW)


def names() -> list[str]:
    return list(Project.objects.order_by("pk").values_list("name", flat=True))


@pytest.mark.django_db(transaction=True)
def test_every_piece_is_stored_once_the_writer_has_finished() -> None:
    writer = Writer()
    for name in "abcde":
        writer.write(lambda name=name: project(name))
    writer.finish()
    assert sorted(names()) == ["a", "b", "c", "d", "e"]
    writer.close()


@pytest.mark.django_db(transaction=True)
def test_what_was_taken_is_stored_when_the_writer_closes() -> None:
    writer = Writer()
    writer.write(lambda: project("a"))
    writer.close()
    assert names() == ["a"]


@pytest.mark.django_db(transaction=True)
@on_postgresql
def test_fault_of_a_piece_is_raised_once_its_line_is_wanted_and_leaves_nothing_of_the_piece() -> None:
    def one_and_again() -> None:
        project("b")
        project("a")

    project("a")
    writer = Writer()
    writer.write(one_and_again)
    for _ in range(1, LINES):
        writer.write(lambda: None)
    with pytest.raises(IntegrityError):
        writer.write(lambda: project("c"))
    writer.close()
    assert names() == ["a"]


@pytest.mark.django_db(transaction=True)
@on_postgresql
def test_writer_has_a_connection_for_each_line_and_gives_them_back() -> None:
    before, threads = sessions(), set()
    writer = Writer()
    for _ in range(LINES + 1):
        writer.write(lambda: threads.add(get_ident()) or names())
    writer.finish()
    assert (len(threads), get_ident() in threads, sessions() - before) == (LINES, False, LINES)
    writer.close()
    until(lambda: sessions() == before, "the end of its sessions, which a server takes a moment for")


@pytest.mark.django_db(transaction=True)
@on_postgresql
def test_piece_is_stored_while_one_that_was_given_before_still_waits() -> None:
    second = Event()

    def one_after_the_other() -> None:
        assert second.wait(10)
        project("first given")

    def at_once() -> None:
        project("second given")
        second.set()

    writer = Writer()
    writer.write(one_after_the_other)
    writer.write(at_once)
    writer.close()
    assert sorted(names()) == ["first given", "second given"]


@pytest.mark.django_db(transaction=True)
def test_within_a_transaction_a_piece_is_part_of_it() -> None:
    writer = Writer()
    with transaction.atomic():
        writer.write(lambda: project("a"))
        assert names() == ["a"]
        transaction.set_rollback(True)
    assert names() == []
    writer.close()


def sessions() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])
