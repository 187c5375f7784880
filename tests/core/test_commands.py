"""The shape of our commands: exit codes 0, 1 and 2, and errors as one JSON document."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core.commands import Command, Result
from core.errors import InputError, Problem, Refused


class Answering(Command):
    """Answers as it was made to."""

    def __init__(self, outcome: Exception | bool) -> None:
        super().__init__()
        self.outcome = outcome

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return {"name": "ä\u2028=1"}, lambda: ["one line", "and another"], self.outcome


TWO_FAULTS = [
    Problem("no such label", file="a.csv", row=3, column="label", value="maybe", allowed="pass, fail"),
    Problem("missing", key="plan.level"),
]


def test_done_prints_lines_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    call_command(Answering(True))
    assert capsys.readouterr() == ("one line\nand another\n", "")


def test_json_prints_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    call_command(Answering(True), "--json")
    assert json.loads(capsys.readouterr().out) == {"name": "ä\u2028=1"}


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_answer_no_prints_its_result_and_exits_1(capsys: pytest.CaptureFixture[str], as_json: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command(Answering(False), *as_json)
    assert ended.value.code == 1
    assert capsys.readouterr().out.count("\n") == (3 if as_json else 2)


def test_bad_input_names_every_problem_and_exits_2() -> None:
    with pytest.raises(CommandError) as ended:
        call_command(Answering(InputError(TWO_FAULTS)))
    assert ended.value.returncode == 2
    assert str(ended.value).splitlines() == [
        "a.csv, row 3, column label: no such label (found 'maybe'); allowed: pass, fail",
        "plan.level: missing",
    ]


def test_refusal_exits_1() -> None:
    with pytest.raises(CommandError) as ended:
        call_command(Answering(Refused("the sample would not grow")))
    assert ended.value.returncode == 1


@pytest.mark.parametrize(("kind", "code"), [(InputError, 2), (Refused, 1)])
def test_errors_as_json_carry_every_field_that_is_known(
    capsys: pytest.CaptureFixture[str], kind: type[InputError], code: int
) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command(Answering(kind(TWO_FAULTS)), "--json")
    assert ended.value.code == code
    assert json.loads(capsys.readouterr().out) == {
        "errors": [
            {
                "what": "no such label",
                "file": "a.csv",
                "row": 3,
                "column": "label",
                "value": "maybe",
                "allowed": "pass, fail",
            },
            {"what": "missing", "key": "plan.level"},
        ]
    }
