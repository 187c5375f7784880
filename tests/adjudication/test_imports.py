"""Labels that people gave elsewhere: how they settle an item, and that nothing is stored twice or overwritten."""

from collections.abc import Mapping

import pytest

from adjudication.models import Item, ItemState, Label, Queue, Reference, Review, Settlement, SlotState
from adjudication.services.imports import Imported, ImportedAnswers, labels_import
from core.errors import InputError
from core.models import Author, AuthorKind, Event, Project
from core.services import imported_author, operator_of
from tests import factories
from tests.factories import NOW, answer, claim, submit

pytestmark = [pytest.mark.database, pytest.mark.django_db]

Given = Mapping[str, str]  # author -> label; `final` is the final column


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _row(item: Item, given: Mapping[str, Mapping[int, str]], row: int = 1) -> ImportedAnswers:
    project = item.queue.project
    authors = {
        imported_author(project=project, name=name).pk: labels for name, labels in given.items() if name != "final"
    }
    artifacts = tuple(item.shown.order_by("artifact__system_version").values_list("artifact", flat=True))
    return ImportedAnswers(item=item, artifacts=artifacts, by_author=authors, final=given.get("final", {}), row=row)


def _import(queue: Queue, *rows: ImportedAnswers) -> Imported:
    return labels_import(
        queue=queue,
        rows=rows,
        adjudicator=imported_author(project=queue.project, name=None),
        file="labels.csv",
        actor=operator_of(queue.project),
        now=NOW,
    )


def _take_in(queue: Queue, given: Given, case: str = "c001") -> Imported:
    """Import one row about a case with one artifact."""
    item = factories.item_of(queue, case)
    artifact = item.shown.get().artifact_id
    return _import(queue, _row(item, {name: {artifact: label} for name, label in given.items()}))


def _outcome(queue: Queue) -> list[tuple[str, str]]:
    return list(Reference.objects.filter(settlement__queue=queue).values_list("settlement__how", "label"))


@pytest.mark.parametrize(
    ("given", "outcome", "reviews"),
    [
        ({"a": "pass", "b": "pass"}, [("unanimous", "pass")], 2),
        ({"a": "pass", "b": "pass", "final": "pass"}, [("unanimous", "pass")], 2),
        ({"a": "pass", "b": "fail", "final": "fail"}, [("adjudicated", "fail")], 3),
        ({"a": "pass", "b": "pass", "final": "fail"}, [("adjudicated", "fail")], 3),
        ({"a": "pass", "final": "pass"}, [("adjudicated", "pass")], 2),
        ({"final": "fail"}, [("imported", "fail")], 0),
        ({"a": "fail"}, [("single", "fail")], 1),
        ({"a": "pass", "b": "fail"}, [], 2),
        ({"a": "pass", "b": "fail", "c": "pass"}, [], 3),
    ],
)
def test_labels_settle_an_item_by_who_agrees(
    project: Project, given: Given, outcome: list[tuple[str, str]], reviews: int
) -> None:
    queue = factories.make_queue(project, 1)
    report = _take_in(queue, given)
    assert _outcome(queue) == outcome
    voices = len([name for name in given if name != "final"])
    assert report == Imported(
        reviews=voices,
        adjudications=reviews - voices,
        settled={how: 1 for how, _ in outcome},
        waiting=0 if outcome else 1,
    )
    assert (Review.objects.count(), Label.objects.count()) == (reviews, reviews)
    assert queue.items.get().state == (ItemState.SETTLED if outcome else ItemState.OPEN)
    assert queue.items.get().slots.get().state == (SlotState.WITHDRAWN if outcome else SlotState.OPEN)


@pytest.mark.parametrize("given", [{"a": "pass", "b": "fail", "final": "fail"}, {"a": "pass"}, {"final": "pass"}])
def test_same_labels_again_add_nothing(project: Project, given: Given) -> None:
    queue = factories.make_queue(project, 1)
    _take_in(queue, given)
    counts = (Review.objects.count(), Settlement.objects.count(), Event.objects.count(), Author.objects.count())
    again = _take_in(queue, given)
    assert again == Imported(duplicate=len([name for name in given if name != "final"]))
    assert counts == (
        Review.objects.count(),
        Settlement.objects.count(),
        Event.objects.count(),
        Author.objects.count(),
    )


def test_same_labels_that_settle_nothing_wait_again(project: Project) -> None:
    queue = factories.make_queue(project, 1)
    for report in (_take_in(queue, {"a": "pass", "b": "fail"}), _take_in(queue, {"a": "pass", "b": "fail"})):
        assert (report.waiting, report.settled) == (1, {})
    assert Review.objects.count() == 2


def test_author_who_answers_otherwise_than_before_is_refused_with_row_and_both_labels(project: Project) -> None:
    queue = factories.make_queue(project, 2)
    _take_in(queue, {"a": "pass", "b": "pass"})
    one, two = (factories.item_of(queue, case) for case in ("c001", "c002"))
    first, second = one.shown.get().artifact_id, two.shown.get().artifact_id
    with pytest.raises(InputError) as caught:
        _import(
            queue, _row(two, {"a": {second: "pass"}}, 1), _row(one, {"a": {first: "fail"}, "c": {first: "pass"}}, 7)
        )
    (problem,) = caught.value.problems
    assert (problem.file, problem.row, problem.value, problem.allowed) == (
        "labels.csv",
        7,
        "fail",
        "the stored labels: pass",
    )
    assert Review.objects.count() == 2
    assert two.settlements.count() == 0


def test_further_author_of_a_settled_item_is_surplus(project: Project) -> None:
    queue = factories.make_queue(project, 1)
    _take_in(queue, {"a": "pass", "b": "pass"})
    report = _take_in(queue, {"a": "pass", "b": "pass", "c": "fail"})
    assert report == Imported(reviews=1, surplus=1, duplicate=2)
    assert list(Review.objects.order_by("pk").values_list("surplus", flat=True)) == [False, False, True]
    assert _outcome(queue) == [("unanimous", "pass")]


def test_label_that_comes_later_is_held_against_those_stored(project: Project) -> None:
    queue = factories.make_queue(project, 1)
    _take_in(queue, {"a": "pass", "b": "fail"})
    report = _take_in(queue, {"a": "pass", "c": "fail"})
    assert (report.reviews, report.duplicate, report.waiting, report.settled) == (1, 1, 1, {})
    assert _outcome(queue) == []


def test_final_label_that_comes_later_adjudicates_what_is_stored(project: Project) -> None:
    queue = factories.make_queue(project, 1)
    _take_in(queue, {"a": "pass", "b": "fail"})
    assert _take_in(queue, {"a": "pass", "b": "fail", "final": "fail"}).settled == {"adjudicated": 1}
    assert _outcome(queue) == [("adjudicated", "fail")]


@pytest.mark.parametrize(("live", "outcome"), [("fail", []), (None, []), ("pass", [("unanimous", "pass")])])
def test_imported_label_is_held_against_an_answer_given_here(
    project: Project, live: str | None, outcome: list[tuple[str, str]]
) -> None:
    queue = factories.make_queue(project, 1, answers=2)
    answer(queue, factories.make_person(project, "ann"), live)
    _take_in(queue, {"a": "pass"})
    assert _outcome(queue) == outcome


def test_answer_given_here_is_held_against_an_imported_one(project: Project) -> None:
    queue = factories.make_queue(project, 1)
    _take_in(queue, {"a": "pass", "b": "fail"})
    answer(queue, factories.make_person(project, "ann"), "pass")
    assert queue.items.get().state == ItemState.CONFLICT


def test_answer_under_way_when_an_import_settles_its_item_is_surplus(project: Project) -> None:
    queue = factories.make_queue(project, 1)
    lease = claim(queue, factories.make_person(project, "ann"))
    _take_in(queue, {"final": "fail"})
    assert submit(lease, "pass").surplus is True
    assert _outcome(queue) == [("imported", "fail")]


def test_pair_is_settled_only_when_both_its_artifacts_have_a_label(project: Project) -> None:
    queue = factories.make_queue(project, 2, upgrade=True)
    whole, half = (factories.item_of(queue, case) for case in ("c001", "c002"))
    rows = []
    for item in (whole, half):
        old, new = item.shown.order_by("artifact__system_version").values_list("artifact", flat=True)
        final = {old: "pass", new: "fail"} if item == whole else {old: "pass"}
        rows.append(_row(item, {"a": {old: "pass", new: "pass"} if item == whole else {old: "pass"}, "final": final}))
    report = _import(queue, *rows)
    assert (report.settled, report.waiting) == ({"adjudicated": 1}, 1)
    assert list(Reference.objects.order_by("artifact").values_list("settlement__item", "label")) == [
        (whole.pk, "pass"),
        (whole.pk, "fail"),
    ]


def test_import_of_many_takes_consecutive_numbers_and_one_event(project: Project) -> None:
    queue = factories.make_queue(project, 5)
    rows = [_row(item, {"final": {item.shown.get().artifact_id: "pass"}}) for item in queue.items.order_by("-rank")]
    assert _import(queue, *rows).settled == {"imported": 5}
    queue.refresh_from_db()
    assert (queue.settled, list(queue.settlements.order_by("number").values_list("number", flat=True))) == (
        5,
        [1, 2, 3, 4, 5],
    )
    assert [event.payload for event in Event.objects.filter(name="adjudication.item-settled")] == [
        {"queue": queue.pk, "number": 5}
    ]


def test_imported_authors_are_marked_and_have_no_account(project: Project) -> None:
    _take_in(factories.make_queue(project, 1), {"a": "pass"})
    author = Review.objects.get().author
    assert (author.pseudonym, author.kind, author.user) == ("imported: a", AuthorKind.IMPORTED, None)
