import pytest

from audits.stats.intervals import wilson_interval, z_value
from audits.stats.repeats import Spread, order_sensitivity, rerun_floor
from core.errors import InputError
from tests.stats.examples import BINARY

ONE = ["pass"] * 8 + ["fail"] * 2
TWO = ["pass"] * 6 + ["fail"] * 4
THREE = ["fail"] + ["pass"] * 7 + ["fail", "unparsed"]
TRUTH = ["pass"] * 7 + ["fail"] * 3


def test_changes_and_regressions_are_shares_over_ordered_pairs():
    found = rerun_floor({"one": ONE, "two": TWO, "three": THREE}, scale=BINARY, references=TRUTH)
    pairs = {(pair.first, pair.second): pair for pair in found.pairs}
    assert len(pairs) == 6
    assert (pairs["one", "two"].changed, pairs["one", "two"].regressed.point) == (0.2, pytest.approx(0.1))
    # Back again: case 8 is wrong in the first repeat and right in the second.
    assert pairs["two", "one"].regressed.point == pytest.approx(0.1)
    # An invalid reading is no label that could change, and never right.
    assert pairs["one", "three"].changed == 1 / 9
    assert pairs["one", "three"].regressed.point == pytest.approx(0.2)
    assert pairs["three", "one"].regressed.point == 0.0
    assert found.changed == Spread(1 / 9, pytest.approx(0.2), 3 / 9)
    assert (found.regressed.low, found.regressed.high) == (0.0, pytest.approx(0.3))


def test_worked_table_of_the_methods_page():
    one, two = ["pass", "pass", "fail", "pass", "unparsed"], ["pass", "fail", "pass", "fail", "pass"]
    found = rerun_floor({"run 1": one, "run 2": two}, scale=BINARY, references=["pass", "pass", "pass", "fail", "pass"])
    assert found.changed == Spread(0.75, 0.75, 0.75)
    assert [pair.regressed.point for pair in found.pairs] == pytest.approx([0.2, 0.6])
    assert found.regressed.middle == pytest.approx(0.4)


def test_upgrade_inside_the_floor_is_not_distinguishable_from_a_rerun():
    found = rerun_floor({"one": ONE, "two": TWO}, scale=BINARY, references=TRUTH)
    assert (found.holds(0.1), found.holds(0.11)) == (True, False)


def test_repeat_that_covers_only_some_cases_is_left_out_and_named():
    part = [None, *TWO[1:]]
    found = rerun_floor({"one": ONE, "two": TWO, "part": part}, scale=BINARY, references=TRUTH)
    assert (found.repeats, found.selective) == (("one", "two"), ("part",))
    alone = rerun_floor({"one": ONE, "part": part}, scale=BINARY)
    assert (alone.pairs, alone.changed, alone.reason) == ((), None, "fewer than two repeats cover all cases")


def test_sampled_references_give_a_design_weighted_share_with_its_interval():
    # 40 changed cases of 100 in one stratum, 10 of them labelled, 4 of those regressed; unchanged cases need no label.
    one, two = ["pass"] * 100, ["fail"] * 40 + ["pass"] * 60
    references = ["pass"] * 4 + ["fail"] * 6 + [None] * 90
    found = rerun_floor({"one": one, "two": two}, scale=BINARY, references=references)
    share = found.pairs[0].regressed
    inside = wilson_interval(4, 10, 40, z_value(0.95))
    assert share.point == pytest.approx(0.16, abs=1e-12)
    assert (share.interval.low, share.interval.high) == pytest.approx((0.4 * inside.low, 0.4 * inside.high), abs=1e-12)


def test_changed_cases_without_a_reference_leave_the_regressions_open():
    found = rerun_floor(
        {"one": ["pass"] * 4, "two": ["pass"] * 3 + ["fail"]}, scale=BINARY, references=["pass"] + [None] * 3
    )
    assert (found.regressed, found.changed.high) == (None, 0.25)
    assert found.reason == "no changed case has a reference yet in all"


def test_runs_in_another_order_keep_their_own_name():
    found = order_sensitivity({"one": ONE, "two": TWO}, scale=BINARY, references=TRUTH)
    assert (found.cause, found.changed.high) == ("order", 0.2)
    with pytest.raises(InputError, match="not a rerun floor"):
        found.holds(0.1)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="no repeats"):
        rerun_floor({}, scale=BINARY)
    with pytest.raises(InputError, match="two: columns differ"):
        rerun_floor({"one": ONE, "two": TWO[1:]}, scale=BINARY)
    with pytest.raises(InputError, match="found 'perhaps'"):
        rerun_floor({"one": ONE, "two": TWO}, scale=BINARY, references=["perhaps"] * 10)
