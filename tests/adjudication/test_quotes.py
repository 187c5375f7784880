"""Passages that a review quotes: kept as places among a text's characters, un-swapped, shown where they belong."""

import re

import pytest

from adjudication.models import Draft, Item, Presentation, Review, Span
from core.models import Project, Role
from tests import factories
from tests.adjudication.test_desk import Desk, one_case

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def ann(project: Project) -> Desk:
    return Desk(factories.make_person(project, "ann"))


def quoted(page: str) -> list[tuple[str, str]]:
    return re.findall(r'<span class="muted">([^<]+):</span> <q dir="auto">([^<]*)</q>', page)


def spans() -> list[tuple[int | None, int, int, int]]:
    return list(Span.objects.order_by("pk").values_list("artifact", "part", "start", "end"))


def test_quoted_passages_are_kept_with_the_review(project: Project, ann: Desk) -> None:
    one_case(project, "Who?", "Ada 🂡 Lovelace", ("first", "second"))
    artifact = Item.objects.get().shown.get().artifact_id
    given = ["only.0.4.14", "input.0.0.3", "only.2.0.6", "only.0.4.14"]
    assert ann.post(ann.token, only="1", spans=given).status_code == 200
    assert spans() == [(artifact, 0, 4, 14), (None, 0, 0, 3), (artifact, 2, 0, 6)]


def test_quoted_passages_are_in_the_draft_and_come_back_with_an_undone_answer(project: Project, ann: Desk) -> None:
    one_case(project, "Who?", "Ada 🂡 Lovelace", ("first", "second"))
    ann.post(ann.token, "draft", spans=["only.0.4.14", "only.2.0.6"])
    shown = [("Output", "🂡 Lovelace"), ("Evidence 2", "second")]
    assert quoted(ann.page()) == shown
    token = ann.token
    ann.post(token, only="1", spans=["only.0.4.14", "only.2.0.6"])
    assert quoted(ann.post(token, "undo").content.decode()) == shown
    assert Draft.objects.get().spans == [[Item.objects.get().shown.get().artifact_id, 0, 4, 14], [1, 2, 0, 6]]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("only.0.4.400", "A quoted passage lies outside its text (found &#x27;characters 4 to 400 of part 0&#x27;)"),
        ("only.0.4.4", "A quoted passage lies outside its text"),
        ("only.7.0.1", "A quoted passage lies outside its text"),
        ("left.0.0.1", "A quoted passage cannot be read."),
        ("only.0.0", "A quoted passage cannot be read."),
    ],
)
def test_passage_that_is_not_there_is_refused(project: Project, ann: Desk, given: str, says: str) -> None:
    one_case(project, "Who?", "Ada")
    answer = ann.post(ann.token, only="1", spans=[given])
    text = answer.content.decode().replace("Spans: a quoted", "A quoted")
    assert (answer.status_code, says in text) == (422, True)
    assert not Review.objects.exists()


def test_passages_of_two_outputs_are_unswapped_and_shown_to_the_adjudicator_where_they_see_them(
    project: Project, ann: Desk
) -> None:
    ben, ada = (
        Desk(factories.make_person(project, "ben")),
        Desk(factories.make_person(project, "ada", Role.ADJUDICATOR)),
    )
    factories.make_queue(project, 1, answers=2, upgrade=True)
    item = Item.objects.get()
    order = list(item.shown.values_list("artifact", flat=True))
    for desk, ordered in ((ann, order), (ben, order[::-1]), (ada, order)):
        Presentation.objects.create(item=item, author=desk.author, order=ordered, salt="s", at=factories.NOW)
    ann.post(ann.token, left="1", right="0", spans=["left.0.0.6"])
    ben.post(ben.token, left="1", right="0", spans=["left.0.0.3", "input.0.0.8"])
    assert spans() == [(order[0], 0, 0, 6), (order[1], 0, 0, 3), (None, 0, 0, 8)]
    assert sorted(quoted(ada.page())) == [("Input", "question"), ("Left output", "answer"), ("Right output", "ans")]


def test_other_reviewers_see_nothing_of_what_was_quoted(project: Project, ann: Desk) -> None:
    ben = Desk(factories.make_person(project, "ben"))
    one_case(project, "Who?", "Ada")
    Item.objects.get().slots.create(n=2, queue=Item.objects.get().queue, rank=1)
    ann.post(ann.token, only="1", spans=["only.0.0.3"])
    assert quoted(ben.page()) == []


def test_line_ends_of_two_characters_keep_their_count(project: Project, ann: Desk) -> None:
    one_case(project, "Who?", "a\r\nb")
    assert 'a<span class="return"></span>\nb</div>' in ann.page()
