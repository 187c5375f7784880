"""Bridge sets: exactly these cases, whatever the order of the file and whatever else is in it."""

import random

import pytest

from audits.stats.bridge import BridgeCase, bridge_selected
from core.errors import InputError

CASES = [BridgeCase(f"{name}{n}", name) for name in ("refusal", "citation") for n in range(1, 7)]
BOUNDARY = BridgeCase("refusal-edge", "refusal", forced=True, why="prior false positive", approved_by="policy owner")
# Two citations and, beside the forced case, two refusals: the first by `printf '20260804|%s' ID | sha256sum | sort`.
EXPECTED = ["citation2", "citation4", "refusal-edge", "refusal6", "refusal5"]


def ids(cases: list[BridgeCase], seed: str = "20260804", **quotas: int) -> list[str]:
    return [case.case_id for case in bridge_selected(cases, quotas=quotas, seed=seed)]


def test_forced_cases_come_first_and_count_towards_the_quota() -> None:
    assert ids([*CASES, BOUNDARY], refusal=3, citation=2) == EXPECTED


def test_same_set_comes_from_any_order_of_the_file() -> None:
    shuffled = [*CASES, BOUNDARY]
    random.Random(3).shuffle(shuffled)
    assert ids(shuffled, refusal=3, citation=2) == EXPECTED


def test_larger_quota_keeps_the_smaller_set() -> None:
    assert set(ids([*CASES, BOUNDARY], refusal=3)) < set(ids([*CASES, BOUNDARY], refusal=5))


def test_case_left_out_moves_no_other() -> None:
    without = [case for case in CASES if case.case_id != "refusal6"]
    assert [one for one in ids(CASES, refusal=6) if one != "refusal6"] == ids(without, refusal=5)


def test_another_seed_gives_another_fill() -> None:
    assert ids(CASES, refusal=3) != ids(CASES, "another", refusal=3)


def test_forced_cases_beyond_the_quota_all_stay_and_nothing_is_filled() -> None:
    edges = [BridgeCase(f"edge{n}", "refusal", True, "rubric edge", "owner") for n in (3, 1, 2)]
    assert ids([*CASES, *edges], refusal=2) == ["edge1", "edge2", "edge3"]


def test_slice_without_a_quota_has_its_forced_cases_only() -> None:
    assert ids([*CASES, BOUNDARY], citation=1)[1:] == ["refusal-edge"]


def test_every_shortage_names_slice_needed_and_found() -> None:
    with pytest.raises(InputError) as caught:
        ids([*CASES, BOUNDARY], refusal=9, citation=7, tone=1)
    assert [(problem.value, problem.what) for problem in caught.value.problems] == [
        ("citation", "the slice needs 7 cases beside its 0 forced ones, and 6 were found"),
        ("refusal", "the slice needs 8 cases beside its 1 forced ones, and 6 were found"),
        ("tone", "the slice needs 1 cases beside its 0 forced ones, and 0 were found"),
    ]


def test_forced_case_without_reason_or_approver_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        ids([BridgeCase("edge", "refusal", True, " ", "")], refusal=1)
    assert [problem.key for problem in caught.value.problems] == ["why", "approved_by"]


def test_case_that_stands_twice_is_refused() -> None:
    with pytest.raises(InputError, match="case_id: the case stands twice"):
        ids([*CASES, BridgeCase("refusal1", "citation")], refusal=1)
