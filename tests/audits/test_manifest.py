"""A manifest is taken whole or refused with every fault it has, each by its key, in plain words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from audits.manifest import Manifest, load_manifest
from audits.manifest.schema import SCHEMA
from core.errors import InputError
from core.identity import text_hash
from judges.intake.specs import Join, ReviewColumns, ScaleLabel
from judges.parsing import PARSERS

SWAP = """\
migration_id: swap-1
project: demo
case_set: {name: cases, version: "1"}
kind: judge_swap
rubric:
  name: right
  version: "1"
  guideline: guideline.md
  scale:
    - {label: fail, value: "0"}
    - {label: pass, value: "1"}
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
    roles: {case_id: id, output: answer, slices: {risk: risk}}
  - file: cases.csv
    judgments_of: baseline
    join: id
    roles: {label: old}
  - file: cases.csv
    judgments_of: candidate
    join: id
    roles: {label: new}
reviews:
  - {file: cases.csv, join: id, mapping: yes-no@1, authors: [ann, bob], adjudicated: final}
slices: [risk]
blocking_slices: [risk=high]
plan:
  estimand: accuracy_difference
  target: pool
  level: "0.95"
  half_width: "0.05"
  policy: monitored
  seed: "1"
"""
Change = Callable[[dict[str, Any]], object]
Load = Callable[[str], Manifest]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    (tmp_path / "guideline.md").write_text("Is it right?")
    (tmp_path / "cases.csv").write_text("id,answer,risk,old,new,ann,bob,final\n")

    def loaded(text: str) -> Manifest:
        path = tmp_path / "audit.yaml"
        path.write_text(text, encoding="utf-8")
        return load_manifest(path)

    return loaded


def changed(change: Change) -> str:
    document = yaml.load(SWAP, Loader=yaml.BaseLoader)
    change(document)
    return yaml.safe_dump(document, sort_keys=False)


def refusals(load: Load, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(text)
    assert all(problem.file for problem in caught.value.problems)
    return [str(problem).removeprefix("audit.yaml, ").removeprefix("audit.yaml: ") for problem in caught.value.problems]


def upgrade(document: dict[str, Any]) -> None:
    """The same manifest as a sound version upgrade."""
    document["kind"] = "version_upgrade"
    document["judges"]["candidate"].update(system_version="v2", generator={"model": "old"})
    document["sources"][0]["artifacts_of"] = "baseline"
    document["sources"].append(
        {"file": "cases.csv", "artifacts_of": "candidate", "join": "id", "roles": {"output": "answer"}}
    )
    review = document["reviews"][0]
    del review["authors"], review["adjudicated"]
    review["sides"] = {"baseline": {"authors": {"ann": "old"}}, "candidate": {"authors": {"ann": "new"}}}
    document["plan"]["estimand"] = "success_difference"


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
        "plan.half_widht: unknown key; did you mean 'half_width'?; allowed: allocation, detectable_difference, "
        "estimand, half_width, level, policy, power, seed, side, strata, target",
        "plan.policy: not an allowed value (found 'montored'); allowed: planned, monitored, anytime",
        "mappings.yes-no@1.table.No: not a label of the scale; did you mean 'fail'? (found 'fial'); "
        "allowed: fail, pass",
        "judges.baseline.reader.parser: no such parser; did you mean 'exact-label@1'? (found 'exact-lable@1'); "
        f"allowed: {', '.join(PARSERS)}",
        "plan.level: out of range (found '1.5'); allowed: above 0, below 1",
        f"sources[1].file: no such file; not {folder}/verdicts.csv (found 'verdicts.csv')",
    ]


def put(*path: str | int, value: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        place: Any = document
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value

    return change


def drop(*path: str | int) -> Change:
    def change(document: dict[str, Any]) -> None:
        place: Any = document
        for part in path[:-1]:
            place = place[part]
        del place[path[-1]]

    return change


SCHEMA_FAULTS = [
    (put("project", value=""), "project: not an allowed value (found ''); allowed: a name on one line, without spaces "
     "at its ends, of at most 100 characters"),
    (put("project", value=" x"), "project: not an allowed value (found ' x'); allowed: a name on one line, without "
     "spaces at its ends, of at most 100 characters"),
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


FIT_FAULTS = [
    (put("rubric", "scale", 1, "label", value="fail"), "rubric.scale[1].label: a label stands twice on the scale "
     "(found 'fail')"),
    (put("judges", "candidate", "system_version", value="v2"), "judges: both the judge and the system differ; nobody "
     "could say what moved; allowed: two judges on one system version, or one judge on two"),
    (put("judges", "candidate", "generator", "model", value="old"), "judges: the two sides are the same; there is "
     "nothing to compare"),
    (put("judges", "candidate", "reader", "mapping", value="yes-no@2"), "judges.candidate.reader.mapping: no such "
     "mapping; did you mean 'yes-no@1'? (found 'yes-no@2'); allowed: yes-no@1"),
    (put("reviews", 0, "mapping", value="grades@1"), "reviews[0].mapping: no such mapping (found 'grades@1'); allowed: "
     "yes-no@1"),
    (put("plan", "estimand", value="success_difference"), "plan.estimand: not an estimand of a judge_swap (found "
     "'success_difference'); allowed: success_rate, accuracy, accuracy_difference, four_cells, regression_share, "
     "independence_ratio"),
    (put("plan", "estimand", value="accuracy"), "plan.side: missing; accuracy is about one side; allowed: baseline, "
     "candidate"),
    (put("plan", "side", value="baseline"), "plan.side: accuracy_difference has no side; only these have (found "
     "'baseline'); allowed: success_rate, accuracy"),
    (put("plan", "half_width", value="0"), "plan.half_width: out of range (found '0'); allowed: above 0, to 1"),
    (put("plan", "power", value="1"), "plan.power: out of range (found '1'); allowed: above 0, below 1"),
    (put("review", value={"double_review_share": "1.2"}), "review.double_review_share: out of range (found '1.2'); "
     "allowed: from 0, to 1"),
    (drop("plan", "half_width"), "plan.half_width: missing; the policy monitored needs it; allowed: such as 0.05"),
    (put("blocking_slices", value=["locale=de"]), "blocking_slices[0]: not one of the slices (found 'locale=de'); "
     "allowed: risk"),
    (put("slices", value=["risk", "locale"]), "slices[1]: no column gives this slice (found 'locale'); allowed: "
     "length_band, risk"),
    (put("plan", "strata", value={"by": "agreement", "slices": ["topic"]}), "plan.strata.slices[0]: not one of the "
     "slices (found 'topic'); allowed: risk"),
    (put("cutover", value={"gate": [{"rule": "unparsed_rate_at_most"}]}), "cutover.gate[0].value: missing; the rule "
     "unparsed_rate_at_most needs it; allowed: such as 0.01"),
    (drop("sources", 0, "roles", "case_id"), "sources[0].roles.case_id: missing; the first source defines the cases; "
     "allowed: a column, or {row: number}"),
    (drop("sources", 1, "join"), "sources[1].join: missing; allowed: row, or the column that holds the case id"),
    (put("sources", 1, "roles", value={"output": "answer"}), "sources[1].roles: judgments need a label, a raw "
     "response, or both; allowed: label, raw"),
    (put("sources", 2, "roles", "case_id", value="id"), "sources[2].roles.case_id: only the first source, which "
     "defines the cases, has this role"),
    (put("sources", 0, "roles", "label", value="old"), "sources[0].roles.label: only a source with judgments_of has "
     "this role"),
    (put("sources", 2, "judgments_of", value="baseline"), "sources: the baseline side needs exactly one source of "
     "judgments, and has sources[1], sources[2]; allowed: one source with judgments_of: baseline"),
    (put("sources", 0, "artifacts_of", value="baseline"), "sources: the candidate side needs exactly one source of "
     "artifacts, and has none; allowed: one source with artifacts_of: candidate"),
    (put("reviews", 0, "sides", value={"baseline": {"adjudicated": "final"}}), "reviews[0].sides: in a judge swap both "
     "judges look at one artifact; name authors and adjudicated without sides"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "refusal"), FIT_FAULTS)
def test_part_that_does_not_fit_is_refused_by_its_key(load: Load, change: Change, refusal: str) -> None:
    assert refusal in refusals(load, changed(change))


def test_swap_with_two_systems_is_told_that_it_is_an_upgrade(load: Load) -> None:
    def change(document: dict[str, Any]) -> None:
        document["judges"]["candidate"].update(system_version="v2", generator={"model": "old"})

    assert refusals(load, changed(change)) == [
        "kind: a judge swap needs one system version and two judges (found 'judge_swap'); "
        "allowed: version_upgrade, for these sides"
    ]


def test_another_reader_alone_makes_another_judge(load: Load) -> None:
    def change(document: dict[str, Any]) -> None:
        document["judges"]["candidate"]["generator"] = {"model": "old"}
        document["judges"]["candidate"]["reader"]["parser"] = "first-line-label@1"

    assert load(changed(change)).sides["candidate"].reader.parser == "first-line-label@1"


def test_upgrade_needs_outputs_and_labels_of_each_side(load: Load) -> None:
    def change(document: dict[str, Any]) -> None:
        upgrade(document)
        del document["sources"][0]["artifacts_of"], document["sources"][3]
        document["reviews"][0] = {"file": "cases.csv", "join": "id", "mapping": "yes-no@1", "adjudicated": "final"}

    assert refusals(load, changed(change)) == [
        "sources[0].artifacts_of: in a version upgrade each side has outputs of its own (found 'both'); "
        "allowed: baseline, candidate",
        "reviews[0].adjudicated: in a version upgrade the labels are about one side; name them under sides; "
        "allowed: sides: {baseline: …, candidate: …}",
    ]


def test_success_estimand_needs_a_value_for_every_label(load: Load) -> None:
    def change(document: dict[str, Any]) -> None:
        upgrade(document)
        document["rubric"]["scale"].append({"label": "review"})

    assert refusals(load, changed(change)) == [
        "rubric.scale: success_difference needs a value for every label; without one: review; "
        "allowed: what each label counts as, such as value: 1"
    ]


def test_nominal_scale_is_enough_for_a_swap(load: Load) -> None:
    text = SWAP.replace(', value: "0"', "").replace(', value: "1"', "")
    assert [label.value for label in load(text).rubric.scale] == [None, None]


def test_planned_policy_may_go_without_a_width_where_the_numbers_are_given(load: Load) -> None:
    def change(document: dict[str, Any]) -> None:
        del document["plan"]["half_width"]
        document["plan"].update(policy="planned", allocation={"disagree": "all", "agree": "40"})

    assert load(changed(change)).plan.allocation == {"disagree": "all", "agree": 40}


@pytest.mark.parametrize("name", ["/etc/passwd", "../cases.csv", "a/../../cases.csv", "C:\\cases.csv", "..\\cases.csv"])
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
