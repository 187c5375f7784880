"""Integrity first, then transitions: counts over every case, and labels only of what is valid on both sides."""

import pytest

from core.models import Project
from judges.integrity import LISTED, integrity_of
from judges.models import Comparison
from judges.pairing import PairState
from judges.services.cases import artifacts_load
from judges.services.comparisons import comparison_open
from judges.transitions import blocking_slice, transitions_of
from tests import factories
from tests.factories import NOW, RULES, artifact_row, judgment_row

pytestmark = [pytest.mark.database, pytest.mark.django_db]

# One case of every state a pair can have; `gone` is judged by nobody.
FAULTS = {
    "agree": ("Yes", "Yes"),
    "both-no": ("No", "No"),
    "moved": ("Yes", "No"),
    "back": ("No", "Yes"),
    "old-blank": ("", "No"),
    "new-blank": ("No", ""),
    "old-only": ("Yes", None),
    "new-only": (None, "No"),
    "gone": (None, None),
    "odd-old": ("Maybe", "No"),
    "odd-new": ("Yes", "perhaps"),
}


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def test_every_case_is_counted_once_under_its_state(project: Project) -> None:
    report = integrity_of(factories.make_swap(project, FAULTS))
    assert (report.cases, report.eligible) == (11, 4)
    assert report.pairs == {
        PairState.AGREE: 2,
        PairState.DISAGREE: 2,
        PairState.OLD_INVALID: 1,
        PairState.NEW_INVALID: 1,
        PairState.MISSING: 3,
        PairState.UNMAPPABLE: 2,
    }
    assert report.examples[PairState.MISSING] == ["old-only", "new-only", "gone"]
    plain = report.as_dict()
    assert sum(plain["pairs"].values()) == plain["cases"] == 11
    assert plain["old"] == {
        "judged": 9,
        "missing": 2,
        "states": {"valid": 7, "unparsed": 1, "unmapped": 1, "stale": 0},
        "provenance": {"verified": 0, "legacy": 9, "unverified": 0, "contradicted": 0},
        "unmapped_labels": {"Maybe": 1},
        "labels_seen": 3,
        "labels_mapped": 2,
        "cached": 0,
        "stale_from_cache": 0,
        "spent": {},
    }


def test_what_is_not_valid_is_never_counted_as_a_label(project: Project) -> None:
    report = transitions_of(factories.make_swap(project, FAULTS))
    assert report.as_dict()["all"] == {"pairs": 4, "changed": 2, "counts": [[1, 1], [1, 1]]}
    assert report.ineligible == 7


def _swap_with_provenance(project: Project, **rules: bool) -> Comparison:
    """Old side as it is; on the new side one other output, one other evidence, one from an unsigned cache."""
    ids = ["same", "output", "evidence", "cached"]
    case_set = factories.load_cases(project, ids)
    system = factories.load_artifacts(
        case_set, rows=[artifact_row(one, n, "out", ("ev",)) for n, one in enumerate(ids)]
    )
    seen = {"seen_output": "out", "seen_evidence": ("ev",)}
    rows = [
        judgment_row("same", "Yes", 1, **seen),
        judgment_row("output", "Yes", 2, **(seen | {"seen_output": "other"})),
        judgment_row("evidence", "Yes", 3, **(seen | {"seen_evidence": ("other",)})),
        judgment_row("cached", "Yes", 4, provenance={"cache": "cached"}),
    ]
    reader = factories.make_reader(project)
    return comparison_open(
        project=project,
        name="provenance",
        kind="judge_swap",
        partition="development",
        old=(factories.load_run(system, factories.judged(dict.fromkeys(ids, "Yes"))), reader),
        new=(factories.load_run(system, rows, "new-judge"), reader),
        labels=["fail", "pass"],
        rules=RULES | rules,
        slices=[],
        blocking_slices=[],
    )


def test_contradicted_provenance_is_named_by_what_differs_and_its_reading_is_stale(project: Project) -> None:
    report = integrity_of(_swap_with_provenance(project))
    assert report.examples == {
        PairState.ARTIFACT_MISMATCH: ["output"],
        PairState.EVIDENCE_MISMATCH: ["evidence"],
        PairState.NEW_INVALID: ["cached"],
    }
    assert report.new.as_dict()["states"] == {"valid": 2, "unparsed": 0, "unmapped": 0, "stale": 2}
    assert report.new.as_dict()["provenance"] == {"verified": 1, "legacy": 0, "unverified": 1, "contradicted": 2}
    assert report.eligible == 1


def test_label_of_a_stale_reading_is_not_taken_for_a_mapped_one(project: Project) -> None:
    system = factories.load_artifacts(factories.load_cases(project, ["a", "b"]))
    reader = factories.make_reader(project)
    rows = [judgment_row("a", "Yes", 1), judgment_row("b", "odd", 2, seen_output="other")]
    comparison = comparison_open(
        project=project,
        name="stale",
        kind="judge_swap",
        partition="development",
        old=(factories.load_run(system, factories.judged({"a": "Yes", "b": "No"})), reader),
        new=(factories.load_run(system, rows, "new-judge"), reader),
        labels=["fail", "pass"],
        rules=RULES,
        slices=[],
        blocking_slices=[],
    )
    new = integrity_of(comparison).as_dict()["new"]
    assert (new["labels_seen"], new["labels_mapped"], new["unmapped_labels"]) == (1, 1, {})


def test_stale_readings_stay_out_where_no_hash_is_required(project: Project) -> None:
    report = integrity_of(
        _swap_with_provenance(
            project,
            require_equal_output_hash=False,
            require_equal_evidence_hash=False,
            accept_unverified_provenance=True,
        )
    )
    assert report.examples == {PairState.NEW_INVALID: ["output", "evidence"]}
    assert report.eligible == 2


@pytest.mark.parametrize(
    ("rules", "failures"),
    [
        ({"fail_on_unmapped_label": False}, []),
        ({}, ["fail_on_unmapped_label: 2 judgments have the labels 'Maybe', 'perhaps'"]),
        (
            {"fail_on_unmapped_label": False, "fail_on_missing_pair": True},
            ["fail_on_missing_pair: 3 of 11 cases lack a judgment on a side"],
        ),
    ],
)
def test_rule_that_does_not_hold_is_a_failure_with_its_count(
    project: Project, rules: dict[str, bool], failures: list[str]
) -> None:
    report = integrity_of(factories.make_swap(project, FAULTS, rules=rules))
    assert report.failures == failures
    assert report.passed == (not failures)


def test_nothing_eligible_is_a_failure_of_its_own(project: Project) -> None:
    report = integrity_of(factories.make_swap(project, {"a": ("Yes", None), "b": ("", "No")}))
    assert report.failures == ["no pair is eligible"]


def test_cases_named_end_at_the_limit_while_counts_do_not(project: Project) -> None:
    report = integrity_of(factories.make_swap(project, {f"q{n:02d}": ("Yes", None) for n in range(LISTED + 5)}))
    assert report.pairs[PairState.MISSING] == LISTED + 5
    assert report.examples[PairState.MISSING] == [f"q{n:02d}" for n in range(LISTED)]


def test_only_cases_of_the_comparison_s_partition_are_in_it(project: Project) -> None:
    rows = [factories.case_row("a", 1), factories.case_row("b", 2, partition="holdout")]
    system = factories.load_artifacts(factories.load_cases(project, rows))
    reader = factories.make_reader(project)
    comparison = comparison_open(
        project=project,
        name="swap-1",
        kind="judge_swap",
        partition="development",
        old=(factories.load_run(system, factories.judged({"a": "Yes", "b": "Yes"})), reader),
        new=(factories.load_run(system, factories.judged({"a": "No", "b": "No"}), "new-judge"), reader),
        labels=["fail", "pass"],
        rules=RULES,
        slices=[],
        blocking_slices=[],
    )
    assert integrity_of(comparison).cases == 1
    assert transitions_of(comparison).as_dict()["all"]["counts"] == [[0, 0], [1, 0]]


def test_same_content_is_told_in_an_upgrade_by_output_and_evidence(project: Project) -> None:
    upgrade = factories.make_upgrade(
        project, {"a": ("Yes", "Yes"), "b": ("Yes", "No"), "c": ("Yes", None)}, same=["a", "c"]
    )
    report = integrity_of(upgrade)
    assert (report.same_content, report.eligible) == (1, 2)


def test_swap_has_no_pair_of_same_content(project: Project) -> None:
    assert integrity_of(factories.make_swap(project, {"a": ("Yes", "Yes")})).same_content == 0


SLICED = {"a": ("Yes", "No"), "b": ("No", "No"), "c": ("Yes", "Yes"), "d": ("No", "Yes")}
RISKS = {"a": {"risk": "high"}, "b": {"risk": "high"}, "c": {"risk": "low", "locale": "he"}}


def test_matrices_have_old_on_rows_and_new_on_columns_and_add_up_over_slices(project: Project) -> None:
    comparison = factories.make_swap(project, SLICED, slices=RISKS, blocking=["risk=high"])
    assert transitions_of(comparison).as_dict() == {
        "labels": ["fail", "pass"],
        "ineligible": 0,
        "all": {"pairs": 4, "changed": 2, "counts": [[1, 1], [1, 1]]},
        "slices": {
            "locale": {
                "": {"pairs": 3, "changed": 2, "counts": [[1, 1], [1, 0]]},
                "he": {"pairs": 1, "changed": 0, "counts": [[0, 0], [0, 1]]},
            },
            "risk": {
                "": {"pairs": 1, "changed": 1, "counts": [[0, 1], [0, 0]]},
                "high": {"pairs": 2, "changed": 1, "counts": [[1, 0], [1, 0]]},
                "low": {"pairs": 1, "changed": 0, "counts": [[0, 0], [0, 1]]},
            },
        },
        "blocking_changes": [{"slice": "risk=high", "case_id": "a", "old": "pass", "new": "fail"}],
    }


def test_scale_of_many_labels_keeps_its_order(project: Project) -> None:
    table = {"a": "zero", "b": 'one, "two"', "c": "שלוש"}
    labels = ["zero", 'one, "two"', "שלוש"]
    comparison = factories.make_swap(
        project, {"x": ("a", "c"), "y": ("c", "b"), "z": ("b", "b")}, labels=labels, table=table
    )
    assert transitions_of(comparison).as_dict()["all"]["counts"] == [[0, 0, 1], [0, 1, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("slices", "hit"),
    [
        ({"risk": "high"}, "risk=high"),
        ({"risk": "higher"}, ""),
        ({"locale": "a=b"}, "locale=a=b"),
        ({"locale": "a=b", "risk": "high"}, "risk=high"),
        ({}, ""),
    ],
)
def test_blocking_slice_is_the_first_that_holds(slices: dict[str, str], hit: str) -> None:
    assert blocking_slice(["risk=high", "locale=a=b"], slices) == hit


def test_artifacts_of_another_version_do_not_enter_a_comparison(project: Project) -> None:
    comparison = factories.make_swap(project, {"a": ("Yes", "No")})
    artifacts_load(
        case_set=comparison.case_set, system_version="v9", rows=[artifact_row("a", 1, "else")], file="f", now=NOW
    )
    assert integrity_of(comparison).cases == 1
