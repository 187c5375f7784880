"""What a reader has to know before any rate: where judgments lack, what stands twice, and which column looks wrong."""

from typing import Any

import pytest

from core.models import Project
from judges.integrity import integrity_of
from judges.models import Comparison
from judges.services.comparisons import comparison_open
from tests import factories
from tests.factories import RULES, artifact_row, case_row, judgment_row

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _swap(
    project: Project, system: Any, old: list[Any], new: list[Any], files: tuple[str, str] = ("", "")
) -> Comparison:
    reader = factories.make_reader(project)
    return comparison_open(
        project=project,
        name="swap",
        kind="judge_swap",
        partition="development",
        old=(factories.load_run(system, old, file_hash=files[0]), reader),
        new=(factories.load_run(system, new, "new-judge", file_hash=files[1]), reader),
        labels=["fail", "pass"],
        rules=RULES,
        slices=[],
        blocking_slices=[],
    )


def test_every_slice_says_what_it_lacks_on_each_side(project: Project) -> None:
    verdicts = {"a": ("Yes", "Yes"), "b": ("", "No"), "c": ("odd", None), "d": ("No", "")}
    slices = {"a": {"risk": "high"}, "b": {"risk": "high"}, "c": {"risk": "low"}}
    report = integrity_of(factories.make_swap(project, verdicts, slices=slices)).as_dict()
    none = {"unparsed": 0, "unmapped": 0, "stale": 0}
    assert report["slices"] == {
        "risk": {
            "": {"cases": 1, "missing": 0, "old": {"judged": 1} | none, "new": {"judged": 1} | none | {"unparsed": 1}},
            "high": {
                "cases": 2,
                "missing": 0,
                "old": {"judged": 2} | none | {"unparsed": 1},
                "new": {"judged": 2} | none,
            },
            "low": {
                "cases": 1,
                "missing": 1,
                "old": {"judged": 1} | none | {"unmapped": 1},
                "new": {"judged": 0} | none,
            },
        }
    }


def test_length_of_the_output_is_looked_at_though_no_slice_names_it(project: Project) -> None:
    rows = [case_row(f"q{n}", n, slices={"length_band": "long" if n % 2 else "short"}) for n in range(40)]
    system = factories.load_artifacts(factories.load_cases(project, rows))
    judged = [judgment_row(row.case_id, "Yes", n) for n, row in enumerate(rows)]
    # 12 of the 20 long outputs lack the new judgment, and none of the short ones.
    report = integrity_of(
        _swap(project, system, judged, [row for row in judged if row.number % 2 == 0 or row.number > 24])
    )
    (found,) = report.as_dict()["missing_by_slice"]
    assert (found["slice"], found["values"], found["goes_with"]) == ("length_band", 2, True)
    assert found["p_value"] == 1e-4
    assert report.warnings == ["missing judgments go with length_band (p = 0.0001): what is left is not the whole"]
    assert report.passed


def test_missing_judgments_spread_evenly_raise_no_warning(project: Project) -> None:
    verdicts = {f"q{n}": ("Yes", None if n < 8 else "Yes") for n in range(40)}
    slices = {f"q{n}": {"risk": "high" if n % 2 else "low"} for n in range(40)}
    report = integrity_of(factories.make_swap(project, verdicts, slices=slices))
    (found,) = report.as_dict()["missing_by_slice"]
    assert (found["p_value"], found["goes_with"], report.warnings) == (1.0, False, [])


def test_column_that_agrees_far_less_in_one_system_is_named(project: Project) -> None:
    """The new column of v3 stands one row lower than its cases: a real file's fault that no cell shows."""
    said = ["Yes", "No", "Yes", "Yes", "No", "No"]
    verdicts, slices = {}, {}
    for system in ("v1", "v2", "v3"):
        for n in range(60):
            case = f"{system}-{n}"
            verdicts[case] = (said[n % 6], said[(n + (system == "v3")) % 6])
            slices[case] = {"system": system}
    report = integrity_of(factories.make_swap(project, verdicts, slices=slices))
    assert report.warnings == [
        "the two judges' columns agree far less in system=v3 than elsewhere: 33.3 % of 60 cases against 100.0 %; look "
        "for a column that was shifted or joined wrongly"
    ]


def test_evidence_in_another_order_is_told_from_other_evidence(project: Project) -> None:
    ids = ["same", "turned", "other"]
    system = factories.load_artifacts(
        factories.load_cases(project, ids), rows=[artifact_row(one, n, "out", ("x", "y")) for n, one in enumerate(ids)]
    )
    seen = {"same": ("x", "y"), "turned": ("y", "x"), "other": ("x", "z")}
    rows = [judgment_row(one, "Yes", n, seen_evidence=seen[one]) for n, one in enumerate(ids)]
    summary = _swap(project, system, factories.judged(dict.fromkeys(ids, "Yes")), rows).summary
    assert summary.integrity["recorded"]["other_evidence"] == {
        "old": {"other_order": 0, "other_pieces": 0, "not_told_apart": 0},
        "new": {"other_order": 1, "other_pieces": 1, "not_told_apart": 0},
    }
    assert summary.integrity["pairs"]["evidence mismatch"] == 2


def test_stale_answers_from_a_cache_are_counted_apart(project: Project) -> None:
    system = factories.load_artifacts(factories.load_cases(project, ["a", "b", "c"]))
    cached = {"cache": "cached"}
    rows = [
        judgment_row("a", "Yes", 1, seen_output="answer a", provenance=cached),
        judgment_row("b", "Yes", 2, seen_output="an older answer", provenance=cached),
        judgment_row("c", "Yes", 3, seen_output="an older answer"),
    ]
    new = integrity_of(_swap(project, system, factories.judged(dict.fromkeys("abc", "Yes")), rows)).as_dict()["new"]
    assert (new["cached"], new["stale_from_cache"], new["states"]["stale"]) == (2, 1, 2)


def test_cases_that_are_the_same_bytes_twice_are_named(project: Project) -> None:
    rows = [
        case_row(one, n, input=text) for n, (one, text) in enumerate({"a": "q", "b": "q", "c": "q", "d": ""}.items())
    ]
    rows.append(case_row("e", 5, input=""))
    outputs = {"a": "same", "b": "same", "c": "other", "d": "same", "e": "same"}
    system = factories.load_artifacts(
        factories.load_cases(project, rows),
        rows=[artifact_row(one, n, text) for n, (one, text) in enumerate(outputs.items())],
    )
    judged = factories.judged(dict.fromkeys(outputs, "Yes"))
    recorded = _swap(project, system, judged, judged).summary.integrity["recorded"]
    assert recorded["same_material"] == {"groups": 1, "cases": 2, "named": [["a", "b"]]}


def test_runs_read_from_the_same_bytes_are_flagged_and_others_are_not(project: Project) -> None:
    system = factories.load_artifacts(factories.load_cases(project, ["a"]))
    judged = factories.judged({"a": "Yes"})
    integrity = _swap(project, system, judged, judged, ("1" * 64, "1" * 64)).summary.integrity
    (names,) = integrity["recorded"]["same_files"]
    assert [name.partition(" (")[0] for name in names] == ["old-judge run 1 on v1", "new-judge run 1 on v1"]

    elsewhere = factories.make_project("elsewhere")
    system = factories.load_artifacts(factories.load_cases(elsewhere, ["a"]))
    other = _swap(elsewhere, system, judged, judged, ("1" * 64, "2" * 64)).summary.integrity
    assert other["recorded"]["same_files"] == []
