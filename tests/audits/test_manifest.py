"""A manifest is taken whole or refused with every fault it has, each by its key, in plain words."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from audits.manifest import load_manifest
from audits.manifest.schema import SCHEMA
from core.errors import InputError
from core.identity import text_hash
from judges.intake.specs import Join, ReviewColumns, ScaleLabel
from judges.parsing import PARSERS
from tests.audits.sample_manifest import SWAP, Change, Load, changed, load, put, refusals, upgrade

__all__ = ["load"]


def test_sound_manifest_becomes_typed_specs_with_stated_defaults(load: Load) -> None:
    manifest = load(SWAP)
    assert (manifest.name, manifest.text, manifest.hash) == ("audit.yaml", SWAP, text_hash(SWAP))
    assert manifest.partition == "development"
    assert manifest.rubric.scale == (ScaleLabel("fail", 0.0), ScaleLabel("pass", 1.0))
    assert manifest.rubric.guideline == "Is it right?"
    assert manifest.mappings["yes-no@1"].table == {"Yes": "pass", "No": "fail"}
    assert [source.join for source in manifest.sources] == [Join("id"), Join("id"), Join("id")]
    assert [source.artifacts_of for source in manifest.sources] == [("baseline", "candidate"), (), ()]
    assert [(source.format, source.quoting) for source in manifest.sources] == [("csv", "minimal")] * 3
    assert manifest.reviews[0].sides == {"both": ReviewColumns({"ann": "ann", "bob": "bob"}, "final")}
    assert manifest.blocking_slices == (("risk", "high"),)
    assert (manifest.plan.level, manifest.plan.half_width, manifest.plan.agree_minimum) == (0.95, 0.05, 30)
    assert manifest.review.double_review_share == 0.15


def test_scalars_stay_the_texts_they_were_written_as(load: Load) -> None:
    text = SWAP.replace("{model: old}", "{model: No, prompt_version: 1.10, settings: {top_p: null, at: 2026-11-30}}")
    generator = load(text).sides["baseline"].generator
    assert (generator.model, generator.prompt_version) == ("No", "1.10")
    assert generator.settings == {"top_p": "null", "at": "2026-11-30"}


def test_sound_upgrade_names_sides_artifacts_and_authors(load: Load) -> None:
    manifest = load(changed(upgrade))
    assert [source.artifacts_of for source in manifest.sources] == [("baseline",), (), (), ("candidate",)]
    assert manifest.reviews[0].sides["candidate"].authors == {"ann": "new"}


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("", "not a mapping; allowed: keys and values, such as kind: judge_swap"),
        ("- a\n- b\n", "not a mapping; allowed: keys and values, such as kind: judge_swap"),
        ("a: [1\nb: 2\n", "line 2: expected ',' or ']', but got ':'"),
        ("a: &x 1\nb: *x\n", "line 1: anchors and aliases are not read; write the value out"),
        ("a: !!python/object:os.system x\n", "line 1: tags are not read"),
        ("a: " + "[" * 50 + "]" * 50, "line 1: nested too deeply"),
        ("a: " + "[" * 500_000, "line 1: nested too deeply"),
        ("a: b\n---\nc: d\n", "line 2: but found another document"),
        ("a: " + "x" * 1_000_001, "larger than a manifest may be; allowed: at most 1000000 bytes"),
    ],
)
def test_text_that_is_no_manifest_is_refused_by_line(load: Load, text: str, refusal: str) -> None:
    assert refusals(load, text) == [refusal]


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "audit.yaml"
    path.write_bytes(b"project: caf\xe9\n")
    with pytest.raises(InputError, match="not UTF-8 text at byte 12"):
        load_manifest(path)


def test_manifest_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"audit\.yaml: cannot be opened"):
        load_manifest(tmp_path / "audit.yaml")


def test_key_that_stands_twice_is_refused_with_its_line(load: Load) -> None:
    assert refusals(load, SWAP + "project: other\n") == ["project: line 45: the key stands twice"]


def test_all_problems_come_at_once_from_the_schema_and_from_the_checks(load: Load) -> None:
    def spoil(document: dict[str, Any]) -> None:
        document["plan"].update(level="1.5", half_widht="0.02", policy="montored")
        del document["plan"]["seed"]
        document["judges"]["baseline"]["reader"]["parser"] = "exact-lable@1"
        document["mappings"]["yes-no@1"]["table"]["No"] = "fial"
        document["sources"][1]["file"] = "verdicts.csv"

    found = refusals(load, changed(spoil))
    folder = found[-1].split("no such file; not ")[1].split("/verdicts.csv")[0]
    assert found == [
        "plan.seed: missing; allowed: 1 to 64 letters, digits, dots, hyphens or underscores",
        "plan.half_widht: unknown key; did you mean 'half_width'?; allowed: allocation, budget, detectable_difference, "
        "estimand, half_width, level, policy, power, predictor, seed, side, strata, target",
        "plan.policy: not an allowed value (found 'montored'); allowed: planned, monitored, anytime",
        "mappings.yes-no@1.table.No: not a label of the scale; did you mean 'fail'? (found 'fial'); "
        "allowed: fail, pass",
        "judges.baseline.reader.parser: no such parser; did you mean 'exact-label@1'? (found 'exact-lable@1'); "
        f"allowed: {', '.join(PARSERS)}",
        "plan.level: out of range (found '1.5'); allowed: above 0, below 1",
        f"sources[1].file: no such file; not {folder}/verdicts.csv (found 'verdicts.csv')",
    ]


SCHEMA_FAULTS = [
    (put("project", value=""), "project: not an allowed value (found ''); allowed: a name on one line, without a "
     "slash, without spaces at its ends, of at most 100 characters"),
    (put("project", value="a/b"), "project: not an allowed value (found 'a/b'); allowed: a name on one line, without a "
     "slash, without spaces at its ends, of at most 100 characters"),
    (put("migration_id", value="a/../b"), "migration_id: not an allowed value (found 'a/../b'); allowed: a name on one "
     "line, without spaces at its ends, not . or .. by itself or between slashes, of at most 100 characters"),
    (put("project", value=" x"), "project: not an allowed value (found ' x'); allowed: a name on one line, without a "
     "slash, without spaces at its ends, of at most 100 characters"),
    (put("case_set", value="cases"), "case_set: a text stands here (found 'cases'); allowed: a mapping"),
    (put("plan", "level", value=["0.95"]), "plan.level: a list stands here; allowed: a decimal number, such as 0.95"),
    (put("plan", "level", value="95%"), "plan.level: not an allowed value (found '95%'); allowed: a decimal number, "
     "such as 0.95"),
    (put("plan", "level", value="0.95\n"), "plan.level: not an allowed value (found '0.95\\n'); allowed: a decimal "
     "number, such as 0.95"),
    (put("plan", "strata", value={"by": "agreement", "merge_below": "0"}), "plan.strata.merge_below: not an allowed "
     "value (found '0'); allowed: a whole number from 1"),
    (put("plan", "allocation", value={"agree": "some"}), "plan.allocation.agree: not an allowed value (found 'some'); "
     "allowed: optimal, all, or a whole number from 1"),
    (put("slices", value=["risk", "risk"]), "slices: an entry stands twice; allowed: a list"),
    (put("review", value={"preserve_original_results": "false"}), "review.preserve_original_results: not an allowed "
     "value (found 'false'); allowed: true"),
    (put("sources", 0, "roles", "case_id", value={"row": "numbr"}), "sources[0].roles.case_id.row: not an allowed "
     "value (found 'numbr'); allowed: number"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "refusal"), SCHEMA_FAULTS)
def test_schema_fault_is_told_in_plain_words(load: Load, change: Change, refusal: str) -> None:
    assert refusals(load, changed(change)) == [refusal]


def test_scale_of_one_label_is_too_short(load: Load) -> None:
    found = refusals(load, changed(put("rubric", "scale", value=[{"label": "pass", "value": "1"}])))
    assert found[0] == "rubric.scale: fewer than 2 entries; allowed: a list"


def test_unusable_name_of_a_mapping_is_refused(load: Load) -> None:
    table = {"approved_by": "owner", "table": {"Yes": "pass"}}
    assert refusals(load, changed(put("mappings", "yes no", value=table))) == [
        "mappings.yes no: not a usable key; allowed: a name and a version, such as yes-no@1"
    ]


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../cases.csv", "a/../../cases.csv", "C:\\cases.csv", "..\\cases.csv", "判" * 84 + ".csv"]
)
def test_file_name_may_not_leave_the_folder(load: Load, name: str) -> None:
    (found,) = refusals(load, changed(put("sources", 1, "file", value=name)))[-1:]
    assert found.startswith("sources[1].file: a")
    assert found.endswith("allowed: a name inside the folder of the manifest or of the files")


def test_files_are_looked_for_beside_the_manifest_then_in_the_folder_of_files(tmp_path: Path) -> None:
    beside, files = tmp_path / "manifests", tmp_path / "files"
    beside.mkdir()
    files.mkdir()
    (beside / "audit.yaml").write_text(SWAP)
    (beside / "guideline.md").write_text("Is it right?")
    with pytest.raises(InputError) as caught:
        load_manifest(beside / "audit.yaml", files=files)
    assert caught.value.problems[0].what == f"no such file; neither {beside}/cases.csv nor {files}/cases.csv"
    (files / "cases.csv").write_text("id\n")
    assert load_manifest(beside / "audit.yaml", files=files).paths == {"cases.csv": files / "cases.csv"}


def test_blank_guideline_is_refused(load: Load, tmp_path: Path) -> None:
    (tmp_path / "guideline.md").write_text(" \n")
    with pytest.raises(InputError, match=r"guideline\.md, rubric\.guideline: empty"):
        load(SWAP)


def keys_of(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(keys_of, schema))
    if not isinstance(schema, dict):
        return set()
    own = set(schema["properties"]) if isinstance(schema.get("properties"), dict) else set()
    return own.union(*map(keys_of, schema.values()))


def test_every_key_parser_and_role_is_described_in_the_intake_page() -> None:
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    page = (SCHEMA.parent / "intake.md").read_text(encoding="utf-8")
    assert sorted(name for name in keys_of(schema) | set(PARSERS) if f"`{name}`" not in page) == []
