"""Repeats as a file, and the command that reads it."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

REPEATS = """case_id,reference,1,2,3,part
a,pass,pass,pass,pass,pass
b,pass,pass,fail,pass,pass
c,fail,fail,fail,fail,
d,fail,fail,pass,fail,fail
e,fail,pass,pass,fail,fail
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "repeats.csv"
    path.write_text(text, encoding="utf-8")
    return path


def run(*words: str) -> tuple[int, Any]:
    out, code = StringIO(), 0
    try:
        call_command("repeats", *words, "--json", stdout=out)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, json.loads(out.getvalue())


def test_floor_of_a_file_leaves_out_the_repeat_that_covers_only_some_cases(tmp_path: Path) -> None:
    code, found = run(str(written(tmp_path, REPEATS)))
    assert (code, found["cause"], found["repeats"], found["selective"]) == (0, "rerun", ["1", "2", "3"], ["part"])
    # As in docs/methods.md.
    assert found["changed"] == {"low": 0.2, "middle": 0.4, "high": 0.6}
    assert found["regressed"] == {"low": 0.0, "middle": pytest.approx(0.1), "high": pytest.approx(0.6)}


def test_runs_in_other_orders_are_never_called_a_rerun(tmp_path: Path) -> None:
    path, out = written(tmp_path, REPEATS), StringIO()
    assert run(str(path), "--order")[1]["cause"] == "order"
    call_command("repeats", str(path), "--order", stdout=out)
    assert out.getvalue().splitlines() == [
        "order sensitivity: 3 complete of 4, 5 cases",
        "left out, because they cover only some cases: part",
        "labels changed: 20 % to 60 % of all cases over ordered pairs, median 40 %",
        "regressed: 0 % to 60 % of all cases over ordered pairs, median 10 %",
    ]


def test_one_complete_repeat_is_no_floor(tmp_path: Path) -> None:
    code, found = run(str(written(tmp_path, "case_id,1,2\na,pass,pass\nb,fail,\n")))
    assert (code, found["changed"], found["reason"]) == (1, None, "fewer than two repeats cover all cases")


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("id,1,2\na,pass,pass\n", "repeats.csv, column case_id: a column is missing"),
        (
            "case_id,1,2\na,pass,pass\na,fail,fail\n",
            "repeats.csv, row 2, column case_id: the case stands in an earlier",
        ),
        ("case_id,1,2\n", "repeats.csv: there is no data row"),
        ("case_id,reference,1,2\na,maybe,pass,pass\n", "references: a reference is not on the scale (found 'maybe')"),
    ],
)
def test_file_that_cannot_be_used_is_refused_by_its_place(tmp_path: Path, text: str, refusal: str) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("repeats", str(written(tmp_path, text)), "--scale", "fail=0,pass=1", stdout=StringIO())
    assert refusal in str(caught.value)
    assert caught.value.returncode == 2
