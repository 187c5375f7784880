import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.stats.differential import differential_error, exact_mcnemar, holm
from audits.stats.pool import Cell, Pool
from core.errors import InputError
from tests.stats.examples import BINARY, reference, swap


@given(st.integers(0, 60), st.integers(0, 60))
def test_exact_p_value_equals_statsmodels(gained, lost):
    from statsmodels.stats.contingency_tables import mcnemar

    found = exact_mcnemar(gained, lost)
    if gained + lost == 0:
        assert found is None
    else:
        expected = mcnemar([[0, gained], [lost, 0]], exact=True).pvalue
        assert found == pytest.approx(min(1.0, expected), abs=1e-12)


def test_exact_p_value_of_the_reference_rows():
    assert exact_mcnemar(4, 10) == pytest.approx(reference("vectors")["peers"]["statsmodels.mcnemar.exact"], abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closed_test_of_bonferroni(p_values):
    # A hypothesis falls only with every intersection it is part of; each intersection has Bonferroni's p-value.
    places = range(len(p_values))
    subsets = [part for size in places for part in itertools.combinations(places, size + 1)]
    closed = [
        max(min(1.0, len(part) * min(p_values[j] for j in part)) for part in subsets if index in part)
        for index in places
    ]
    assert holm(p_values) == pytest.approx(closed, abs=1e-12)


def test_p_value_out_of_range_is_refused():
    with pytest.raises(InputError, match=r"'1\.5'"):
        holm([0.1, 1.5])


def upgrade(gained, lost, *, stratum="disagree"):
    cells = (
        Cell(stratum, "fail", "pass", 100, {("fail", "fail"): gained, ("pass", "pass"): 3, ("fail", "pass"): 9}),
        Cell(stratum, "pass", "fail", 100, {("fail", "fail"): lost, ("pass", "pass"): 1}),
        Cell("agree", "fail", "fail", 200, {("fail", "fail"): 25, ("pass", "pass"): 2}),
    )
    return Pool(cells, "version_upgrade", BINARY)


def test_only_cases_with_the_same_human_label_on_both_sides_count():
    fail, passed = differential_error({"one": upgrade(10, 2)})
    # Among both-fail cases the new version was judged pass alone 10 times: it lost the label fail.
    assert (fail.label, fail.gained, fail.lost, fail.cases) == ("fail", 2, 10, 37)
    assert (passed.label, passed.gained, passed.lost, passed.cases) == ("pass", 3, 1, 6)
    assert fail.p_value == pytest.approx(2 * (1 + 12 + 66) / 2**12, abs=1e-12)


def test_judges_are_adjusted_together_for_each_label():
    found = differential_error({"one": upgrade(10, 2), "two": upgrade(7, 5)})
    fails = [one for one in found if one.label == "fail"]
    assert [one.judge for one in fails] == ["one", "two"]
    assert fails[0].adjusted == pytest.approx(2 * fails[0].p_value, abs=1e-12)
    assert fails[1].adjusted == pytest.approx(max(fails[1].p_value, 2 * fails[0].p_value), abs=1e-12)


def test_label_without_a_discordant_case_has_no_p_value_and_does_not_count_in_the_family():
    found = differential_error({"one": upgrade(10, 2), "two": upgrade(0, 0)})
    silent = next(one for one in found if (one.judge, one.label) == ("two", "fail"))
    assert (silent.p_value, silent.adjusted, silent.reason) == (None, None, "no discordant case")
    tested = next(one for one in found if (one.judge, one.label) == ("one", "fail"))
    assert tested.adjusted == tested.p_value


def test_test_is_not_offered_where_the_direction_of_a_change_moved_inclusion():
    with pytest.raises(InputError, match="direction"):
        differential_error({"one": upgrade(1, 2)}, by="transition")
    with pytest.raises(InputError, match="forced"):
        differential_error({"one": upgrade(1, 2, stratum="forced")})
    with pytest.raises(InputError, match="version_upgrade"):
        differential_error({"one": swap()})
