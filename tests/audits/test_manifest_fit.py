"""Parts of a manifest that are each sound, and do not fit together."""

import json
from typing import Any

import pytest

from audits.manifest.schema import SCHEMA
from audits.stats.estimands import ESTIMANDS
from tests.audits.sample_manifest import SWAP, Change, Load, changed, drop, load, put, refusals, upgrade

__all__ = ["load"]


def record(**keys: Any) -> Change:
    """The first judgments as a file of records, with these keys."""

    def change(document: dict[str, Any]) -> None:
        document["sources"][1].update({"format": "jsonl", **keys})

    return change


FIT_FAULTS = [
    (put("rubric", "scale", 1, "label", value="fail"), "rubric.scale[1].label: a label stands twice on the scale "
     "(found 'fail')"),
    (put("judges", "candidate", "system_version", value="v2"), "judges: both the judge and the system differ; nobody "
     "could say what moved; allowed: two judges on one system version, or one judge on two"),
    (put("judges", "candidate", "generator", "model", value="old"), "judges: the two sides are the same; there is "
     "nothing to compare"),
    (put("judges", "candidate", "reader", "parser", value="regex@1"), "judges.candidate.reader.pattern: missing; the "
     "parser regex@1 needs it"),
    (put("judges", "candidate", "reader", "field", value="label"), "judges.candidate.reader.field: the parser "
     "exact-label@1 has none (found 'label')"),
    (put("judges", "candidate", "reader", value={"parser": "regex@1", "pattern": "(", "mapping": "yes-no@1"}),
     "judges.candidate.reader.pattern: no pattern of RE2: missing ): ( (found '(')"),
    (put("judges", "candidate", "pipelines", value=["nightly"]), "judges.candidate.pipelines: a source of this side's "
     "judgments does not say by which pipeline they were made; allowed: the role provenance.pipeline in each source of "
     "this side's judgments"),
    (put("judges", "candidate", "reader", "mapping", value="yes-no@2"), "judges.candidate.reader.mapping: no such "
     "mapping; did you mean 'yes-no@1'? (found 'yes-no@2'); allowed: yes-no@1"),
    (put("reviews", 0, "mapping", value="grades@1"), "reviews[0].mapping: no such mapping (found 'grades@1'); allowed: "
     "yes-no@1"),
    (put("plan", "estimand", value="success_difference"), "plan.estimand: not an estimand of a judge_swap (found "
     "'success_difference'); allowed: accuracy_difference, success_rate, accuracy"),
    (put("plan", "estimand", value="accuracy"), "plan.side: missing; accuracy is about one side; allowed: baseline, "
     "candidate"),
    (put("plan", "side", value="baseline"), "plan.side: accuracy_difference has no side; only these have (found "
     "'baseline'); allowed: success_rate, accuracy"),
    (put("plan", "half_width", value="0"), "plan.half_width: out of range (found '0'); allowed: above 0, to 1"),
    (put("plan", "power", value="1"), "plan.power: out of range (found '1'); allowed: above 0, below 1"),
    (put("review", value={"double_review_share": "1.2"}), "review.double_review_share: out of range (found '1.2'); "
     "allowed: from 0, to 1"),
    (put("review", value={"double_review_slices": {"risk=high": "2"}}), "review.double_review_slices.risk=high: out of "
     "range (found '2'); allowed: from 0, to 1"),
    (put("review", value={"double_review_slices": {"locale=de": "1"}}), "review.double_review_slices.locale=de: not "
     "one of the slices (found 'locale=de'); allowed: risk"),
    (drop("plan", "half_width"), "plan.half_width: missing; the policy monitored needs it; allowed: such as 0.05"),
    (put("blocking_slices", value=["locale=de"]), "blocking_slices[0]: not one of the slices (found 'locale=de'); "
     "allowed: risk"),
    (put("slices", value=["risk", "locale"]), "slices[1]: no column gives this slice (found 'locale'); allowed: "
     "length_band, risk"),
    (put("plan", "strata", value={"by": "agreement", "slices": ["topic"]}), "plan.strata.slices[0]: not one of the "
     "slices (found 'topic'); allowed: risk"),
    (put("cutover", value={"gate": [{"rule": "unparsed_rate_at_most"}]}), "cutover.gate[0].value: missing; the rule "
     "unparsed_rate_at_most needs it; allowed: such as 0.01"),
    (put("cutover", value={"release_owner": "ann"}), "partitions.holdout: missing; a cutover names the holdout that it "
     "is decided on; allowed: the name and version of a case set, such as cases-1"),
    (put("partition", value="holdout"), "partitions.holdout: missing; the pool is a holdout; allowed: cases-1"),
    (put("partitions", value={"development": "cases-2"}), "partitions.development: the development pool of this "
     "manifest comes from another case set (found 'cases-2'); allowed: cases-1"),
    (drop("sources", 0, "roles", "case_id"), "sources[0].roles.case_id: missing; the first source defines the cases; "
     "allowed: a column, or {row: number}"),
    (drop("sources", 1, "join"), "sources[1].join: missing; allowed: row, or the column or columns that hold "
     "the case id"),
    (put("sources", 1, "roles", value={"output": "answer"}), "sources[1].roles: judgments need a label, a raw "
     "response, or both; allowed: label, raw"),
    (put("sources", 2, "roles", "case_id", value="id"), "sources[2].roles.case_id: only the first source, which "
     "defines the cases, has this role"),
    (put("sources", 1, "rows", value="a"), "sources[1].rows: a file of format csv has none; allowed: for json, jsonl, "
     "parquet, eval"),
    (record(quoting="none"), "sources[1].quoting: a file of format jsonl has none; allowed: for csv, tsv"),
    (record(columns=["id"]), "sources[1].columns: a file of format jsonl has none; allowed: for csv, tsv, spaces"),
    (record(roles={"label": "[].label"}), "sources[1].roles.label: [] is the element that makes a row, and no rows are "
     "named (found '[].label'); allowed: rows: the path of a list"),
    (record(join=["id", "[].n"]), "sources[1].join: [] is the element that makes a row, and no rows are named (found "
     "'[].n'); allowed: rows: the path of a list"),
    (record(where={"a..b": "1"}), "sources[1].where: 'a..b' is no path at '..b'; allowed: such as response.output or "
     "items[0].text"),
    (record(join="row", where={"judge": "old"}), "sources[1].join: chosen rows are not the same rows as the cases, so "
     "they cannot be joined by row (found 'row'); allowed: the column or columns that hold the case id"),
    (
        put("sources", 1, value={"file": "cases.csv", "join": "id", "roles": {}, "occurrence": "1"}),
        "sources[1].occurrence: only cases and judgments are chosen by it",
    ),
    (put("sources", 1, "file", value="notes.txt"), "sources[1].format: missing, and 'notes.txt' does not say; allowed: "
     "csv, tsv, spaces, json, jsonl, parquet, eval"),
    (put("sources", 0, "roles", "label", value="old"), "sources[0].roles.label: only a source with judgments_of has "
     "this role"),
    (put("sources", 0, "roles", "score", value="old"), "sources[0].roles.score: only a source with judgments_of has "
     "this role"),
    (put("plan", "predictor", value="score"), "plan.predictor: the judgments of baseline have no score (found "
     "'score'); allowed: cells, or a column as roles.score of those judgments"),
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


def test_schema_allows_exactly_the_estimands_that_an_audit_can_be_sized_for() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))

    assert sorted(schema["$defs"]["plan"]["properties"]["estimand"]["enum"]) == sorted(ESTIMANDS)


@pytest.mark.parametrize("policy", ["planned", "monitored", "anytime"])
@pytest.mark.parametrize(
    ("kind", "estimand", "side"),
    [
        (kind, one.key, side)
        for one in ESTIMANDS.values()
        for kind in one.kinds
        for side in (("baseline", "candidate") if one.sided else (None,))
    ],
)
def test_manifest_may_plan_every_estimand_of_its_kind(
    load: Load, kind: str, estimand: str, side: str | None, policy: str
) -> None:
    def change(document: dict[str, Any]) -> None:
        if kind == "version_upgrade":
            upgrade(document)
        document["plan"].update(estimand=estimand, policy=policy, **({"side": side} if side else {}))

    plan = load(changed(change)).plan

    assert (plan.estimand, plan.side, plan.policy) == (estimand, side, policy)


def test_cutover_names_a_holdout_in_another_set_and_a_holdout_pool_names_its_own(load: Load) -> None:
    cutover = changed(put("cutover", value={"release_owner": "ann"}))
    assert load(cutover + "partitions: {holdout: nq301-holdout-1}\n").partitions == {"holdout": "nq301-holdout-1"}
    pool = changed(put("partition", value="holdout"))
    assert load(pool + "partitions: {holdout: cases-1, development: cases-1}\n").partition == "holdout"
