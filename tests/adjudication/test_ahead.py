"""The case after the one in hand is loaded ahead, and a long queue or many own answers cost no search."""

import re

import pytest
from django.db import connection
from django.utils import timezone

from adjudication.models import Bookmark, Lease, LeaseEnd, Presentation, Queue, Review, Slot
from adjudication.services.leases import BOOKMARK_EVERY, LEASE, slot_claim, work_claim
from adjudication.serving import places_onward, queues_waiting
from core.models import Author, Project, Role
from tests import factories
from tests.adjudication.test_desk import Desk
from tests.factories import MINUTE, NOW, claim

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


@pytest.fixture
def ann(project: Project) -> Desk:
    return Desk(factories.make_person(project, "ann"))


@pytest.fixture
def ben(project: Project) -> Desk:
    return Desk(factories.make_person(project, "ben"))


def case_in_hand(page: str) -> list[str]:
    return re.findall(r"question (c\d+)", page.split("<template data-token")[0])


def loaded(page: str) -> tuple[str, list[str]]:
    """Token and question of the case that was loaded ahead."""
    found = re.search(r'<template data-token="([0-9a-f-]+)">(.*)</template>', page, re.DOTALL)
    return (found[1], re.findall(r"question (c\d+)", found[2])) if found else ("", [])


def test_page_brings_the_next_case_with_it(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 2)
    page = ann.page()
    assert (case_in_hand(page), loaded(page)[1]) == (["c001"], ["c002"])


def test_answer_to_a_browser_that_has_the_next_case_brings_the_one_after_it(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 3)
    page = ann.page()
    answer = ann.post(ann.token, only="1", ahead=loaded(page)[0])
    assert answer["X-Desk-Onward"] == "yes"
    assert loaded(answer.content.decode())[1] == ["c003"]
    assert "question c002" not in answer.content.decode()
    assert "Saved." in answer.content.decode()
    assert case_in_hand(ann.page()) == ["c002"]


def test_last_case_has_nothing_behind_it(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 2)
    answer = ann.post(ann.token, only="1", ahead=loaded(ann.page())[0])
    assert (answer["X-Desk-Onward"], loaded(answer.content.decode())) == ("yes", ("", []))
    assert "Nothing is waiting" in ann.post(ann.token, only="1").content.decode()


def test_nobody_else_is_served_what_one_has_loaded_while_something_else_waits(
    project: Project, ann: Desk, ben: Desk
) -> None:
    factories.make_queue(project, 3)
    ann.page()
    assert case_in_hand(ben.page()) == ["c003"]


def test_what_was_only_loaded_goes_to_whoever_has_nothing_else(project: Project, ann: Desk, ben: Desk) -> None:
    factories.make_queue(project, 2)
    token, _ = loaded(ann.page())
    page = ben.page()
    assert case_in_hand(page) == ["c002"]
    assert "A colleague had this case before" not in page  # nobody had it in front of them
    assert Lease.objects.get(token=token).end == LeaseEnd.RELEASED
    answer = ann.post(ann.token, only="1", ahead=token)
    assert not answer.has_header("X-Desk-Onward")
    assert "Nothing is waiting" in answer.content.decode()


def test_what_was_only_loaded_is_no_answer_begun(project: Project, ann: Desk, ben: Desk) -> None:
    factories.make_queue(project, 2)
    ann.page()
    Lease.objects.update(expires_at=timezone.now() - MINUTE)
    pages = [ben.page() for _ in range(2)]
    assert "A colleague had this case before" in pages[0].split("<template data-token")[0]
    assert "A colleague had this case before" not in pages[0].split("<template data-token")[1]


def test_order_of_the_outputs_is_the_same_loaded_and_shown(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 2, upgrade=True)
    token, _ = loaded(ann.page())
    order = Presentation.objects.get(item__leases__token=token).order
    ann.post(ann.token, left="1", right="0")
    ann.post(token, left="1", right="0")
    review = Review.objects.get(item__leases__token=token)
    assert dict(review.labels.values_list("artifact", "label")) == {order[0]: "pass", order[1]: "fail"}
    assert review.presentation.order == order


def test_undone_answer_comes_before_what_was_begun_and_what_was_loaded(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 3)
    token = ann.token
    ann.post(token, only="1")
    page = ann.post(token, "undo").content.decode()
    assert (case_in_hand(page), loaded(page)[1]) == (["c001"], ["c002"])


def test_long_text_is_not_loaded_ahead(project: Project, ann: Desk) -> None:
    rows = [factories.case_row("short", 1), factories.case_row("long", 2, input="x" * 400_000)]
    system = factories.load_artifacts(factories.load_cases(project, rows))
    queue = factories.queue_open(project=project, name="q", rubric=factories.make_rubric(project))
    artifacts = system.artifacts.order_by("pk")
    factories.items_add(queue=queue, items=[factories.NewItem(a.case_id, (a.pk,), n) for n, a in enumerate(artifacts)])
    assert len(ann.page()) < 30_000
    assert len(ann.post(ann.token, only="1").content) > 400_000


def test_search_begins_at_the_bookmark_and_not_at_ones_first_answer(project: Project, ann: Desk) -> None:
    queue = factories.make_queue(project, 2 * BOOKMARK_EVERY + 2, answers=2)
    for _ in range(2 * BOOKMARK_EVERY + 1):
        factories.answer(queue, ann.author)
    assert Bookmark.objects.get().rank == 2 * BOOKMARK_EVERY
    assert claim(queue, ann.author).item.rank == 2 * BOOKMARK_EVERY + 2


def test_bookmark_hides_nothing(project: Project, ann: Desk, ben: Desk) -> None:
    queue = factories.make_queue(project, 3)
    Bookmark.objects.create(author=ann.author, queue=queue, rank=1000)
    assert [claim(queue, ann.author).item.rank, claim(queue, ben.author).item.rank] == [1, 2]


def test_abandoned_case_is_served_before_what_nobody_has_begun(project: Project, ann: Desk, ben: Desk) -> None:
    queue = factories.make_queue(project, 3)
    claim(queue, ann.author)
    Bookmark.objects.create(author=ben.author, queue=queue, rank=3)
    assert claim(queue, ben.author, NOW + LEASE).item.rank == 1


def test_two_queues_are_worked_through_one_after_the_other(project: Project, ann: Desk) -> None:
    first, second = (factories.make_queue(project, 1, name=name) for name in ("first", "second"))
    work = work_claim(project=project, actor=ann.author, now=NOW)
    assert (work.lease.item.queue, work.ahead.item.queue) == (first, second)
    assert slot_claim(queue=second, actor=ann.author, now=NOW) == work.ahead


def steps_of_search(author: Author, queue: Queue) -> int:
    """What SQLite does, step by step, to find this person's next slot."""
    (waiting,) = [one for one in queues_waiting(queue.project, author) if one.pk == queue.pk]
    places = list(places_onward(waiting, author, Role.REVIEWER))
    steps = [0]

    def count() -> None:
        steps[0] += 1

    connection.connection.set_progress_handler(count, 1)
    try:
        assert [place.first(locked=False) is not None for place in places] == [False, True]
    finally:
        connection.connection.set_progress_handler(None, 1)
    return steps[0]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="counts the steps of SQLite's machine")
def test_neither_a_long_queue_nor_many_own_answers_make_the_search_longer(project: Project, ann: Desk) -> None:
    short, long = (factories.make_queue(project, items, 2, name=f"{items}") for items in (3, 800))
    steps = [steps_of_search(ann.author, queue) for queue in (short, long)]
    own = list(long.items.filter(rank__lte=700).order_by("rank"))
    Review.objects.bulk_create(Review(item=item, author=ann.author, at=NOW) for item in own)
    Slot.objects.filter(item__in=own, n=1).update(state="done")
    behind_all = steps_of_search(ann.author, long)
    Bookmark.objects.create(author=ann.author, queue=long, rank=700 - BOOKMARK_EVERY + 1)
    behind_bookmark = steps_of_search(ann.author, long)
    assert steps[1] <= 1.1 * steps[0]
    assert behind_bookmark < behind_all / 10
    # What lies between bookmark and case is at most a few answers; each costs as much as the case itself.
    assert behind_bookmark <= (BOOKMARK_EVERY + 1) * steps[0]
