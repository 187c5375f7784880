"""Paths into records: what they lead to, what they refuse, and how what stands there becomes a text."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.intake.paths import Cells, PathFault, path_of, steps_of, text_of

RECORD = {
    "topic": "a",
    "model.name": "exact",
    "response": {"output": "yes", "error": None, "swap = False": {"winner": 1}},
    "results": [{"score": 0.50}, {"score": True}],
    "scores": {"match": {"value": "C"}},
    "two": {"first": 1, "second": 2},
}
ELEMENT = {"id": 7, "texts": ["one", "two"]}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("topic", "a"),
        ("model.name", "exact"),
        ("response.output", "yes"),
        ('"response"."output"', "yes"),
        ("response.swap = False.winner", "1"),
        ('response."swap = False".winner', "1"),
        ("results[0].score", "0.5"),
        ("results[1].score", "true"),
        ("results[2].score", ""),
        ("response.error", ""),
        ("response.error | response.output", "yes"),
        ("response.absent | topic", "a"),
        ("topic.deeper", ""),
        ("scores.*.value", "C"),
        ("two", '{"first":1,"second":2}'),
        ("results", '[{"score":0.5},{"score":true}]'),
        ("[].id", "7"),
        ("[].texts", "one\ntwo"),
        ("[].texts[1]", "two"),
        ("[]", '{"id":7,"texts":["one","two"]}'),
    ],
)
def test_path_leads_to_a_text(path: str, text: str) -> None:
    assert Cells(RECORD, ELEMENT)[path] == text


@pytest.mark.parametrize("path", ["absent", "response.absent", "results[2]", "topic.deeper", "[].absent", "a..b"])
def test_absent_field_is_known_from_a_blank_one(path: str) -> None:
    assert not Cells(RECORD, ELEMENT).has(path)
    assert Cells(RECORD, ELEMENT).has("response.error")


def test_only_entry_of_several_is_refused_by_their_names() -> None:
    with pytest.raises(PathFault, match=r"'two\.\*' is the only entry, and there are 2: first, second; name one"):
        Cells(RECORD)["two.*"]


@pytest.mark.parametrize("path", ["", "a..b", ".a", "a.", 'a."b', "a[x]", "a]", "a |", "[]a", "a[0]b"])
def test_text_that_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(PathFault, match="no path"):
        steps_of(path)


names = st.text(min_size=1) | st.sampled_from(["a.b", "a|b", 'a"b', "*", "[]", " a ", "[0]", "é"])


@given(st.lists(names | st.integers(0, 10**6), min_size=1, max_size=4).filter(lambda steps: isinstance(steps[0], str)))
def test_path_of_any_names_is_read_back(steps: list[str | int]) -> None:
    assert steps_of(path_of(*steps)) == ((False, tuple(steps)),)


def test_fields_of_a_row_are_listed_its_own_first() -> None:
    assert list(Cells({"topic": "a", "by": {"x.y": 1}, "list": [1]}, {"id": 7})) == [
        "[].id",
        "topic",
        'by."x.y"',
        "list",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text \x00\u0085", "text \x00\u0085"),
        (None, ""),
        (2, "2"),
        ("NA", "NA"),
        ([1, 2], "[1,2]"),
        ([], ""),
        (["a", None], '["a",null]'),
        (float("nan"), "NaN"),
        (1.10, "1.1"),
        (1e300, "1e+300"),
        (False, "false"),
        ({"b": "é", "a": [None]}, '{"a":[null],"b":"é"}'),
        (date(2026, 11, 30), "2026-11-30"),
        (Decimal("1.10"), "1.10"),
        ([Decimal("1.10")], '["1.10"]'),
    ],
)
def test_value_becomes_its_canonical_text(value: Any, text: str) -> None:
    assert text_of(value) == text


def test_bytes_are_no_text() -> None:
    with pytest.raises(PathFault, match="a bytes, which is no text"):
        text_of(b"x")
