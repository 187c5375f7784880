"""Many people at once, as processes of their own on one database: every race has one winner and nobody an error."""

import multiprocessing
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest
from django.db import connection

from adjudication.models import ItemState, Lease, LeaseEnd, Queue, QueuePurpose, Review, Settlement, SlotKind
from adjudication.services.leases import LeaseLost, lease_end, lease_renew, leases_expire, slot_claim
from adjudication.services.reviews import item_skip, review_submit
from core.models import Author, Event, Project
from tests import factories
from tests.factories import NOW, submit

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

FORK = multiprocessing.get_context("fork")
ROUNDS, RACERS, CLIENTS, ITEMS = 20, 20, 8, 200
BUSY = 10.0  # seconds
LATE = NOW + timedelta(hours=1)
_start: Barrier


def _join(barrier: Barrier) -> None:
    global _start
    _start = barrier
    connection.close()


def at_once(work: Callable[[Any], Any], arguments: list[Any]) -> list[Any]:
    """What each process returned; an error in any of them fails the test."""
    connection.close()
    barrier = FORK.Barrier(len(arguments), timeout=60)
    with FORK.Pool(len(arguments), initializer=_join, initargs=(barrier,)) as pool:
        told = pool.starmap(_outcome, [(work, argument) for argument in arguments], chunksize=1)
    assert [error for _, error in told if error] == []
    return [value for value, _ in told]


def _outcome(work: Callable[[Any], Any], argument: Any) -> tuple[Any, str]:
    """An error comes back as words: one that cannot be made anew here would leave the pool waiting for it for good."""
    try:
        return work(argument), ""
    except Exception:
        return None, traceback.format_exc()


@pytest.fixture
def project(transactional_db: None) -> Project:
    return factories.make_project()


def _people(project: Project, number: int) -> list[Author]:
    return [factories.make_person(project, f"person-{n}") for n in range(number)]


def _work_through(work: tuple[Queue, Author]) -> list[int]:
    queue, person = work
    answered = []
    _start.wait()
    while lease := slot_claim(queue=queue, actor=person, now=NOW):
        answered.append(lease.item_id)
        submit(lease)
    return answered


def test_eight_people_answer_every_item_once(project: Project) -> None:
    """BEHAVIOUR 1."""
    queue = factories.make_queue(project, ITEMS)
    answered = at_once(_work_through, [(queue, person) for person in _people(project, CLIENTS)])
    assert Counter(item for items in answered for item in items) == Counter(
        dict.fromkeys(queue.items.values_list("pk", flat=True), 1)
    )
    assert (Review.objects.count(), Review.objects.filter(surplus=True).count()) == (ITEMS, 0)
    assert Lease.objects.filter(end=LeaseEnd.SUBMITTED).count() == Lease.objects.count() == ITEMS
    numbers = Settlement.objects.order_by("number").values_list("number", flat=True)
    assert list(numbers) == list(range(1, ITEMS + 1))
    assert Event.objects.filter(name="adjudication.item-settled").count() == ITEMS


def _work_for_a_while(work: tuple[Queue, Author]) -> list[int]:
    """Answer until the time is over; some pass cases on, some differ, some cannot judge, some walk away from a case."""
    queue, person = work
    chance = random.Random(person.pk)
    sent = []
    _start.wait()
    begun = time.monotonic()
    # One clock for all: whose own ran ahead would take back what the others still hold.
    while (elapsed := time.monotonic() - begun) < BUSY:
        now = NOW + timedelta(seconds=elapsed)
        lease = slot_claim(queue=queue, actor=person, now=now)
        if lease is None:
            break
        what = chance.random()
        if what < 0.05:
            lease_end(lease=lease, end=LeaseEnd.RELEASED, now=now)
        elif what < 0.1 and not lease.item.skips.filter(author=person).exists():
            item_skip(lease=lease, actor=person, now=now)
        else:
            sent.append(submit(lease, chance.choice(["pass", "pass", "pass", "fail", None]), now).pk)
    return sent


def test_everybody_at_once_for_ten_seconds_loses_and_doubles_nothing(project: Project) -> None:
    """50 people on PostgreSQL, 20 on SQLite: no slot for two, no answer lost or doubled, no error for anybody."""
    people = _people(project, 50 if connection.vendor == "postgresql" else 20)
    queue = factories.make_queue(project, 1500, answers=2)
    sent = [review for one in at_once(_work_for_a_while, [(queue, person) for person in people]) for review in one]
    reviews = Review.objects.filter(item__queue=queue)
    assert sorted(reviews.values_list("pk", flat=True)) == sorted(sent)
    assert len(set(reviews.values_list("item", "author"))) == len(sent)
    submitted = Lease.objects.filter(end=LeaseEnd.SUBMITTED)
    assert len(set(submitted.values_list("slot", flat=True))) == submitted.count() == len(sent)
    answered = Counter(reviews.filter(surplus=False).values_list("item", flat=True))
    slots = Counter(queue.slots.filter(state="done").values_list("item", flat=True))
    assert answered == slots
    settled = list(Settlement.objects.order_by("number").values_list("number", flat=True))
    assert settled == list(range(1, Queue.objects.get(pk=queue.pk).settled + 1))


def test_practice_and_hidden_anchors_hold_up_nobody(project: Project) -> None:
    factories.make_known_set(project, QueuePurpose.PRACTICE, 3, name="first steps")
    factories.make_known_set(project, QueuePurpose.ANCHORS, 2, name="hidden")
    queue = factories.make_queue(project, 40)
    factories.calibrate(queue, practice="first steps", anchors="hidden", every=1)
    people = _people(project, CLIENTS)
    at_once(_work_through, [(queue, person) for person in people])
    assert set(Counter(Review.objects.filter(kind=SlotKind.REVIEW).values_list("item", flat=True)).values()) == {1}
    assert Review.objects.filter(kind=SlotKind.REVIEW, surplus=False).count() == 40
    practised = Counter(Review.objects.filter(kind=SlotKind.PRACTICE).values_list("author", "item"))
    hidden = Counter(Review.objects.filter(kind=SlotKind.ANCHOR).values_list("author", "item"))
    assert set(practised.values()) | set(hidden.values()) == {1}
    of_each = Counter(author for author, _ in practised)
    for author in set(Review.objects.filter(kind=SlotKind.REVIEW).values_list("author", flat=True)):
        assert of_each[author] == 3
    assert Review.objects.filter(surplus=True).count() == 0
    assert Settlement.objects.count() == 40


def _race(work: tuple[list[Queue], Author]) -> list[int]:
    queues, person = work
    won = []
    for queue in queues:
        _start.wait()
        if slot_claim(queue=queue, actor=person, now=NOW):
            won.append(queue.pk)
    return won


def test_twenty_people_race_for_one_item_and_each_round_has_one_winner(project: Project) -> None:
    """BEHAVIOUR 1; with 50 people and 100 rounds: `python -m benchmarks.desk --race`."""
    queues = [factories.make_queue(project, 1, name=f"round {n}") for n in range(ROUNDS)]
    won = at_once(_race, [(queues, person) for person in _people(project, RACERS)])
    assert sorted(queue for one in won for queue in one) == sorted(queue.pk for queue in queues)
    assert Lease.objects.count() == ROUNDS


def _answer_once(work: tuple[Queue, Author]) -> bool:
    queue, person = work
    _start.wait()
    lease = slot_claim(queue=queue, actor=person, now=NOW)
    return lease is not None and not submit(lease).surplus


def test_item_that_needs_three_answers_gets_three_of_ten(project: Project) -> None:
    """BEHAVIOUR 6."""
    queue = factories.make_queue(project, 1, answers=3)
    counted = at_once(_answer_once, [(queue, person) for person in _people(project, 10)])
    assert Counter(counted) == {True: 3, False: 7}
    assert (Review.objects.count(), Settlement.objects.get().how) == (3, "unanimous")


def _send(lease: Lease) -> int:
    _start.wait()
    return submit(lease).pk


def test_one_answer_sent_by_ten_windows_at_once_is_one_review(project: Project) -> None:
    """BEHAVIOUR 18."""
    lease = factories.claim(factories.make_queue(project, 1), factories.make_person(project, "ann"))
    assert len(set(at_once(_send, [lease] * 10))) == 1
    assert (Review.objects.count(), Settlement.objects.count()) == (1, 1)


def _claim(work: tuple[Queue, Author]) -> int | None:
    queue, person = work
    _start.wait()
    lease = slot_claim(queue=queue, actor=person, now=NOW)
    return lease and lease.pk


def test_two_windows_of_one_person_hold_one_lease_of_an_item_that_needs_two(project: Project) -> None:
    person = factories.make_person(project, "ann")
    for round_ in range(5):
        queue = factories.make_queue(project, 1, answers=2, name=f"round {round_}")
        leases = at_once(_claim, [(queue, person)] * 4)
        assert len(set(leases)) == 1
        assert None not in leases


def _expire_or_renew(work: tuple[Lease, Author] | None) -> None:
    _start.wait()
    for _ in range(20):
        if work is None:
            leases_expire(now=LATE)
        else:
            lease_renew(lease=work[0], actor=work[1], now=LATE)


def test_holders_who_renew_while_others_expire_keep_their_leases(project: Project) -> None:
    queue = factories.make_queue(project, 6)
    people = _people(project, 6)
    held = [(factories.claim(queue, person), person) for person in people]
    at_once(_expire_or_renew, [*held, None, None])
    for lease, person in held:
        lease_renew(lease=lease, actor=person, now=LATE)
    assert Lease.objects.filter(ended_at=None).count() == 6


def _send_late_or_claim(work: tuple[list[Lease], Author | None]) -> list[bool]:
    """Of each lease that has run out: whether its holder's answer was taken, or somebody else has the slot."""
    leases, colleague = work
    got = []
    for lease in leases:
        _start.wait()
        if colleague is not None:
            got.append(slot_claim(queue=lease.item.queue, actor=colleague, now=LATE) is not None)
            continue
        try:
            submit(lease, now=LATE)
            got.append(True)
        except LeaseLost:
            got.append(False)
    return got


def test_late_answer_and_next_claim_of_its_slot_have_one_winner_and_no_deadlock(project: Project) -> None:
    """BEHAVIOUR 4."""
    ann, *colleagues = _people(project, 1 + 4)
    leases = [factories.claim(factories.make_queue(project, 1, name=f"round {n}"), ann) for n in range(30)]
    leases_expire(now=LATE)
    got = at_once(_send_late_or_claim, [(leases, person) for person in [None, *colleagues]])
    assert [sum(one) for one in zip(*got, strict=True)] == [1] * 30


def _skip_or_answer(work: tuple[Queue, Author, int]) -> None:
    queue, person, parity = work
    _start.wait()
    while lease := slot_claim(queue=queue, actor=person, now=NOW):
        if lease.item_id % 2 == parity and not lease.item.skips.filter(author=person).exists():
            item_skip(lease=lease, actor=person, now=NOW)
        else:
            submit(lease, "pass" if person.pk % 2 else "fail")


def test_people_who_skip_and_differ_leave_no_item_without_a_way_on(project: Project) -> None:
    queue = factories.make_queue(project, 20, answers=2)
    at_once(_skip_or_answer, [(queue, person, n % 2) for n, person in enumerate(_people(project, 6))])
    states = Counter(queue.items.values_list("state", flat=True))
    assert states[ItemState.OPEN] == 0
    assert states.total() == 20
    for item in queue.items.filter(state=ItemState.CONFLICT):
        assert item.slots.filter(kind="adjudication", state="open").count() == 1
    assert Review.objects.filter(surplus=False).count() <= 40


def _watch_or_work(work: tuple[Queue, Author | None]) -> int:
    """A reader who has seen number n has seen every smaller one: count the moments where that was untrue."""
    queue, person = work
    if person is not None:
        return 0 * len(_work_through((queue, person)))
    _start.wait()
    untrue = seen = 0
    while seen < 40:
        seen = Queue.objects.values_list("settled", flat=True).get(pk=queue.pk)
        untrue += Settlement.objects.filter(queue=queue, number__lte=seen).count() != seen
    return untrue


def test_settlement_numbers_are_gapless_at_every_moment(project: Project) -> None:
    queue = factories.make_queue(project, 40)
    watched = at_once(_watch_or_work, [(queue, person) for person in [None, *_people(project, 5)]])
    assert watched == [0] * 6


def test_answers_for_two_artifacts_are_whole_under_races(project: Project) -> None:
    queue = factories.make_queue(project, 20, upgrade=True)
    at_once(_work_through, [(queue, person) for person in _people(project, 4)])
    for review in Review.objects.prefetch_related("labels"):
        assert len(review.labels.all()) == 2


def test_second_submit_finds_the_first_one_even_where_the_item_is_settled(project: Project) -> None:
    person = factories.make_person(project, "ann")
    lease = factories.claim(factories.make_queue(project, 1), person)
    answers = {lease.item.shown.get().artifact_id: "pass"}
    first = review_submit(lease=lease, actor=person, answers=answers, now=NOW)
    assert at_once(_send, [lease, lease]) == [first.pk, first.pk]
