"""No two things at the desk share a key, whatever the labels are called."""

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from adjudication.keys import LEFT, PAGE_KEYS, RIGHT, desk_keys
from adjudication.reasons import CODES


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
    st.integers(0, 3),
)
def test_keys_are_distinct(labels: list[str], outputs: int, answers: int) -> None:
    keys = desk_keys(labels, list(CODES), outputs=outputs, answers=answers)
    given_out = [key for key in chain(chain.from_iterable(keys.labels), keys.reasons) if key]
    taken = PAGE_KEYS | set("abc"[:answers]) | ({LEFT, RIGHT} if outputs > 1 else set())
    assert len(given_out) == len(set(given_out))
    assert not taken & set(given_out)
    assert all(len(key) == 1 for key in given_out)
