"""No two things at the desk share a key, whatever the labels are called and whichever keys a person chose."""

import re
from dataclasses import asdict
from itertools import chain
from string import ascii_lowercase, punctuation

import pytest
from django.http import HttpResponse
from hypothesis import given
from hypothesis import strategies as st

from adjudication.keys import ACTIONS, PageKeys, desk_keys, key_problems, page_keys
from adjudication.models import KeyChoice
from adjudication.reasons import FIRST_REASONS
from core.models import Project
from tests import factories
from tests.adjudication.test_desk import Desk


def test_labels_have_their_place_and_their_first_letter() -> None:
    assert desk_keys(["fail", "pass"], [], outputs=1, answers=0).labels == (("1", "f"), ("2", "p"))


def test_labels_that_are_digits_are_their_own_keys() -> None:
    assert desk_keys(["0", "1", "2"], [], outputs=1, answers=0).labels == (("0",), ("1",), ("2",))


def test_label_never_takes_a_key_of_the_page() -> None:
    assert desk_keys(["unsafe", "kept", "legal"], [], outputs=2, answers=0).labels == (("1",), ("2",), ("3",))


def test_labels_with_the_same_first_letter_share_it_with_nobody() -> None:
    assert desk_keys(["part", "pass"], [], outputs=1, answers=0).labels == (("1",), ("2",))


@given(
    st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=14, unique=True),
    st.integers(1, 2),
    st.integers(0, 8),
    st.lists(st.sampled_from(ascii_lowercase + punctuation), min_size=len(ACTIONS), max_size=len(ACTIONS), unique=True),
)
def test_keys_are_distinct(labels: list[str], outputs: int, answers: int, chosen: list[str]) -> None:
    """BEHAVIOUR 21: whatever a person chose, the keys of labels and reasons step aside."""
    page = PageKeys(**dict(zip(ACTIONS, chosen, strict=True)))
    keys = desk_keys(labels, [reason.code for reason in FIRST_REASONS], outputs=outputs, answers=answers, page=page)
    given_out = [key for key in chain(chain.from_iterable(keys.labels), keys.reasons, keys.answers) if key]
    assert len(given_out) == len(set(given_out))
    assert not page_keys(page, outputs) & set(given_out)
    assert all(len(key) == 1 for key in given_out)


def test_keys_of_the_house_can_be_chosen() -> None:
    assert key_problems(asdict(PageKeys())) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"skip": "x"}, "skip: is the key of “cannot judge” already (found 'x')"),
        ({"skip": "3"}, "skip: digits give grades (found '3'); allowed: a letter, one of"),
        ({"undo": "Enter"}, "undo: cannot be a key (found 'Enter'); allowed:"),
        ({"undo": ""}, "undo: cannot be a key (found ''); allowed:"),
        ({"help": "é"}, "help: cannot be a key (found 'é'); allowed:"),
        ({"guideline": " "}, "guideline: cannot be a key (found ' '); allowed:"),
    ],
)
def test_key_that_cannot_be_chosen_is_refused_with_the_reason(changes: dict[str, str], says: str) -> None:
    (problem,) = key_problems(asdict(PageKeys()) | changes)
    assert str(problem).startswith(says)


@pytest.fixture
def ann(db: None) -> Desk:
    project: Project = factories.make_project()
    factories.make_queue(project, 2)
    return Desk(factories.make_person(project, "ann"))


def choose(desk: Desk, on: bool = True, **changes: str) -> HttpResponse:
    return desk.client.post(f"{desk.base}/keys", asdict(PageKeys()) | changes | ({"on": "on"} if on else {}))


def test_chosen_keys_are_those_of_the_page_in_every_browser(ann: Desk) -> None:
    """BEHAVIOUR 20 and 23: one key for saving, and `?` shows the keys as they are now."""
    answer = choose(ann, save="s", skip=";")
    assert (answer.status_code, answer["Location"]) == (302, "/p/p/keys?kept")
    page = Desk(ann.author).page()
    assert '<button type="submit" class="primary" data-key="s">Save and next <kbd>s</kbd></button>' in page
    assert re.findall(r"<kbd>([^<]+)</kbd></th><td>(save and next|skip)", page.split("<template data-token")[0]) == [
        ("s", "save and next"),
        (";", "skip"),
    ]


def test_label_gives_up_a_key_that_the_page_uses_now(ann: Desk) -> None:
    choose(ann, skip="p")
    assert re.findall(r'name="only" value="1" required data-key="([^"]+)"', ann.page()) == ["2", "2"]


def test_keys_that_clash_are_refused_and_nothing_is_kept(ann: Desk) -> None:
    answer = choose(ann, skip="u")
    text = answer.content.decode()
    assert answer.status_code == 422
    assert "is the key of “skip, with a reason” already (found &#x27;u&#x27;)" in text
    assert 'value="u"' in text  # what was typed is still there
    assert not KeyChoice.objects.exists()


def test_keys_are_switched_off_and_kept_for_later(ann: Desk) -> None:
    choose(ann, on=False, skip=";")
    assert '<div id="desk" class="keys-off"' in Desk(ann.author).page()
    assert "<strong>Your keys are off:</strong>" in ann.page()
    page = ann.client.get("/p/p/keys").content.decode()
    assert re.findall(r'<input type="checkbox" name="on"[^>]*>', page)[0].count("checked") == 0
    assert re.findall(r'name="skip" value="(.)"', page) == [";"]


def test_keys_of_one_person_are_nobody_elses(ann: Desk) -> None:
    choose(ann, save="s")
    other = Desk(factories.make_person(ann.author.project, "ben"))
    assert 'data-key="Enter">Save and next' in other.page()
