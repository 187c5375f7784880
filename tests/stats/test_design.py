import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.stats.design import (
    double_reviewed,
    inclusion_probability,
    merged_strata,
    permanent_order,
    serving_order,
    stratum_family,
    stratum_name,
)
from core.errors import InputError

CASES = [f"case-{number}" for number in range(200)]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "disagree"),
        ({"by": "transition"}, "pass→fail"),
        ({"slices": [("length", "short"), ("locale", "de")]}, "length=short | locale=de | disagree"),
        ({"by": "transition", "slices": [("length", "short")]}, "length=short | pass→fail"),
        ({"identical": True}, "identical | disagree"),
        ({"forced": True, "identical": True, "by": "transition"}, "forced"),
    ],
)
def test_stratum_is_named_by_what_is_known_before_any_label(options, name):
    assert stratum_name("pass", "fail", **options) == name


def test_equal_verdicts_are_in_the_agreeing_stratum():
    assert stratum_name("fail", "fail") == "agree"
    assert stratum_name("fail", "fail", by="transition") == "fail→fail"


def test_unknown_stratification_is_refused():
    with pytest.raises(InputError, match="'mood'"):
        stratum_name("pass", "fail", by="mood")


def test_order_is_by_the_hash_of_seed_and_identity():
    expected = sorted(CASES, key=lambda case: hashlib.sha256(f"7|{case}".encode()).hexdigest())
    assert permanent_order("7", reversed(CASES)) == expected
    assert permanent_order("8", CASES) != expected


def test_order_of_two_cases_does_not_depend_on_the_others():
    whole = permanent_order("7", CASES)
    part = permanent_order("7", CASES[::3])
    assert [case for case in whole if case in set(part)] == part


def test_case_that_is_twice_in_the_frame_is_refused():
    with pytest.raises(InputError, match="case-3"):
        permanent_order("7", [*CASES, "case-3"])


def test_serving_mixes_the_strata_in_proportion():
    sequence = serving_order([{"agree": 2, "disagree": 4}])
    assert sequence == [
        ("disagree", 0),
        ("agree", 0),
        ("disagree", 1),
        ("disagree", 2),
        ("agree", 1),
        ("disagree", 3),
    ]


allocations = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(0, 40), min_size=1)


@given(allocations, allocations)
def test_extension_appends_and_what_was_served_stays(first, more):
    total = {name: first.get(name, 0) + more.get(name, 0) for name in {*first, *more}}
    short, long = serving_order([first]), serving_order([first, total])
    assert long[: len(short)] == short
    assert sorted(long) == sorted((name, place) for name, n in total.items() for place in range(n))


@given(allocations)
def test_every_prefix_of_the_serving_order_is_in_proportion_to_within_one(allocation):
    sequence = serving_order([allocation])
    served = dict.fromkeys(allocation, 0)
    for place, (name, position) in enumerate(sequence, start=1):
        assert position == served[name]
        served[name] += 1
        for one, n in allocation.items():
            # Webster's divisors may exceed one quota by a fraction with three strata; never by two cases.
            assert abs(served[one] - place * n / len(sequence)) < 1.5


def test_draw_that_shrinks_is_refused_with_what_is_drawn_already():
    with pytest.raises(InputError, match=r"allocation\.agree.*found '2'.*at least 3"):
        serving_order([{"agree": 3}, {"agree": 2}])


def test_small_strata_join_the_smallest_of_their_family_only():
    sizes = {"x | agree": 3, "y | agree": 40, "z | agree": 12, "x | disagree": 2, "y | disagree": 50, "forced": 1}
    families = {name: stratum_family("p", "p" if "dis" not in name else "f") for name in sizes} | {"forced": ""}
    assert merged_strata(sizes, families, below=10) == {
        "x | agree": "x | agree + z | agree",
        "z | agree": "x | agree + z | agree",
        "y | agree": "y | agree",
        "x | disagree": "x | disagree + y | disagree",
        "y | disagree": "x | disagree + y | disagree",
        "forced": "forced",
    }


def test_bound_of_zero_merges_nothing_and_a_lone_small_stratum_stays():
    assert merged_strata({"a": 1, "b": 2}, {"a": "f", "b": "f"}, below=0) == {"a": "a", "b": "b"}
    assert merged_strata({"a": 1, "b": 2}, {"a": "f", "b": "g"}, below=10) == {"a": "a", "b": "b"}


def test_families_keep_identical_pairs_and_disagreements_apart():
    families = [stratum_family("p", new, identical=same) for new in "pf" for same in (False, True)]
    assert len(set(families)) == 4
    assert stratum_family("p", "f", forced=True) == ""


def test_inclusion_is_the_share_drawn_whatever_the_number_of_extensions():
    assert inclusion_probability(30, 120) == 0.25
    with pytest.raises(InputError, match="121"):
        inclusion_probability(121, 120)


def test_double_review_takes_about_its_share_and_a_larger_share_keeps_the_cases():
    cases = [f"case-{number}" for number in range(4000)]
    small = {case for case in cases if double_reviewed("7", case, 0.15)}
    large = {case for case in cases if double_reviewed("7", case, 0.3)}
    # Four standard errors of a binomial share: 4 sqrt(.15 .85 / 4000) = 0.023.
    assert abs(len(small) / 4000 - 0.15) < 0.023
    assert small < large
    assert not any(double_reviewed("7", case, 0.0) for case in cases)
    assert all(double_reviewed("7", case, 1.0) for case in cases)


def test_double_review_is_independent_of_the_drawing_order():
    cases = [f"case-{number}" for number in range(4000)]
    first_half = permanent_order("7", cases)[:2000]
    chosen = sum(double_reviewed("7", case, 0.5) for case in first_half)
    assert abs(chosen / 2000 - 0.5) < 4 * (0.25 / 2000) ** 0.5


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_double_review_share_outside_zero_to_one_is_refused(share):
    with pytest.raises(InputError, match=str(share)):
        double_reviewed("7", "case", share)
