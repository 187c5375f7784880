"""Taking in the good rows: a refused row takes its case with it out of every file, and stands in a file of its own."""

import csv
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from audits.manifest import load_manifest
from audits.manifest.refusals import find_refusals
from audits.models import Audit
from audits.services.opening import audit_open
from core.errors import InputError
from core.models import Project
from core.services import operator_of, project_ensure
from judges.intake import problems
from judges.models import Artifact, Case, CaseSet, Judgment
from tests.audits.sample_manifest import SWAP
from tests.factories import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.database]

CASES = ["c1", "c2", "c3", "c4", "c5", "c6"]
HEADER = {"cases.csv": "id,answer,risk", "old.csv": "id,label,confidence", "new.csv": "id,label,confidence"}
ROW = {"cases.csv": "{},It is so.,high", "old.csv": "{},Yes,0.9", "new.csv": "{},No,0.8"}


@pytest.fixture
def project(db: None) -> Project:
    return project_ensure(name="demo", now=NOW)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sound swap of six cases in three files."""
    document = yaml.load(SWAP, Loader=yaml.BaseLoader)
    old, new = document["sources"][1:]
    old.update(file="old.csv", roles={"label": "label", "score": "confidence"})
    new.update(file="new.csv", roles={"label": "label", "score": "confidence"})
    del document["reviews"]
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    (tmp_path / "guideline.md").write_text("Is it right?")
    for name, header in HEADER.items():
        (tmp_path / name).write_text("\n".join([header, *(ROW[name].format(case) for case in CASES)]) + "\n")
    return tmp_path


def spoil(folder: Path, name: str, case_id: str, row: str) -> None:
    lines = (folder / name).read_text().splitlines()
    place = next(place for place, line in enumerate(lines) if line.startswith(f"{case_id},"))
    (folder / name).write_text("\n".join([*lines[:place], *([row] if row else []), *lines[place + 1 :]]) + "\n")


def edit(folder: Path, **sources: dict[int, dict[str, Any]]) -> None:
    document = yaml.load((folder / "audit.yaml").read_text(), Loader=yaml.BaseLoader)
    for place, change in sources["sources"].items():
        document["sources"][place].update(change)
    (folder / "audit.yaml").write_text(yaml.safe_dump(document, sort_keys=False))


def open_good(folder: Path) -> list[dict[str, str]]:
    """The rows of the file that the command leaves."""
    call_command("open_audit", folder / "audit.yaml", good_rows=folder / "refused.csv")
    with (folder / "refused.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def taken() -> dict[str, list[str]]:
    """The cases that there are, that have an artifact, and that each judge judged."""
    return {
        "cases": list(Case.objects.order_by("case_id").values_list("case_id", flat=True)),
        "artifacts": list(Artifact.objects.order_by("case__case_id").values_list("case__case_id", flat=True)),
        **{
            model: list(
                Judgment.objects.filter(run__generator__content__model=model)
                .order_by("artifact__case__case_id")
                .values_list("artifact__case__case_id", flat=True)
            )
            for model in ("old", "new")
        },
    }


def everywhere(*cases: str) -> dict[str, list[str]]:
    return {name: list(cases) for name in ("cases", "artifacts", "old", "new")}


def test_one_refused_row_refuses_all_where_nothing_else_is_chosen(project: Project, folder: Path) -> None:
    """BEHAVIOUR 27."""
    spoil(folder, "new.csv", "c3", "c3,No,high")
    with pytest.raises(CommandError, match=r"new.csv, row 3, column confidence: a score that is no finite number"):
        call_command("open_audit", folder / "audit.yaml")
    assert not CaseSet.objects.exists()


def test_case_with_a_refused_row_is_left_out_of_every_file_and_the_row_is_told(project: Project, folder: Path) -> None:
    """BEHAVIOUR 27."""
    spoil(folder, "new.csv", "c3", "c3,No,=high")
    spoil(folder, "cases.csv", "c5", "c5,It is so.,\u200b")
    assert open_good(folder) == [
        {
            "file": "cases.csv",
            "row": "5",
            "column": "risk",
            "value": "\u200b",
            "why": "a character that cannot be seen",
            "accepted": "a name on one line",
        },
        {
            "file": "new.csv",
            "row": "3",
            "column": "confidence",
            "value": "'=high",  # which a spreadsheet would run
            "why": "a score that is no finite number",
            "accepted": "a number such as 0.85, or nothing",
        },
    ]
    assert taken() == everywhere("c1", "c2", "c4", "c6")


def test_integrity_report_says_how_many_rows_were_left_out(
    project: Project, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(folder, "new.csv", "c3", "c3,No,high")
    open_good(folder)
    assert "WARNING 1 row was refused and left out of this audit, and 1 case with it" in capsys.readouterr().out
    integrity = Audit.objects.get().comparison.summary.integrity
    assert integrity["recorded"]["refused"] == {"rows": 1, "cases": 1}
    assert [(one["file"], one["rows"], one["taken"], one["left_out"]) for one in integrity["recorded"]["files"]] == [
        ("cases.csv", 6, 5, 1),
        ("cases.csv", 6, 5, 1),
        ("old.csv", 6, 5, 1),
        ("new.csv", 6, 5, 1),
    ]


def test_row_that_names_no_case_is_left_out_by_itself(project: Project, folder: Path) -> None:
    spoil(folder, "old.csv", "c2", "c2,Yes")
    spoil(folder, "new.csv", "c4", "c44,No,0.8")
    assert [(row["file"], row["row"], row["why"]) for row in open_good(folder)] == [
        ("old.csv", "2", "2 cells where the header names 3 columns"),
        ("new.csv", "4", "no case has this id"),
    ]
    assert taken() == everywhere(*CASES) | {
        "old": ["c1", "c3", "c4", "c5", "c6"],
        "new": ["c1", "c2", "c3", "c5", "c6"],
    }


def test_case_whose_rows_contradict_each_other_is_left_out(project: Project, folder: Path) -> None:
    spoil(folder, "old.csv", "c2", "c2,Yes,0.9\nc2,No,0.9")
    spoil(folder, "cases.csv", "c6", "c6,It is so.,high\nc6,It is not.,high")
    assert [(row["file"], row["row"], row["why"].partition(",")[0]) for row in open_good(folder)] == [
        ("cases.csv", "7", "the case id stands in row 6 already"),
        ("cases.csv", "7", "a second artifact for this case"),
        ("old.csv", "3", "a second judgment for this case"),
    ]
    assert taken() == everywhere("c1", "c3", "c4", "c5")


def test_judgment_without_an_artifact_takes_its_case_out(project: Project, folder: Path) -> None:
    (folder / "outputs.csv").write_text("id,answer\n" + "".join(f"{case},so\n" for case in CASES if case != "c4"))
    document = yaml.load((folder / "audit.yaml").read_text(), Loader=yaml.BaseLoader)
    del document["sources"][0]["roles"]["output"]
    document["sources"][0]["roles"]["case_id"] = "id"
    document["sources"][0].pop("artifacts_of", None)
    document["slices"] = ["risk"]
    document["kind"] = "judge_swap"
    document["sources"].append(
        {"file": "outputs.csv", "join": "id", "artifacts_of": "both", "roles": {"output": "answer"}}
    )
    (folder / "audit.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    rows = open_good(folder)
    assert [(row["file"], row["row"], row["value"]) for row in rows] == [("old.csv", "4", "c4")]
    assert rows[0]["why"] == "a judgment of a case for which v1 has no artifact"
    assert taken() == everywhere("c1", "c2", "c3", "c5", "c6")


@pytest.mark.parametrize(
    ("name", "case_id", "row", "kept"),
    [
        ("cases.csv", "c2", "c2,so", ["c1", "c3", "c4", "c5", "c6"]),
        ("cases.csv", "c6", "c6,so", ["c1", "c2", "c3", "c4", "c5"]),
        ("cases.csv", "c6", "c6,so,\u200b", ["c1", "c2", "c3", "c4", "c5"]),
        ("old.csv", "c6", "c6,Yes,x", ["c1", "c2", "c3", "c4", "c5"]),
        ("old.csv", "c1", "c1,Yes,x", ["c2", "c3", "c4", "c5", "c6"]),
    ],
)
def test_files_joined_by_row_stay_in_step(
    project: Project, folder: Path, name: str, case_id: str, row: str, kept: list[str]
) -> None:
    """The ids of the judges' rows are not read: each says which case the row was about all the same."""
    edit(folder, sources={1: {"join": "row"}, 2: {"join": "row"}})
    for place, case in enumerate(CASES):
        spoil(folder, "old.csv", case, f"{case},{'Yes' if place % 2 else 'No'},0.{place + 1}")
    spoil(folder, name, case_id, row)
    assert len(open_good(folder)) == 1
    assert taken() == everywhere(*kept)
    old = Judgment.objects.filter(run__generator__content__model="old")
    scores = dict(old.values_list("artifact__case__case_id", "score"))
    assert scores == {case: (CASES.index(case) + 1) / 10 for case in kept}


def test_row_that_cannot_be_read_keeps_the_place_of_the_last_row(project: Project, folder: Path) -> None:
    edit(folder, sources={1: {"join": "row"}, 2: {"join": "row"}})
    spoil(folder, "old.csv", "c6", "c6,Yes")
    assert len(open_good(folder)) == 1
    assert taken() == everywhere(*CASES) | {"old": ["c1", "c2", "c3", "c4", "c5"]}


def test_unreadable_json_line_keeps_its_number(project: Project, folder: Path) -> None:
    lines = [f'{{"label": "Yes", "confidence": 0.{n}}}' for n in range(1, 7)]
    (folder / "old.jsonl").write_text("\n".join([*lines[:2], "{cut", *lines[3:]]) + "\n")
    edit(folder, sources={1: {"join": "row", "file": "old.jsonl"}})
    assert [(row["file"], row["row"]) for row in open_good(folder)] == [("old.jsonl", "3")]
    assert taken()["old"] == ["c1", "c2", "c4", "c5", "c6"]
    assert Judgment.objects.get(artifact__case__case_id="c4", score__lt=0.7).score == 0.4


def test_unreadable_row_among_counted_ones_refuses_all(project: Project, folder: Path) -> None:
    """The second row about a case would pass for the first."""
    edit(folder, sources={1: {"occurrence": "1"}})
    spoil(folder, "old.csv", "c2", "c2,Yes\nc2,No,0.9")
    with pytest.raises(CommandError, match=r"old.csv, row 2: 2 cells where the header names 3 columns"):
        open_good(folder)
    assert not CaseSet.objects.exists()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("new.csv", "id,verdict,confidence\nc1,No,0.8\n", "the role label names a column that is not in the file"),
        ("new.csv", 'id,label,confidence\nc1,"No,0.8\n', "a quote opened on line 2 is never closed"),
        ("new.csv", "", "the file is empty"),
        ("cases.csv", "id,answer,risk\nc1,so\n", "there is no data row"),
        ("cases.csv", "id,answer,risk\nc1,so,\u200b\n", "no case is left of which every row is good"),
    ],
)
def test_fault_of_a_whole_file_refuses_all(project: Project, folder: Path, name: str, content: str, told: str) -> None:
    (folder / name).write_text(content)
    with pytest.raises(CommandError, match=told):
        open_good(folder)
    assert not CaseSet.objects.exists()
    assert not (folder / "refused.csv").exists()


def test_more_refused_rows_than_a_list_may_hold_refuse_all(
    project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(problems, "MOST_REFUSED", 1)
    for case in ("c1", "c2"):
        spoil(folder, "new.csv", case, f"{case},No,x")
    with pytest.raises(CommandError, match="more than 1 rows are refused"):
        open_good(folder)


def test_conflict_with_what_is_stored_still_refuses_all(project: Project, folder: Path) -> None:
    spoil(folder, "new.csv", "c3", "c3,No,high")
    open_good(folder)
    spoil(folder, "cases.csv", "c1", "c1,It is otherwise.,high")
    with pytest.raises(CommandError, match=r"holds case c1 with other content \(stored [0-9a-f]{12}, given"):
        open_good(folder)


def test_same_files_again_change_nothing(project: Project, folder: Path) -> None:
    spoil(folder, "new.csv", "c3", "c3,No,high")
    first, before = open_good(folder), taken()
    assert (open_good(folder), taken()) == (first, before)


def test_refusals_that_are_told_cover_no_other_row(project: Project, folder: Path) -> None:
    """A file that changed between the two readings is not taken for the one that was checked."""
    spoil(folder, "new.csv", "c3", "c3,No,high")
    manifest = load_manifest(folder / "audit.yaml")
    refusals = find_refusals(manifest)
    spoil(folder, "new.csv", "c4", "c4,No,low")
    with pytest.raises(InputError) as caught:
        audit_open(manifest=manifest, actor=operator_of(project), now=NOW, refusals=refusals)
    assert [(problem.row, problem.value) for problem in caught.value.problems] == [(4, "low")]
