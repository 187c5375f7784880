"""Guesses are pure: the same files give the same manifest, which a person then changes. Figures are of small files."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from audits.forms import asked_manifest
from audits.manifest.guessing import guess_file, guess_scale
from audits.manifest.previews import Preview, manifest_text, preview_files, preview_text
from judges.intake.readers import Format
from tests.audits.sample_manifest import SWAP

GOLDEN = Path(__file__).parent / "golden"
CASES = 'id,question,answer,risk\na,who,"me, ""or"" you",high\nb,when,,low\nc,what,NA,low\n'
OLD = "id,verdict,reply\na,Yes,Yes it is\nb,No,no\nc,,I cannot tell\n"
NEW = "id,verdict,reply\nc,Maybe,Maybe\na,No,no\nb,No,no\n"
Write = Callable[..., list[Path]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(**files: str) -> list[Path]:
        for name, content in files.items():
            (tmp_path / name.replace("__", ".")).write_text(content, encoding="utf-8")
        return sorted(tmp_path.iterdir())

    return written


def looked_at(paths: list[Path], limit: int | None = None) -> Preview:
    return preview_files(paths, project="alpha", person="lea", limit=limit)


@pytest.fixture
def apart(write: Write) -> list[Path]:
    return write(a_cases__csv=CASES, b_old__csv=OLD, c_new__csv=NEW, guide__md="Is it right?")


def test_files_of_cases_and_of_two_judges_become_a_sound_manifest(apart: list[Path]) -> None:
    preview = looked_at(apart)
    assert preview.problems == ()
    assert preview.document["rubric"]["guideline"] == "guide.md"
    assert preview.document["sources"] == [
        {"file": "a_cases.csv", "roles": {"case_id": "id", "input": "question", "output": "answer"}},
        {
            "file": "b_old.csv",
            "judgments_of": "baseline",
            "join": "id",
            "roles": {"label": "verdict", "raw": "reply"},
        },
        {
            "file": "c_new.csv",
            "judgments_of": "candidate",
            "join": "id",
            "roles": {"label": "verdict", "raw": "reply"},
        },
    ]
    assert yaml.load(preview.text, Loader=yaml.BaseLoader) == preview.document


def test_first_rows_are_shown_as_they_are_read(apart: list[Path]) -> None:
    cases, old, _ = looked_at(apart).sources
    assert cases.roles == (("case_id", "id"), ("input", "question"), ("output", "answer"))
    assert cases.rows == ((1, ("a", "who", 'me, "or" you')), (2, ("b", "when", "")), (3, ("c", "what", "NA")))
    assert (old.title, old.read, old.whole, old.unparsed) == ("judgments of baseline, from b_old.csv", 3, True, 1)


def test_labels_are_counted_by_side_and_those_without_a_target_come_first(apart: list[Path]) -> None:
    text = looked_at(apart).text.replace("      Maybe: Maybe\n", "")
    (labels,) = preview_text(text, apart, limit=None).labels.values()
    assert [(label.raw, label.counts, label.target) for label in labels] == [
        ("Maybe", {"candidate": 1}, None),
        ("No", {"baseline": 1, "candidate": 2}, "No"),
        ("Yes", {"baseline": 1}, "Yes"),
    ]


def test_label_that_the_mapping_names_and_nobody_gave_is_told(
    apart: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "audit.yaml").write_text(looked_at(apart).text.replace("      Maybe: Maybe\n", "      Mabye: Maybe\n"))
    call_command("preview", *map(str, [*apart, tmp_path / "audit.yaml"]))
    out = capsys.readouterr().out
    assert "  'Maybe' (1 candidate): unmapped" in out
    assert "  'Mabye': in the mapping, and in none of these rows" in out
    assert "'Yes': in the mapping" not in out


def test_only_the_first_rows_are_looked_at_where_a_limit_says_so(apart: list[Path]) -> None:
    cases, old, _ = looked_at(apart, limit=2).sources
    assert (cases.read, cases.whole, old.labels) == (2, False, {"Yes": 1, "No": 1})
    assert looked_at(apart, limit=3).sources[0].whole


def test_part_that_cannot_be_read_says_why_and_the_others_are_shown(apart: list[Path]) -> None:
    apart[1].write_text(OLD + "d,Yes\n")
    preview = looked_at(apart)
    assert [[problem.what for problem in source.problems] for source in preview.sources] == [
        [],
        ["2 cells where the header names 3 columns"],
        [],
    ]
    text = preview.text.replace("output: answer", "output: anwser")
    cases, *_ = preview_text(text, apart, limit=None).sources
    assert [problem.what for problem in cases.problems] == [
        "the role output names a column that is not in the file; did you mean 'answer'?"
    ]
    assert cases.fields == ("id", "question", "answer", "risk")


def test_manifest_among_the_files_is_used_as_it_is_written(write: Write) -> None:
    paths = write(cases__csv="id,answer,risk,old,new,ann,bob,final\na,x,high,Yes,No,Yes,,Yes\n", audit__yaml=SWAP)
    preview = looked_at(paths)
    assert preview.text == SWAP
    assert [problem.what for problem in preview.problems] == ["not among the files"]
    assert [dict(source.labels or {}) for source in preview.sources] == [{}, {"Yes": 1}, {"No": 1}, {"Yes": 2}]


def test_nested_field_is_known_by_the_last_part_of_its_path(write: Write) -> None:
    lines = '{"meta": {"id": "x"}, "id": "a", "result": {"verdict": "Yes"}}\n'
    _, judgments = looked_at(write(a_cases__csv=CASES, old__jsonl=lines)).document["sources"]
    assert (judgments["join"], judgments["roles"]) == ("id", {"label": "result.verdict"})


GUESSES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "umbrela": (["umbrela.jsonl", "umbrela-repeat.jsonl"], {}),
    "inspect": (["inspect.json"], {}),
    "trec-qrels": (["trec-qrels.txt"], {"format": "spaces"}),
    "promptfoo": (["promptfoo.json"], {}),
    "llmbar": (["llmbar-dataset.json", "llmbar-result.json"], {}),
    "summhay": (["summhay.json"], {"rows": '"predictions_prompted_gpt3.5"'}),
}


@pytest.mark.parametrize("preset", GUESSES)
def test_files_of_a_known_tool_are_guessed_by_its_preset(preset: str) -> None:
    names, more = GUESSES[preset]
    preview = looked_at([GOLDEN / name for name in names])
    cases, judgments, *_ = preview.document["sources"]
    assert (cases["preset"], judgments["preset"], judgments["judgments_of"]) == (preset, preset, "baseline")
    assert more.items() <= (judgments | {"format": "spaces"}).items()
    assert [source.problems for source in preview.sources] == [()] * len(preview.sources)


def test_labels_of_a_judge_are_never_guessed_to_be_those_of_people() -> None:
    for name in ("inspect.json", "trec-qrels.txt", "promptfoo.json"):
        assert "reviews" not in looked_at([GOLDEN / name]).document
    assert looked_at([GOLDEN / "umbrela.jsonl"]).document["reviews"][0]["preset"] == "umbrela"


def test_table_of_pairs_is_guessed_by_its_columns() -> None:
    document = looked_at([GOLDEN / "wide-pairs.csv"]).document
    assert [entry.get("roles") for entry in document["sources"]] == [
        {"case_id": "case_id", "input": "input", "output": "output"},
        {"label": "baseline_label"},
        {"label": "candidate_label"},
    ]
    assert document["reviews"][0]["adjudicated"] == "reference"


def test_table_of_judgments_is_guessed_by_the_judges_it_names(write: Write) -> None:
    table = "case_id,output,judge,label\n" + "".join(
        f"{case},x,{judge},{label}\n"
        for case in "ab"
        for judge, label in (("gpt-4", "pass"), ("claude", "fail"), ("human", "pass"))
    )
    document = looked_at(write(long__csv=table)).document
    assert [entry.get("where") for entry in document["sources"]] == [None, {"judge": "gpt-4"}, {"judge": "claude"}]
    assert document["sources"][0]["occurrence"] == "1"
    assert (document["reviews"][0]["where"], document["reviews"][0]["adjudicated"]) == ({"judge": "human"}, "label")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"id,label\na,b\n", "csv"),
        (b"id\tlabel\na\tb\n", "tsv"),
        (b"q1 0 d1 3\n", "spaces"),
        (b'{"a": 1}\n{"a": 2}\n', "jsonl"),
        (b'[{"a": 1}]', "json"),
        (b'{\n "a": 1}\n', "json"),
        (gzip.compress(b"id,label\na,b\n", mtime=0), "csv"),
    ],
)
def test_format_is_guessed_by_content_where_the_name_does_not_say(tmp_path: Path, content: bytes, kind: Format) -> None:
    path = tmp_path / "upload"
    path.write_bytes(content)
    assert guess_file(path).format == kind


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("notes", b"# A guideline\n", "not a file of rows; allowed: csv, tsv, spaces, json, jsonl, parquet, eval"),
        ("picture", b"\x89PNG\r\n", "not a file of rows; allowed: csv, tsv, spaces, json, jsonl, parquet, eval"),
        ("old.csv", b"", "the file is empty; allowed: a header row that names each column, and data rows"),
        ("old.csv.gz", gzip.compress(OLD.encode(), mtime=0)[:-9], "the gzipped file is damaged or cut off: Compressed "
         "file ended before the end-of-stream marker was reached; allowed: a whole gzipped file"),
        ("old.json", b"[]", "there is no row with a field; allowed: rows whose fields have names"),
        ("old.jsonl", b'{"id": "\xe9"}\n', "not UTF-8 text (byte 0xE9); allowed: one JSON object per line"),
    ],
)  # fmt: skip
def test_file_that_is_left_aside_says_why_and_the_others_are_shown(
    apart: list[Path], name: str, content: bytes, why: str
) -> None:
    (odd := apart[0].parent / name).write_bytes(content)
    preview = looked_at([*apart, odd])
    assert [str(problem).removeprefix(f"{name}, row 1: ").removeprefix(f"{name}: ") for problem in preview.aside] == [
        why
    ]
    assert len(preview.sources) == 3


@pytest.mark.parametrize(
    ("labels", "scale"),
    [
        (["Yes", "No"], [{"label": "No", "value": "0"}, {"label": "Yes", "value": "1"}]),
        (["2", "0", "1"], [{"label": "0", "value": "0"}, {"label": "1", "value": "1"}, {"label": "2", "value": "2"}]),
        (["good", "bad"], [{"label": "bad"}, {"label": "good"}]),
        (["pass", "unclear"], [{"label": "pass"}, {"label": "unclear"}]),
    ],
)
def test_scale_is_guessed_with_values_only_where_all_are_known(labels: list[str], scale: list[dict[str, str]]) -> None:
    assert guess_scale(labels) == (scale, {label: label for label in sorted(labels)})


def chosen(text: str, **names: str) -> Any:
    return yaml.load(asked_manifest({"manifest": text, **names}), Loader=yaml.BaseLoader)


def test_form_that_changes_nothing_leaves_the_text_as_it_was_written() -> None:
    text = "# mine\n" + SWAP
    same = {"role:sources[0]:output": "answer", "role:sources[1]:join": "id", "role:sources[1]:raw": ""}
    assert asked_manifest({"manifest": text.replace("\n", "\r\n"), **same}) == text


def test_form_changes_roles_and_targets_in_the_manifest() -> None:
    document = chosen(
        SWAP,
        **{
            "role:sources[0]:case_id": "",
            "role:sources[0]:input": "risk",
            "role:sources[1]:join": "",
            "role:reviews[0]:adjudicated": "",
            "raw:yes-no@1:0": "Yes",
            "target:yes-no@1:0": "",
            "raw:yes-no@1:1": "Maybe",
            "target:yes-no@1:1": "fail",
            "role:sources[9]:output": "answer",
            "role:plan:seed": "2",
        },
    )
    assert document["sources"][0]["roles"]["case_id"] == {"row": "number"}
    assert document["sources"][0]["roles"]["input"] == "risk"
    assert document["sources"][1]["join"] == "row"
    assert "adjudicated" not in document["reviews"][0]
    assert document["mappings"]["yes-no@1"]["table"] == {"No": "fail", "Maybe": "fail"}
    assert document["plan"]["seed"] == "1"


def test_role_of_a_preset_is_written_only_where_it_is_changed() -> None:
    source = {"file": "a.json", "preset": "inspect", "judgments_of": "baseline"}
    text = manifest_text({"sources": [{}, source]})
    keep = {"role:sources[1]:label": "[].scores.*.value", "role:sources[1]:output": ""}
    assert chosen(text, **keep)["sources"][1] == source | {"roles": {"output": ""}}


@pytest.mark.django_db
def test_command_shows_what_it_guessed_and_writes_the_manifest(
    apart: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "mine.yaml"
    call_command("preview", *map(str, apart), "--write-manifest", str(target), "--project", "alpha")
    out = capsys.readouterr().out
    assert "sources[1]: judgments of baseline, from b_old.csv: 3 rows, 1 unparsed" in out
    assert "mapping labels@1 covers 3 of the 3 labels seen" in out
    assert "'No' (1 baseline, 2 candidate): No" in out
    call_command("open_audit", str(target), "--files", str(tmp_path), "--json")
    assert json.loads(capsys.readouterr().out)["integrity"]["cases"] == 3
    with pytest.raises(CommandError, match="is there already"):
        call_command("preview", str(apart[0]), "--write-manifest", str(target))


def test_command_ends_with_no_while_the_manifest_cannot_be_taken(
    apart: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("preview", str(apart[0]), "--json")
    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out)["problems"]
