"""`bridge_set`: a file of cases in, the manifest of the set out, and every fault of the file at once."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command

HISTORY = """\
case_id,task,forced,why,approved_by
r1,refusal,,,
r2,refusal,false,,
r3,refusal,true,"fails, though it must pass",policy owner
c1,citation,,,
c2,citation,,,
5,citation,,,
"""


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / "history.csv"
    path.write_text(HISTORY)
    return path


def test_manifest_says_of_every_case_why_it_is_in(
    history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bridge.yaml"
    arguments = ["--slice", "task", "--per-slice", "2", "--quota", "citation=3", "--seed", "7"]
    call_command("bridge_set", str(history), str(file), *arguments)
    document = yaml.load(file.read_text(), Loader=yaml.BaseLoader)
    first = min(("r1", "r2"), key=lambda case: hashlib.sha256(f"7|{case}".encode()).hexdigest())
    assert document["history"] == {"file": "history.csv", "sha256": hashlib.sha256(HISTORY.encode()).hexdigest()}
    assert (document["slice"], document["seed"]) == ("task", "7")
    assert document["quotas"] == {"citation": "3", "refusal": "2"}
    assert sorted(case["case_id"] for case in document["cases"][:3]) == ["5", "c1", "c2"]
    assert document["cases"][3:] == [
        {
            "case_id": "r3",
            "slice": "refusal",
            "how": "forced",
            "why": "fails, though it must pass",
            "approved_by": "policy owner",
        },
        {"case_id": first, "slice": "refusal", "how": "filled"},
    ]
    assert capsys.readouterr().out.splitlines() == [
        f"{file}: 5 cases",
        "  citation: 3 of 3 asked for, 0 forced",
        "  refusal: 2 of 2 asked for, 1 forced",
    ]


def test_same_history_and_seed_write_the_same_bytes(history: Path, tmp_path: Path) -> None:
    written = []
    for name in ("one.yaml", "two.yaml"):
        call_command(
            "bridge_set", str(history), str(tmp_path / name), "--slice=task", "--per-slice=2", "--seed=7", "--json"
        )
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]


def test_id_that_no_intake_takes_is_in_no_set(tmp_path: Path) -> None:
    (history := tmp_path / "history.csv").write_text("case_id,task\na\x00,x\nb ,x\n")
    with pytest.raises(CommandError) as caught:
        call_command("bridge_set", str(history), str(tmp_path / "b.yaml"), "--slice=task", "--per-slice=1", "--seed=7")
    assert str(caught.value).splitlines() == [
        "history.csv, row 1, column case_id: a character that cannot be seen (found 'a␀'); allowed: a name on one line",
        "history.csv, row 2, column case_id: spaces at an end (found 'b '); allowed: a name on one line",
    ]


def test_history_may_be_packed(history: Path, tmp_path: Path) -> None:
    packed = tmp_path / "history.tsv.gz"
    packed.write_bytes(gzip.compress(b"case_id\ttask\na\tx, y\n"))
    call_command("bridge_set", str(packed), str(tmp_path / "b.yaml"), "--slice=task", "--per-slice=1", "--seed=7")
    assert yaml.safe_load((tmp_path / "b.yaml").read_text())["quotas"] == {"x, y": "1"}


def test_shortage_is_refused_and_nothing_is_written(
    history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bridge.yaml"
    with pytest.raises(SystemExit, match="2"):
        call_command("bridge_set", str(history), str(file), "--slice=task", "--per-slice=5", "--seed=7", "--json")
    errors = json.loads(capsys.readouterr().out)["errors"]
    assert [(error["value"], error["what"]) for error in errors] == [
        ("citation", "the slice needs 5 cases beside its 0 forced ones, and 3 were found"),
        ("refusal", "the slice needs 4 cases beside its 1 forced ones, and 2 were found"),
    ]
    assert not file.exists()


def test_faults_of_the_file_are_named_by_row_and_column(history: Path, tmp_path: Path) -> None:
    history.write_text(HISTORY + " ,citation,,,\nc4,citation,maybe,,\n")
    with pytest.raises(CommandError) as caught:
        call_command("bridge_set", str(history), str(tmp_path / "x.yaml"), "--slice=task", "--per-slice=1", "--seed=7")
    assert str(caught.value).splitlines() == [
        "history.csv, row 7, column case_id: blank (found ' '); allowed: a name on one line",
        "history.csv, row 8, column forced: neither yes nor no (found 'maybe'); allowed: true, false, or nothing",
    ]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--slice=risk"], "history.csv, column risk: there is no such column; allowed: case_id, task, forced"),
        (["--slice=task", "--quota=refusal"], "--quota: not a quota (found 'refusal'); allowed: SLICE=N"),
    ],
)
def test_wrong_arguments_are_refused(history: Path, tmp_path: Path, arguments: list[str], fault: str) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("bridge_set", str(history), str(tmp_path / "x.yaml"), "--per-slice=1", "--seed=7", *arguments)
    assert str(caught.value).startswith(fault)
