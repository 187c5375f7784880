"""Taking an answer back: nothing is unsaid, and what was decided stays in force until something replaces it."""

from datetime import timedelta

import pytest

from adjudication.models import Draft, Item, ItemState, Queue, Review, Settlement, SlotKind, SlotState
from adjudication.selectors import UNDO_WITHIN, sent_count
from adjudication.services.leases import slot_claim, work_claim
from adjudication.services.presentations import presentation_ensure
from adjudication.services.undo import TooLate, review_undo
from core.models import Author, Event, Project, Role
from tests import factories
from tests.factories import MINUTE, NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def ann(project: Project) -> Author:
    return factories.make_person(project, "ann")


@pytest.fixture
def ben(project: Project) -> Author:
    return factories.make_person(project, "ben")


@pytest.fixture
def ada(project: Project) -> Author:
    return factories.make_person(project, "ada", Role.ADJUDICATOR)


def references(item: Item) -> list[tuple[int, str, list[str]]]:
    settlements = Settlement.objects.filter(item=item).order_by("revision")
    return [(s.revision, s.how, sorted(s.references.values_list("label", flat=True))) for s in settlements]


def test_undo_returns_the_item_with_its_answers(project: Project, ann: Author) -> None:
    """BEHAVIOUR 15."""
    queue = factories.make_queue(project, 2)
    lease = factories.claim(queue, ann)
    factories.submit(lease, "pass", reasons=["rubric boundary"], rationale="close", seconds=12)
    again = review_undo(lease=lease, actor=ann, now=NOW + MINUTE)
    draft = Draft.objects.get()
    artifact = str(lease.item.shown.get().artifact_id)
    assert (draft.item, draft.author, draft.labels) == (lease.item, ann, {artifact: "pass"})
    assert (draft.reasons, draft.rationale, draft.seconds) == (["rubric boundary"], "close", 12)
    assert work_claim(project=project, actor=ann, now=NOW + 2 * MINUTE).lease == again
    assert again.token != lease.token


def test_undo_and_the_answer_are_both_in_the_log_and_the_count_goes_down(project: Project, ann: Author) -> None:
    """BEHAVIOUR 15."""
    queue = factories.make_queue(project, 1)
    lease = factories.claim(queue, ann)
    review = factories.submit(lease)
    assert sent_count(ann) == 1
    review_undo(lease=lease, actor=ann, now=NOW)
    names = Event.objects.filter(payload__review=review.pk).order_by("pk").values_list("name", flat=True)
    assert list(names) == ["adjudication.review-submitted", "adjudication.review-withdrawn"]
    assert sent_count(ann) == 0
    assert Review.objects.get() == review


def test_decision_stays_in_force_until_another_answer_replaces_it(project: Project, ann: Author) -> None:
    """BEHAVIOUR 19."""
    queue = factories.make_queue(project, 1)
    lease = factories.claim(queue, ann)
    factories.submit(lease, "fail")
    item = lease.item
    again = review_undo(lease=lease, actor=ann, now=NOW)
    assert references(item) == [(1, "single", ["fail"])]
    factories.submit(again, "pass", NOW + MINUTE)
    assert references(item) == [(1, "single", ["fail"]), (2, "single", ["pass"])]
    assert Queue.objects.get().settled == 2
    standing = [(review.revision, hasattr(review, "withdrawal")) for review in item.reviews.order_by("revision")]
    assert standing == [(1, True), (2, False)]


def test_same_answer_again_settles_nothing_twice(project: Project, ann: Author) -> None:
    queue = factories.make_queue(project, 1)
    lease = factories.claim(queue, ann)
    factories.submit(lease, "fail")
    factories.submit(review_undo(lease=lease, actor=ann, now=NOW), "fail", NOW + MINUTE)
    assert references(lease.item) == [(1, "single", ["fail"])]


def test_one_of_two_who_agreed_changes_and_the_adjudicator_decides(
    project: Project, ann: Author, ben: Author, ada: Author
) -> None:
    queue = factories.make_queue(project, 1, answers=2)
    lease = factories.claim(queue, ann)
    factories.submit(lease, "pass")
    factories.answer(queue, ben, "pass")
    again = review_undo(lease=lease, actor=ann, now=NOW)
    factories.submit(again, "fail", NOW + MINUTE)
    item = Item.objects.get()
    assert (item.state, references(item)) == (ItemState.SETTLED, [(1, "unanimous", ["pass"])])
    factories.answer(queue, ada, "fail", NOW + 2 * MINUTE)
    assert references(item) == [(1, "unanimous", ["pass"]), (2, "adjudicated", ["fail"])]


def test_conflict_goes_with_the_answer_that_made_it(project: Project, ann: Author, ben: Author, ada: Author) -> None:
    queue = factories.make_queue(project, 1, answers=2)
    factories.answer(queue, ann, "pass")
    lease = factories.claim(queue, ben)
    factories.submit(lease, "fail")
    again = review_undo(lease=lease, actor=ben, now=NOW)
    item = Item.objects.get()
    assert item.state == ItemState.OPEN
    assert list(item.slots.filter(kind=SlotKind.ADJUDICATION).values_list("state", flat=True)) == [SlotState.WITHDRAWN]
    assert slot_claim(queue=queue, actor=ada, now=NOW) is None
    factories.submit(again, "pass", NOW + MINUTE)
    assert references(item) == [(1, "unanimous", ["pass"])]


def test_undo_is_refused_while_the_adjudicator_has_the_conflict_in_hand(
    project: Project, ann: Author, ben: Author, ada: Author
) -> None:
    queue = factories.make_queue(project, 1, answers=2)
    factories.answer(queue, ann, "pass")
    lease = factories.claim(queue, ben)
    factories.submit(lease, "fail")
    held = factories.claim(queue, ada)
    with pytest.raises(TooLate, match=r"^this answer cannot be taken back any more$"):
        review_undo(lease=lease, actor=ben, now=NOW)
    factories.submit(held, "pass")
    with pytest.raises(TooLate):
        review_undo(lease=lease, actor=ben, now=NOW)


def test_adjudicator_takes_a_decision_back_and_gives_another(
    project: Project, ann: Author, ben: Author, ada: Author
) -> None:
    queue = factories.make_queue(project, 1, answers=2)
    factories.answer(queue, ann, "pass")
    factories.answer(queue, ben, "fail")
    lease = factories.claim(queue, ada)
    factories.submit(lease, "pass")
    again = review_undo(lease=lease, actor=ada, now=NOW)
    factories.submit(again, "fail", NOW + MINUTE)
    assert references(Item.objects.get()) == [(1, "adjudicated", ["pass"]), (2, "adjudicated", ["fail"])]


def test_undo_ends_after_a_while(project: Project, ann: Author) -> None:
    queue = factories.make_queue(project, 2)
    lease = factories.claim(queue, ann)
    factories.submit(lease)
    with pytest.raises(TooLate):
        review_undo(lease=lease, actor=ann, now=NOW + UNDO_WITHIN + timedelta(seconds=1))
    review_undo(lease=lease, actor=ann, now=NOW + UNDO_WITHIN)


def test_second_undo_of_one_answer_is_refused(project: Project, ann: Author) -> None:
    queue = factories.make_queue(project, 1)
    lease = factories.claim(queue, ann)
    factories.submit(lease)
    review_undo(lease=lease, actor=ann, now=NOW)
    with pytest.raises(TooLate):
        review_undo(lease=lease, actor=ann, now=NOW)


def test_who_walks_away_after_an_undo_leaves_the_item_to_others(project: Project, ann: Author, ben: Author) -> None:
    queue = factories.make_queue(project, 1)
    lease = factories.claim(queue, ann)
    factories.submit(lease, "fail")
    review_undo(lease=lease, actor=ann, now=NOW)
    factories.answer(queue, ben, "pass", NOW + timedelta(hours=1))
    assert references(lease.item) == [(1, "single", ["fail"]), (2, "single", ["pass"])]


def test_whoever_took_a_review_back_never_adjudicates_it(project: Project, ann: Author, ben: Author) -> None:
    first, second = (factories.make_person(project, name, Role.ADJUDICATOR) for name in ("ada", "eve"))
    queue = factories.make_queue(project, 1, answers=2)
    lease = factories.claim(queue, first)
    factories.submit(lease, "pass")
    review_undo(lease=lease, actor=first, now=NOW)
    later = NOW + timedelta(hours=1)
    factories.answer(queue, ann, "pass", later)
    factories.answer(queue, ben, "fail", later)
    assert slot_claim(queue=queue, actor=first, now=later) is None
    assert slot_claim(queue=queue, actor=second, now=later) is not None


def test_order_of_two_outputs_is_drawn_once_and_about_even(project: Project) -> None:
    """BEHAVIOUR 10."""
    queue = factories.make_queue(project, 40, upgrade=True)
    people = [factories.make_person(project, f"p{n}") for n in range(5)]
    lefts = []
    for item in queue.items.all():
        systems = dict(item.shown.values_list("artifact", "artifact__system_version__name"))
        for person in people:
            shown = presentation_ensure(item=item, author=person, now=NOW)
            assert presentation_ensure(item=item, author=person, now=NOW + MINUTE) == shown
            lefts.append(systems[shown.order[0]])
    # 200 fair coins: outside 60 to 140 about once in 100 million runs.
    assert 60 <= lefts.count("v1") <= 140


def test_order_is_recorded_with_the_review(project: Project, ann: Author) -> None:
    queue = factories.make_queue(project, 1, upgrade=True)
    lease = factories.claim(queue, ann)
    shown = presentation_ensure(item=lease.item, author=ann, now=NOW)
    assert factories.submit(lease).presentation == shown
