"""Further runs of a judge: what a rerun, another order or other evidence changes by itself, and no pair ever sees."""

from typing import Any

import pytest

from core.errors import InputError
from core.models import Project
from judges.integrity import integrity_of
from judges.models import Comparison, ComparisonRun
from judges.services.comparisons import Further, comparison_open
from judges.stability import majority
from judges.transitions import transitions_of
from tests import factories
from tests.factories import NOW, RULES, FurtherLabels, judgment_row

pytestmark = [pytest.mark.database, pytest.mark.django_db]

VERDICTS = {"a": ("Yes", "Yes"), "b": ("Yes", "Yes"), "c": ("No", "Yes"), "d": ("No", ""), "e": ("No", "No")}
AGAIN = {"a": "Yes", "b": "No", "c": "Yes", "d": "Yes", "e": "No"}
THIRD = {"a": "Yes", "b": "No", "c": "", "d": "No", "e": "Yes"}


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _side(project: Project, *further: FurtherLabels, side: str = "new", **more: Any) -> dict[str, Any]:
    report = factories.make_swap(project, VERDICTS, further=further, **more).summary.stability["sides"][side]
    assert isinstance(report, dict)
    return report


def test_every_pair_of_repeats_is_counted_over_the_cases_valid_in_both(project: Project) -> None:
    repeats = _side(project, ("new", "repeat", AGAIN), ("new", "repeat", THIRD))["repeats"]
    assert repeats["runs"] == ["run 1", "run 2", "run 3"]
    # a, b, c, e are valid in runs 1 and 2, and b moved; d became valid, which is no change of verdict.
    assert repeats["pairs"] == [
        {"first": "run 1", "second": "run 2", "both_valid": 4, "changed": 1, "validity_changed": 1},
        {"first": "run 1", "second": "run 3", "both_valid": 3, "changed": 2, "validity_changed": 2},
        {"first": "run 2", "second": "run 3", "both_valid": 4, "changed": 2, "validity_changed": 1},
    ]


def test_side_without_further_runs_has_no_pair(project: Project) -> None:
    report = _side(project, ("new", "repeat", AGAIN), side="old")
    assert (report["repeats"]["pairs"], report["order_probes"], report["evidence_probes"]) == ([], [], [])
    assert [run["role"] for run in report["runs"]] == ["compared"]


def test_repeat_of_some_cases_only_is_flagged_and_left_out(project: Project) -> None:
    some = {"a": "No", "b": "No"}
    repeats = _side(project, ("new", "repeat", some), ("new", "repeat", AGAIN))["repeats"]
    assert (repeats["runs"], repeats["selective"]) == (["run 1", "run 3"], ["run 2"])
    assert [(pair["first"], pair["second"]) for pair in repeats["pairs"]] == [("run 1", "run 3")]


def test_repeat_without_a_case_that_the_compared_run_lacks_too_is_whole(project: Project) -> None:
    verdicts = {"a": ("Yes", "Yes"), "b": ("Yes", None)}
    comparison = factories.make_swap(project, verdicts, further=[("new", "repeat", {"a": "No"})])
    repeats = comparison.summary.stability["sides"]["new"]["repeats"]
    assert (repeats["runs"], repeats["selective"]) == (["run 1", "run 2"], [])


@pytest.mark.parametrize(
    ("rule", "summarised", "after"),
    [
        # By majority of runs 1 to 3: a Yes, b No, c Yes, e No; d (none, Yes, No) has none. Only b is another's.
        ("majority", {"cases": 5, "without_verdict": 1, "other_than_compared": 1}, {"pairs": 4, "changed": 2}),
        ("first", {"cases": 5, "without_verdict": 1, "other_than_compared": 0}, {"pairs": 4, "changed": 1}),
    ],
)
def test_rule_declared_beforehand_says_which_verdict_counts(
    project: Project, rule: str, summarised: dict[str, int], after: dict[str, int]
) -> None:
    further = [("new", "repeat", AGAIN), ("new", "repeat", THIRD)]
    stability = factories.make_swap(project, VERDICTS, further=further, repeat_summary=rule).summary.stability
    assert stability["summary_rule"] == rule
    assert stability["sides"]["new"]["repeats"]["summarised"] == summarised
    assert stability["after_summary"] == after


def test_majority_is_more_than_half_of_all_repeats() -> None:
    assert majority(["pass", "pass", "fail"]) == "pass"
    assert majority(["pass", "fail"]) is None
    assert majority(["pass", None, None]) is None
    assert majority(["pass", "pass", "fail", None]) is None


def test_order_probe_is_mapped_back_before_flips_are_counted(project: Project) -> None:
    # In the other order Yes stands for fail: a and b say the same again, c flips, e says the same again.
    swapped = {"a": "No", "b": "No", "c": "Yes", "d": "No", "e": "Yes"}
    report = _side(project, ("new", "order probe", swapped))
    assert report["repeats"]["pairs"] == []
    (probe,) = report["order_probes"]
    assert (probe["run"], probe["both_valid"], probe["changed"], probe["validity_changed"]) == (
        "run 2 (swapped)",
        4,
        1,
        1,
    )
    assert probe["counts"] == [[1, 0], [1, 2]]
    assert [run["presentation_order"] for run in report["runs"]] == ["as given", "swapped"]


def test_evidence_probe_may_see_other_evidence_without_being_stale(project: Project) -> None:
    case_set = factories.load_cases(project, ["a", "b"])
    system = factories.load_artifacts(
        case_set, rows=[factories.artifact_row(case, n, "out", ("ev", "final")) for n, case in enumerate("ab")]
    )
    reader = factories.make_reader(project)
    old = factories.load_run(system, factories.judged({"a": "Yes", "b": "No"}))
    new = factories.load_run(system, factories.judged({"a": "Yes", "b": "No"}), "new-judge")
    rows = [judgment_row(case, "No", n, seen_output="out", seen_evidence=("ev",)) for n, case in enumerate("ab")]
    probe = factories.load_run(system, rows, "new-judge", 2, packaging="without the final message")
    comparison = comparison_open(
        project=project,
        name="probe",
        kind="judge_swap",
        partition="development",
        old=(old, reader),
        new=(new, reader),
        labels=["fail", "pass"],
        rules=RULES,
        slices=[],
        blocking_slices=[],
        further=[Further("new", "evidence probe", probe, reader)],
    )
    (found,) = comparison.summary.stability["sides"]["new"]["evidence_probes"]
    assert (found["both_valid"], found["changed"], found["evidence_recorded"], found["evidence_differs"]) == (
        2,
        1,
        2,
        2,
    )
    assert found["run"] == "run 2 (without the final message)"


def test_further_runs_change_no_pair_and_no_transition(project: Project) -> None:
    bare = factories.make_swap(factories.make_project("bare"), VERDICTS)
    comparison = factories.make_swap(
        project, VERDICTS, further=[("new", "repeat", AGAIN), ("old", "order probe", AGAIN)]
    )
    assert transitions_of(comparison).as_dict() == transitions_of(bare).as_dict()
    assert integrity_of(comparison).as_dict()["pairs"] == integrity_of(bare).as_dict()["pairs"]
    assert comparison.further_runs.count() == 2


def test_same_comparison_with_other_further_runs_is_refused(project: Project) -> None:
    comparison = factories.make_swap(project, VERDICTS, further=[("new", "repeat", AGAIN)])
    assert factories.make_swap(project, VERDICTS, further=[("new", "repeat", AGAIN)]) == comparison
    with pytest.raises(InputError, match="open with other content"):
        factories.make_swap(project, VERDICTS)
    assert ComparisonRun.objects.count() == 1


def test_run_of_another_judge_is_no_repeat(project: Project) -> None:
    comparison = factories.make_swap(project, VERDICTS)
    other = factories.load_run(comparison.old_system, factories.judged(AGAIN), "third-judge")
    with pytest.raises(InputError, match="a repeat is of the new side's own judge"):
        _open_again(comparison, Further("new", "repeat", other, comparison.new_reader))


def test_only_an_order_probe_has_a_mapping_of_its_own(project: Project) -> None:
    comparison = factories.make_swap(project, VERDICTS)
    again = factories.load_run(comparison.old_system, factories.judged(AGAIN), "new-judge", 2)
    strict = factories.make_reader(project, table={"Yes": "fail"}, name="strict")
    with pytest.raises(InputError, match="a repeat is of the new side's own judge"):
        _open_again(comparison, Further("new", "repeat", again, strict))


def _open_again(comparison: Comparison, further: Further) -> None:
    comparison_open(
        project=comparison.project,
        name="again",
        kind=comparison.kind,
        partition=comparison.partition,
        old=(comparison.old_run, comparison.old_reader),
        new=(comparison.new_run, comparison.new_reader),
        labels=comparison.labels,
        rules=comparison.rules,
        slices=[],
        blocking_slices=[],
        further=[further],
    )


@pytest.mark.parametrize(
    ("shown", "key"),
    [({"presentation_order": "swapped"}, "presentation_order"), ({"packaging": "bare"}, "evidence_probe")],
)
def test_number_of_a_run_stands_for_one_way_of_showing(project: Project, shown: dict[str, str], key: str) -> None:
    system = factories.load_artifacts(factories.load_cases(project, ["a"]))
    factories.load_run(system, factories.judged({"a": "Yes"}))
    with pytest.raises(InputError, match="is complete with another") as caught:
        factories.load_run(system, factories.judged({"a": "Yes"}), now=NOW, **shown)
    (problem,) = caught.value.problems
    assert (problem.key, problem.allowed) == (key, "as given, or another run number")
