"""What two outputs do not share."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudication.differences import MOST_WORDS, differences
from adjudication.models import Presentation
from tests import factories
from tests.adjudication.test_desk import Desk


def marked(left: str, right: str) -> tuple[str, str]:
    """Both texts, with brackets around what only one of them has."""
    return tuple(  # type: ignore[return-value]
        "".join(f"[{piece.text}]" if piece.differs else piece.text for piece in pieces)
        for pieces in differences(left, right)
    )


def test_equal_texts_differ_nowhere() -> None:
    assert marked("the same words", "the same words") == ("the same words", "the same words")


def test_changed_word_is_marked_whole_on_both_sides() -> None:
    assert marked("Paris has 2 rivers.", "Paris has 3 rivers.") == ("Paris has [2] rivers.", "Paris has [3] rivers.")


def test_added_words_are_marked_on_one_side_only() -> None:
    assert marked("It is right.", "It is not at all right.") == ("It is right.", "It is [not at all ]right.")


def test_nothing_against_something_is_all_of_it() -> None:
    assert marked("", "something") == ("", "[something]")


def test_words_of_other_scripts_are_words() -> None:
    assert marked("שלום עולם", "שלום לך")[1] == "שלום [לך]"


@given(st.text(max_size=200), st.text(max_size=200))
def test_pieces_joined_are_the_texts(left: str, right: str) -> None:
    ours, theirs = differences(left, right)
    assert ("".join(piece.text for piece in ours), "".join(piece.text for piece in theirs)) == (left, right)


def test_only_the_beginning_of_long_texts_is_compared_and_no_word_is_lost() -> None:
    """BEHAVIOUR 38: a text of a megabyte costs a moment, whatever is in it."""
    text = "one two " * 125_000
    began = time.process_time()
    ours, theirs = differences(text, text + "three")
    assert time.process_time() - began < 1
    assert [piece.compared for piece in ours] == [True, False]
    assert (len(ours[0].text.split()), ours[0].text + ours[1].text) == (MOST_WORDS // 2, text)
    assert theirs[-1].text.endswith("three")


@pytest.mark.django_db
def test_page_of_a_pair_tells_where_its_outputs_differ() -> None:
    project = factories.make_project()
    desk = Desk(factories.make_person(project, "ann"))
    case_set = factories.load_cases(project, ["c1"])
    rows = {"v1": "It is right.", "v2": "It is <b> right."}
    shown = [
        factories.load_artifacts(case_set, name, [factories.artifact_row("c1", 1, text)]).artifacts.get().pk
        for name, text in rows.items()
    ]
    queue = factories.queue_open(project=project, name="q", rubric=factories.make_rubric(project))
    factories.items_add(queue=queue, items=[factories.NewItem(case_set.cases.get().pk, tuple(shown), 1)])
    item = queue.items.get()
    Presentation.objects.create(item=item, author=desk.author, order=shown, salt="s", at=factories.NOW)
    address = f"/p/p/review/{desk.token}/differences"
    for inside in ({}, {"HX-Request": "true"}):
        page = desk.client.get(address, headers=inside).content.decode()
        assert 'data-compared="left">It is right.</div>' in page
        assert 'data-compared="right">It is <span class="differs">&lt;b&gt; </span>right.</div>' in page
    assert Desk(factories.make_person(project, "ben")).client.get(address).status_code == 404


@pytest.mark.django_db
def test_case_with_one_output_has_no_differences() -> None:
    project = factories.make_project()
    factories.make_queue(project, 1)
    desk = Desk(factories.make_person(project, "ann"))
    assert desk.client.get(f"/p/p/review/{desk.token}/differences").status_code == 404
