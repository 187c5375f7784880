"""A manifest may name further runs of a side: repeats, order probes, evidence probes; each in a file of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from audits.exports.comparison import integrity_warnings
from audits.manifest import load_manifest
from audits.services.opening import audit_open
from core.errors import InputError
from core.models import Project
from core.services import operator_of
from judges.models import Comparison, ComparisonRun, Run
from tests import factories
from tests.audits.sample_manifest import SWAP, Change, Load, changed, load, refusals
from tests.factories import NOW

__all__ = ["load"]

pytestmark = [pytest.mark.database, pytest.mark.django_db]

SWAPPED = {"approved_by": "owner", "table": {"Yes": "fail", "No": "pass"}}
Open = Callable[..., Comparison]


def _source(**more: Any) -> dict[str, Any]:
    return {"file": "cases.csv", "judgments_of": "candidate", "join": "id", "roles": {"label": "new"}} | more


def _with(*sources: dict[str, Any], **judge: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["sources"] += sources
        document["judges"]["candidate"] |= judge
        document["mappings"]["swapped@1"] = SWAPPED

    return change


def test_run_order_and_evidence_say_what_a_further_run_is(load: Load) -> None:
    manifest = load(
        changed(
            _with(
                _source(run="3"),
                _source(presentation_order="swapped", mapping="swapped@1"),
                _source(evidence_probe="without the final message"),
                _source(judgments_of="baseline", run="2"),
            )
        )
    )
    found = [
        (one.side, one.role, one.spec.run, one.spec.presentation_order, one.spec.packaging, one.spec.reader.mapping)
        for one in manifest.further_runs
    ]
    assert found == [
        ("candidate", "repeat", 3, "as given", "as given", "yes-no@1"),
        ("candidate", "order probe", 4, "swapped", "as given", "swapped@1"),
        ("candidate", "evidence probe", 5, "as given", "without the final message", "yes-no@1"),
        ("baseline", "repeat", 2, "as given", "as given", "yes-no@1"),
    ]
    assert (manifest.source_of("baseline").label, manifest.source_of("candidate").label) == ("old", "new")


def test_source_with_the_side_s_own_run_and_order_is_the_compared_one(load: Load) -> None:
    def change(document: dict[str, Any]) -> None:
        document["judges"]["candidate"] |= {"run": "2", "presentation_order": "a first"}
        document["sources"][2] |= {"run": "2", "presentation_order": "a first"}

    assert load(changed(change)).further_runs == ()


@pytest.mark.parametrize(
    ("source", "refusal"),
    [
        (
            _source(presentation_order="swapped"),
            "sources[3].mapping: missing; in another order a label may mean another output, so its mapping is said, be "
            "it the side's own; allowed: yes-no@1, swapped@1",
        ),
        (
            _source(run="2", mapping="swapped@1"),
            "sources[3].mapping: only an order probe has a mapping of its own; any other run is read by its side's "
            "reader (found 'swapped@1')",
        ),
        (
            _source(evidence_probe="bare", presentation_order="swapped"),
            "sources[3].presentation_order: a probe changes one thing; this one changes the evidence and the order "
            "(found 'swapped')",
        ),
        (
            _source(evidence_probe="as given"),
            "sources[3].evidence_probe: the name of the packaging that is compared (found 'as given'); allowed: "
            "another name",
        ),
        (
            _source(evidence_probe="bare", run="1"),
            "sources[3].run: this number is that of the side's own run; each run of a side has one of its own (found "
            "'1')",
        ),
        (
            _source(),
            "sources: the candidate side needs exactly one source of judgments, and has sources[2], sources[3]; "
            "allowed: one source with judgments_of: candidate",
        ),
        (
            {"file": "cases.csv", "join": "id", "roles": {"output": "answer"}, "artifacts_of": "both", "run": "2"},
            "sources[3].run: only a source with judgments_of has this key",
        ),
    ],
)
def test_further_run_that_does_not_fit_is_refused(load: Load, source: dict[str, Any], refusal: str) -> None:
    assert refusal in refusals(load, changed(_with(source)))


def test_two_runs_of_a_side_cannot_share_a_number(load: Load) -> None:
    assert refusals(load, changed(_with(_source(run="2"), _source(run="2")))) == [
        "sources[4].run: this number is that of sources[3]; each run of a side has one of its own (found '2')"
    ]


COLUMNS = "id,answer,risk,old,new,again,swapped,model\n"
ROWS = [
    "q1,one,high,Yes,Yes,Yes,No,gpt-4",
    "q2,two,low,Yes,No,Yes,Yes,gpt-4",
    "q3,three,low,No,No,No,No,gpt-4",
]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project("demo")


@pytest.fixture
def opened(project: Project, tmp_path: Path) -> Open:
    (tmp_path / "guideline.md").write_text("Is it right?")
    (tmp_path / "cases.csv").write_text(COLUMNS + "\n".join(ROWS) + "\n")

    def opens(change: Change) -> Comparison:
        document = yaml.load(SWAP, Loader=yaml.BaseLoader)
        del document["reviews"]
        change(document)
        (tmp_path / "audit.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
        manifest = load_manifest(tmp_path / "audit.yaml")
        return audit_open(manifest=manifest, actor=operator_of(project), now=NOW).audit.comparison

    return opens


def _probed(document: dict[str, Any]) -> None:
    _with(
        _source(run="2", roles={"label": "again"}),
        _source(presentation_order="swapped", mapping="swapped@1", roles={"label": "swapped"}),
    )(document)
    document["repeats"] = {"summary": "first", "selective": "leave_out"}


def test_further_runs_are_loaded_read_and_counted_and_no_pair_sees_them(opened: Open) -> None:
    comparison = opened(_probed)
    assert [(one.side, one.role, one.run.ordinal) for one in comparison.further_runs.order_by("pk")] == [
        ("new", "repeat", 2),
        ("new", "order probe", 3),
    ]
    report, summary = comparison.summary.stability, comparison.summary
    assert (summary.integrity["pairs"]["disagree"], summary.integrity["eligible"]) == (1, 3)
    assert report["summary_rule"] == "first"
    assert report["sides"]["new"]["repeats"]["pairs"] == [
        {"first": "run 1", "second": "run 2", "both_valid": 3, "changed": 1, "validity_changed": 0}
    ]
    # Mapped back, the swapped run says pass, fail, pass: only q3 flips.
    assert [probe["changed"] for probe in report["sides"]["new"]["order_probes"]] == [1]
    assert [file["what"] for file in summary.integrity["recorded"]["files"]][-2:] == [
        "repeat of candidate, run 2",
        "order probe of candidate, run 3",
    ]


def test_same_manifest_again_changes_nothing(opened: Open) -> None:
    first = opened(_probed)
    assert opened(_probed) == first
    assert (Run.objects.count(), ComparisonRun.objects.count()) == (4, 2)


def test_unexpected_judge_version_is_refused_by_name(opened: Open) -> None:
    def change(document: dict[str, Any]) -> None:
        document["sources"][2]["roles"]["judge_version"] = "model"

    with pytest.raises(InputError) as caught:
        opened(change)
    assert len(caught.value.problems) == 3
    problem = caught.value.problems[0]
    assert (problem.row, problem.column, problem.value, problem.allowed) == (1, "model", "gpt-4", "new")
    assert problem.what == "a judge version that the candidate side does not declare"
    assert not Run.objects.exists()


def test_judge_version_is_held_against_the_name_under_which_the_side_is_recorded(opened: Open) -> None:
    def change(document: dict[str, Any]) -> None:
        document["judges"]["candidate"]["recorded_as"] = "gpt-4"
        document["sources"][2]["roles"]["judge_version"] = "model"

    assert opened(change).summary.integrity["cases"] == 3


def test_pipeline_that_the_manifest_does_not_permit_is_refused_by_name(opened: Open) -> None:
    def permit(*names: str) -> Change:
        def change(document: dict[str, Any]) -> None:
            document["judges"]["candidate"]["pipelines"] = list(names)
            document["sources"][2]["roles"]["provenance"] = {"pipeline": "model"}

        return change

    with pytest.raises(InputError) as caught:
        opened(permit("nightly-7", "nightly-8"))
    assert len(caught.value.problems) == 3
    problem = caught.value.problems[0]
    assert (problem.row, problem.column, problem.value, problem.allowed) == (
        1,
        "model",
        "gpt-4",
        "nightly-7, nightly-8",
    )
    assert problem.what == "a pipeline that the manifest does not permit for the candidate side"
    assert not Run.objects.exists()
    assert opened(permit("nightly-8", "gpt-4")).summary.integrity["cases"] == 3


def test_files_with_the_same_bytes_under_two_judges_are_flagged(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "copy.csv").write_bytes((tmp_path / "cases.csv").read_bytes())

    def change(document: dict[str, Any]) -> None:
        document["sources"][1] |= {"file": "copy.csv", "roles": {"label": "new"}}

    (names,) = opened(change).summary.integrity["recorded"]["same_files"]
    assert [name.partition(" (")[0] for name in names] == ["old run 1 on v1", "new run 1 on v1"]


def test_two_columns_of_one_file_are_two_readings(opened: Open) -> None:
    assert opened(lambda document: None).summary.integrity["recorded"]["same_files"] == []


def test_copy_of_a_run_is_no_repeat_and_flagged(opened: Open) -> None:
    comparison = opened(_with(_source(run="2")))
    assert [len(names) for names in comparison.summary.integrity["recorded"]["same_files"]] == [2]
    (warning,) = integrity_warnings(comparison.summary.integrity)
    assert warning.startswith("read from the same bytes in the same way: new run 1 on v1")
