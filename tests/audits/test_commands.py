"""The commands over a small project in files: what they print, how they end, and what they leave."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from adjudication.models import Review, Settlement
from audits.models import Audit
from core.models import Event, Project
from judges.models import Blob, CaseSet, Comparison, Mapping, Rubric, Run, SystemVersion
from judges.services.texts import texts_of
from tests.services import database_url

pytestmark = [pytest.mark.database, pytest.mark.django_db]

MANIFEST = """\
migration_id: swap-1
project: demo
case_set: {name: cases, version: "1"}
kind: judge_swap
rubric:
  name: right
  version: "1"
  guideline: guideline.md
  scale: [{label: fail, value: "0"}, {label: pass, value: "1"}]
judges:
  baseline:
    system_version: v1
    generator: {model: old}
    reader: {parser: exact-label@1, mapping: yes-no@1}
  candidate:
    system_version: v1
    generator: {model: new}
    reader: {parser: exact-label@1, mapping: yes-no@1}
mappings:
  yes-no@1: {approved_by: owner, table: {Yes: pass, No: fail}}
sources:
  - file: cases.csv
    roles: {case_id: id, input: question, output: answer, slices: {risk: risk}}
  - {file: cases.csv, judgments_of: baseline, join: id, roles: {label: old}}
  - {file: cases.csv, judgments_of: candidate, join: id, roles: {label: new}}
reviews:
  - {file: cases.csv, join: id, mapping: yes-no@1, authors: [ann, bob], adjudicated: final}
integrity: {fail_on_unmapped_label: "true"}
slices: [risk]
blocking_slices: ["risk=high"]
review: {adjudicate_all_blocking_transitions: "false", double_review_share: "0"}
plan:
  estimand: accuracy_difference
  target: pool
  level: "0.95"
  half_width: "0.2"
  policy: planned
  strata: {by: agreement, merge_below: "1"}
  allocation: {disagree: "20", agree: "25", agree_minimum: "25"}
  seed: "1"
"""
COLUMNS = ["id", "question", "answer", "risk", "old", "new", "ann", "bob", "final"]
Table = list[dict[str, str]]


def _rows() -> Table:
    """60 cases: 30 agree; `old` is right in 30 + 6 of them, `new` in 30 + 24; ann and bob differ in some."""
    rows = []
    for n in range(60):
        truth, differs = ("Yes", "No")[n % 2], n >= 30
        wrong = "No" if truth == "Yes" else "Yes"
        old = wrong if differs and n % 5 else truth
        row = [f"q{n:02d}", f"question {n}", f"answer {n}", "high" if n == 31 else "low", old]
        row += [wrong if differs and old == truth else truth, truth, wrong if n % 7 == 0 else truth, truth]
        rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "guideline.md").write_text("Is it right?", encoding="utf-8")
    (tmp_path / "manifest.yaml").write_text(MANIFEST, encoding="utf-8")
    _write(tmp_path, _rows())
    return tmp_path


def _write(folder: Path, rows: Table) -> None:
    with (folder / "cases.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)


def _change(folder: Path, change: Callable[[Table], Any]) -> None:
    rows = _rows()
    change(rows)
    _write(folder, rows)


class Ran:
    """How a command ended, and what it printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def ran(*arguments: object) -> Ran:
        code, said = 0, ""
        try:
            call_command(*map(str, arguments))
        except SystemExit as ended:
            code = int(ended.code or 0)
        except CommandError as error:
            code, said = error.returncode, str(error)
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err + said)

    return ran


def _nothing_stored() -> bool:
    models = (Project, Rubric, Mapping, CaseSet, SystemVersion, Run, Blob, Comparison, Audit, Event)
    return not any(model.objects.exists() for model in models)


def test_whole_path_ends_in_an_interval_and_anchors(folder: Path, run: Callable[..., Ran]) -> None:
    opened = run("open_audit", folder / "manifest.yaml", "--json")
    assert (opened.code, opened.err) == (0, "")
    assert opened.json["integrity"]["pairs"]["agree"] == 30
    assert {(file["what"], file["created"]) for file in opened.json["files"]} == {
        ("cases", 60),
        ("artifacts of v1", 60),
        ("judgments of baseline", 60),
        ("judgments of candidate", 60),
    }
    assert run("register", "swap-1", "--json").json["labels"] == {"agree": 25, "disagree": 20}
    taken = run("import_reviews", "swap-1", folder / "cases.csv", "--drawn-only", "--json").json
    assert (taken["not_drawn"], sum(taken["settled"].values()), taken["waiting"]) == (15, 45, 0)
    look = run("look", "swap-1", "--json")
    assert (look.code, look.json["computed"], look.json["look"]["watermark"]) == (0, 1, 45)
    interval = look.json["look"]["interval"]
    assert interval["low"] < look.json["look"]["point"] < interval["high"]
    assert 0.1 < look.json["look"]["point"] < 0.5
    status = run("status", "swap-1", "--json").json
    assert (status["progress"]["drawn"], status["progress"]["settled"], status["look_is_due"]) == (45, 45, False)
    assert run("export_anchors", "swap-1", folder / "anchors.csv", "--json").json["anchors"] == 45
    assert run("report", "swap-1", folder / "out", "--json").code == 0
    assert json.loads((folder / "out" / "report.json").read_text(encoding="utf-8"))["audit"] == "swap-1"


def test_second_opening_changes_nothing(folder: Path, run: Callable[..., Ran]) -> None:
    run("open_audit", folder / "manifest.yaml")
    again = run("open_audit", folder / "manifest.yaml", "--json")
    assert again.code == 0
    assert {(file["created"], file["duplicate"]) for file in again.json["files"]} == {(0, 60)}
    assert (Audit.objects.count(), Event.objects.filter(name="audits.audit-opened").count()) == (1, 1)


def test_all_labels_give_the_four_cells_of_a_census(folder: Path, run: Callable[..., Ran]) -> None:
    run("open_audit", folder / "manifest.yaml")
    run("register", "swap-1")
    taken = run("import_reviews", "swap-1", folder / "cases.csv", "--all", "--json").json
    assert sum(taken["settled"].values()) == 60
    status = run("status", "swap-1", "--json").json
    assert status["known_cells"] == {
        "counts": {"both": 30, "only old": 6, "only new": 24, "neither": 0},
        "known": 60,
        "eligible": 60,
        "census": True,
    }
    assert status["progress"]["labels_outside_sample"] == 15
    reviews = Review.objects.count()
    again = run("import_reviews", "swap-1", folder / "cases.csv", "--all", "--json").json
    assert (again["reviews"], again["settled"], Review.objects.count()) == (0, {}, reviews)


def test_cases_not_drawn_are_refused_by_row_and_nothing_is_stored(folder: Path, run: Callable[..., Ran]) -> None:
    run("open_audit", folder / "manifest.yaml")
    run("register", "swap-1")
    refused = run("import_reviews", "swap-1", folder / "cases.csv")
    assert refused.code == 2
    assert "15 cases were not drawn" in refused.err
    assert (Review.objects.count(), Settlement.objects.count()) == (0, 0)


def test_transitions_exit_1_where_a_blocking_slice_changed(folder: Path, run: Callable[..., Ran]) -> None:
    run("open_audit", folder / "manifest.yaml")
    changed = run("transitions", "swap-1", "--json")
    assert (changed.code, changed.json["all"]["changed"]) == (1, 30)
    assert [change["case_id"] for change in changed.json["blocking_changes"]] == ["q31"]


def test_integrity_that_fails_exits_1_and_stops_the_registration(folder: Path, run: Callable[..., Ran]) -> None:
    _change(folder, lambda rows: rows[5].update(new="Perhaps"))
    opened = run("open_audit", folder / "manifest.yaml", "--json")
    assert (opened.code, opened.json["integrity"]["failures"]) == (
        1,
        ["fail_on_unmapped_label: 1 judgments have the labels 'Perhaps'"],
    )
    assert run("integrity", "swap-1").code == 1
    assert run("register", "swap-1").code == 1
    assert Audit.objects.get().state == "draft"


def test_bad_manifest_exits_2_with_every_error_and_stores_nothing(folder: Path, run: Callable[..., Ran]) -> None:
    text = MANIFEST.replace('level: "0.95"', 'level: "1.5"').replace("policy: planned", "policy: sometimes")
    (folder / "manifest.yaml").write_text(text, encoding="utf-8")
    lines = run("open_audit", folder / "manifest.yaml")
    assert lines.code == 2
    refused = run("open_audit", folder / "manifest.yaml", "--json")
    assert refused.code == 2
    assert {error["key"] for error in refused.json["errors"]} == {"plan.level", "plan.policy"}
    assert _nothing_stored()


UNSTORABLE = {
    "project: demo": 'project: "de\\0mo"',
    "approved_by: owner": 'approved_by: "own\\0er"',
    "Yes: pass": '"Y\\0es": pass',
    "generator: {model: old}": 'generator: {model: old, settings: {stop: "\\0"}}',
    "generator: {model: new}": 'generator: {model: new, prompt_template: "\\ud800"}',
}


@pytest.mark.parametrize("place", UNSTORABLE)
def test_manifest_with_what_no_database_keeps_is_refused_by_line(
    folder: Path, run: Callable[..., Ran], place: str
) -> None:
    assert MANIFEST.count(place) == 1
    (folder / "manifest.yaml").write_text(MANIFEST.replace(place, UNSTORABLE[place]), encoding="utf-8")
    refused = run("open_audit", folder / "manifest.yaml", "--json")
    line = MANIFEST[: MANIFEST.index(place)].count("\n") + 1
    found = "U+D800" if "ud800" in UNSTORABLE[place] else "U+0000"
    assert refused.code == 2
    assert f"line {line}: a text with {found}, which cannot be stored" in [
        error["what"] for error in refused.json["errors"]
    ]
    assert _nothing_stored()


def test_guideline_with_what_no_database_keeps_is_refused(folder: Path, run: Callable[..., Ran]) -> None:
    (folder / "guideline.md").write_text("Is it\x00 right?", encoding="utf-8")
    refused = run("open_audit", folder / "manifest.yaml", "--json")
    assert (refused.code, refused.json["errors"][0]["what"]) == (2, "U+0000 at character 6 cannot be stored")
    assert _nothing_stored()


@pytest.mark.parametrize("name", ["a=b", "שלום 漢字", "x" * 100, 'it\'s "quoted"'])
def test_audit_of_any_name_is_found_by_it(folder: Path, run: Callable[..., Ran], name: str) -> None:
    text = MANIFEST.replace("swap-1", json.dumps(name, ensure_ascii=False))
    (folder / "manifest.yaml").write_text(text, encoding="utf-8")
    assert run("open_audit", folder / "manifest.yaml").code == 0
    for called in (name, f"demo/{name}"):
        assert run("status", called, "--json").json["audit"] == name


def test_name_that_two_projects_use_asks_for_the_project(folder: Path, run: Callable[..., Ran]) -> None:
    run("open_audit", folder / "manifest.yaml")
    (folder / "manifest.yaml").write_text(MANIFEST.replace("project: demo", "project: other"), encoding="utf-8")
    run("open_audit", folder / "manifest.yaml")
    both = run("status", "swap-1", "--json")
    assert (both.code, both.json["errors"][0]["allowed"]) == (2, "project/name")
    assert run("status", "other/swap-1", "--json").json["project"] == "other"


BAD_ROWS: dict[str, tuple[Callable[[Table], Any], dict[str, Any]]] = {
    "a case twice": (lambda rows: rows[3].update(id="q01"), {"row": 4, "value": "q01"}),
    "an id that cannot be seen": (lambda rows: rows[3].update(id="q\x00"), {"row": 4, "column": "id"}),
    "a blank id": (lambda rows: rows[3].update(id=" "), {"row": 4, "column": "id"}),
    "a long id": (lambda rows: rows[3].update(id="q" * 201), {"row": 4, "column": "id"}),
    "a label with NUL": (lambda rows: rows[59].update(new="Y\x00"), {"row": 60, "column": "new"}),
    "a slice on two lines": (lambda rows: rows[3].update(risk="a\nb"), {"row": 4, "column": "risk"}),
}


@pytest.mark.parametrize("fault", BAD_ROWS)
def test_bad_row_exits_2_naming_file_row_and_column_and_stores_nothing(
    folder: Path, run: Callable[..., Ran], fault: str
) -> None:
    change, expected = BAD_ROWS[fault]
    _change(folder, change)
    refused = run("open_audit", folder / "manifest.yaml", "--json")
    assert refused.code == 2
    error = refused.json["errors"][0]
    assert {name: error[name] for name in ("file", *expected)} == {"file": "cases.csv", **expected}
    assert _nothing_stored()


def test_odd_texts_come_through_whole(folder: Path, run: Callable[..., Ran]) -> None:
    texts = ["\x00", "=1+1", "a\u0085b\u2028c", "\u202eabc", "x" * 300_000, "line\nline\r\nline", "שלום 🙂", '"', "'"]

    def odd(rows: Table) -> None:
        for row, text in zip(rows, texts, strict=False):
            row.update(answer=text, question=text + "?")

    _change(folder, odd)
    assert run("open_audit", folder / "manifest.yaml").code == 0
    hashes = list(SystemVersion.objects.get().artifacts.order_by("case").values_list("output_hash", flat=True))
    stored = texts_of(project=Project.objects.get(), hashes=hashes)
    assert [stored[sha256] for sha256 in hashes[: len(texts)]] == texts


@pytest.mark.parametrize(
    "command",
    [["register"], ["extend"], ["integrity"], ["transitions"], ["look"], ["status"], ["report", "x"]],
)
def test_unknown_audit_exits_2_and_names_those_there_are(
    run: Callable[..., Ran], command: list[str], tmp_path: Path
) -> None:
    name, *rest = command
    missing = run(name, "nobody", *(str(tmp_path / one) for one in rest), "--json")
    assert missing.code == 2
    assert missing.json["errors"] == [
        {"what": "there is no audit of this name", "value": "nobody", "allowed": "none is open yet"}
    ]


@pytest.mark.parametrize("command", [["extend"], ["look"], ["export_anchors", "a.csv"]])
def test_draft_exits_1(folder: Path, run: Callable[..., Ran], command: list[str]) -> None:
    run("open_audit", folder / "manifest.yaml")
    name, *rest = command
    assert run(name, "swap-1", *(folder / one for one in rest)).code == 1


@pytest.mark.parametrize("addition", ["agree", "agree=x", "other=3", "=3", "agree=-1"])
def test_addition_that_cannot_be_read_exits_2(folder: Path, run: Callable[..., Ran], addition: str) -> None:
    run("open_audit", folder / "manifest.yaml")
    run("register", "swap-1")
    assert run("extend", "swap-1", "--add", addition).code == 2


def test_extension_adds_and_says_so(folder: Path, run: Callable[..., Ran]) -> None:
    run("open_audit", folder / "manifest.yaml")
    run("register", "swap-1")
    extended = run("extend", "swap-1", "--add", "agree=3", "--add", "disagree=2", "--add", "agree=1", "--json").json
    assert (extended["registration"], extended["added"]) == (2, {"agree": 4, "disagree": 2})
    assert run("extend", "swap-1", "--add", "agree=2").code == 2


@pytest.mark.parametrize("name", ["anchors.txt", "nowhere/anchors.csv", "folder.csv"])
def test_export_that_cannot_be_written_exits_2(folder: Path, run: Callable[..., Ran], name: str) -> None:
    (folder / "folder.csv").mkdir()
    run("open_audit", folder / "manifest.yaml")
    run("register", "swap-1")
    assert run("export_anchors", "swap-1", folder / name).code == 2


def test_judgment_of_a_case_without_artifact_stores_nothing(folder: Path, run: Callable[..., Ran]) -> None:
    (folder / "answers.csv").write_text("id,answer\n" + "".join(f"q{n:02d},a\n" for n in range(59)))
    text = MANIFEST.replace("input: question, output: answer, slices", "input: question, slices").replace(
        "  - {file: cases.csv, judgments_of: baseline",
        "  - {file: answers.csv, artifacts_of: both, join: id, roles: {output: answer}}\n"
        "  - {file: cases.csv, judgments_of: baseline",
    )
    (folder / "manifest.yaml").write_text(text, encoding="utf-8")
    refused = run("open_audit", folder / "manifest.yaml", "--json")
    assert (refused.code, [error["row"] for error in refused.json["errors"]]) == (2, [60, 60])
    assert _nothing_stored()


def test_conflict_with_what_is_stored_leaves_it_as_it_was(folder: Path, run: Callable[..., Ran]) -> None:
    run("open_audit", folder / "manifest.yaml")
    text = MANIFEST.replace("swap-1", "swap-2").replace("name: right", "name: other")
    (folder / "manifest.yaml").write_text(text, encoding="utf-8")
    _change(folder, lambda rows: rows[7].update(answer="another answer", question="another question"))
    refused = run("open_audit", folder / "manifest.yaml", "--json")
    assert (refused.code, refused.json["errors"][0]["row"]) == (2, 8)
    assert (Audit.objects.count(), Comparison.objects.count(), Run.objects.count()) == (1, 1, 2)


@pytest.mark.django_db(transaction=True)
def test_command_as_a_process_prints_one_document_and_nothing_else(folder: Path) -> None:
    environment = os.environ | {"DATABASE_URL": database_url(connection.settings_dict)}
    for arguments, code in (
        (["open_audit", str(folder / "manifest.yaml"), "--json"], 0),
        (["register", "swap-1", "--json"], 0),
        (["status", "nobody", "--json"], 2),
        (["transitions", "swap-1", "--json"], 1),
    ):
        done = subprocess.run(
            [sys.executable, "-W", "error", "manage.py", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd=Path(__file__).resolve().parents[2],
        )
        assert (done.returncode, done.stderr) == (code, "")
        assert isinstance(json.loads(done.stdout), dict)
