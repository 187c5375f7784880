from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.stats.columns import Coded, settled_prefix
from audits.stats.pool import Cell, Pool, Scores, Waiting
from core.errors import InputError
from tests.stats.examples import BINARY


def test_prefix_ends_at_the_first_open_case_of_the_random_order():
    position = [3, 1, 0, 2, -1, 4]
    settled = [True, True, True, False, True, True]
    assert settled_prefix(position, settled).tolist() == [False, True, True, False, False, False]


def test_prefix_may_count_from_one_and_takes_all_when_all_are_settled():
    assert settled_prefix([2, 1, 3], [True, True, True]).tolist() == [True, True, True]
    assert settled_prefix([1, 2], [False, True]).tolist() == [False, False]
    assert settled_prefix([-1, -1], [True, False]).tolist() == [False, False]
    assert settled_prefix([], []).tolist() == []


@pytest.mark.parametrize(("position", "found"), [([0, 1, 3], "3"), ([0, 1, 1], "1"), ([2, 3], "2")])
def test_positions_that_repeat_or_leave_a_gap_are_refused(position, found):
    with pytest.raises(InputError, match=f"found '{found}'"):
        settled_prefix(position, [True] * len(position))


def table(**changed):
    columns = {
        "stratum": ["d", "d", "d", "a", "a", "a"],
        "old": ["pass", "pass", "fail", "pass", "pass", "pass"],
        "new": ["fail", "fail", "pass", "pass", "pass", "pass"],
        "reference": ["pass", None, "fail", "pass", None, "fail"],
        "settled": [True, True, True, True, False, True],
        "position": [0, 1, 2, 0, 1, 2],
    }
    return Pool.from_arrays(kind="judge_swap", scale=BINARY, **(columns | changed))


def test_rows_are_tabulated_by_stratum_and_verdicts_over_the_settled_prefix():
    pool = table()
    assert pool.cells == (
        Cell("d", "pass", "fail", 2, {"pass": 1}, undecided=1),
        Cell("d", "fail", "pass", 1, {"fail": 1}),
        Cell("a", "pass", "pass", 3, {"pass": 1}),
    )
    assert pool.size == 6
    assert pool.strata == ("d", "a")
    assert pool.waiting == {"d": Waiting(0, 0), "a": Waiting(1, 1)}


def test_without_positions_every_settled_row_counts():
    assert table(position=None).cells[2] == Cell("a", "pass", "pass", 3, {"pass": 1, "fail": 1})


def test_finer_score_is_summed_over_all_cases_and_over_the_labelled_by_reference():
    pool = table(score=[1.0, 2.0, 4.0, 0.5, 3.0, 8.0], position=None)
    assert pool.cells[2].scores == Scores(11.5, 73.25, {"pass": (0.5, 0.25), "fail": (8.0, 64.0)})
    assert pool.cells[0].scores == Scores(3.0, 5.0, {"pass": (1.0, 1.0)})


def test_identical_pairs_make_cells_of_their_own():
    pool = Pool.from_arrays(
        kind="version_upgrade",
        scale=BINARY,
        stratum=["a", "a"],
        old=["pass", "pass"],
        new=["pass", "pass"],
        reference=[None, ("pass", "fail")],
        identical=[True, False],
    )
    assert [(cell.size, cell.structural_zero, cell.labelled) for cell in pool.cells] == [(1, True, 0), (1, False, 1)]


def test_permuted_rows_give_the_same_cells():
    order = np.random.default_rng(5).permutation(6)
    columns = {
        "stratum": ["d", "d", "d", "a", "a", "a"],
        "old": ["pass", "pass", "fail", "pass", "pass", "pass"],
        "new": ["fail", "fail", "pass", "pass", "pass", "pass"],
        "reference": ["pass", None, "fail", "pass", None, "fail"],
        "settled": [True, True, True, True, False, True],
        "position": [0, 1, 2, 0, 1, 2],
    }
    shuffled = table(**{name: [column[row] for row in order] for name, column in columns.items()})
    assert sorted(shuffled.cells, key=repr) == sorted(table().cells, key=repr)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (Cell("d", "pass", "fail", 3, {"pass": 4}), r"d\.pass→fail.*more cases are settled.*found '4'.*at most 3"),
        (Cell("d", "pass", "fail", 3, {"pass": 3}, undecided=1), "found '4'"),
        (Cell("d", "pass", "fail", 3, {"maybe": 1}), "not on the scale.*found 'maybe'.*allowed: fail, pass"),
        (Cell("d", "pass", "good", 3), "found 'good'"),
        (Cell("d", "pass", "fail", 0), "size.*found '0'"),
        (Cell("d", "pass", "fail", 3, {"pass": -1}), "found '-1'"),
        (Cell("d", "pass", "fail", 3, {"pass": 0.5}), "found '0.5'"),
        (Cell("d", "pass", "fail", 3, {("pass", "fail"): 1}), "wrong shape.*one label"),
    ],
)
def test_impossible_cell_is_refused_with_the_value_found(cell, words):
    with pytest.raises(InputError, match=words):
        Pool((cell,), "judge_swap", BINARY)


def test_pool_without_strata_and_repeated_cells_are_refused():
    with pytest.raises(InputError, match="no strata"):
        Pool((), "judge_swap", BINARY)
    with pytest.raises(InputError, match=r"twice.*pass→fail"):
        Pool((Cell("d", "pass", "fail", 3), Cell("d", "pass", "fail", 4)), "judge_swap", BINARY)
    with pytest.raises(InputError, match="'swap'"):
        Pool((Cell("d", "pass", "fail", 3),), "swap", BINARY)


def test_columns_of_different_length_are_refused_by_name():
    with pytest.raises(InputError, match=r"new: columns differ.*found '5'.*6 rows"):
        table(new=["fail"] * 5)
    with pytest.raises(InputError, match=r"position: columns differ"):
        table(position=[0, 1])


@st.composite
def rows(draw):
    """Rows of an upgrade in two strata, some drawn, some settled, some undecided, in any order."""
    names = st.sampled_from(["pass", "fail"])
    frame = draw(st.lists(st.tuples(st.sampled_from("ab"), names, names, st.booleans()), min_size=1, max_size=40))
    position = np.full(len(frame), -1)
    for stratum in "ab":
        own = [row for row, one in enumerate(frame) if one[0] == stratum]
        for place, row in enumerate(draw(st.permutations(own))[: draw(st.integers(0, len(own)))]):
            position[row] = place
    key = st.one_of(st.none(), st.tuples(names, names))
    reference = [draw(key) for _ in frame]
    settled = [draw(st.booleans()) for _ in frame]
    return frame, position, reference, settled


@given(rows())
def test_cells_and_what_waits_are_those_of_counting_row_by_row(table):
    frame, position, reference, settled = table
    stratum, old, new, identical = zip(*frame, strict=True)
    score = np.arange(1.0, len(frame) + 1)
    columns = {"reference": reference, "settled": settled, "position": position, "identical": identical}
    pool = Pool.from_arrays(
        kind="version_upgrade", scale=BINARY, stratum=stratum, old=old, new=new, score=score, **columns
    )
    coded = Pool.from_arrays(
        kind="version_upgrade",
        scale=BINARY,
        stratum=Coded(np.array(["ab".index(one) for one in stratum], dtype=np.int8), ("a", "b")),
        old=Coded.of(old),
        new=Coded.of(new),
        score=score,
        **(columns | {"reference": Coded.of(reference)}),
    )
    counts = {
        row
        for row, one in enumerate(frame)
        if position[row] >= 0
        and all(settled[k] for k in range(len(frame)) if frame[k][0] == one[0] and 0 <= position[k] <= position[row])
    }
    for found in (pool, coded):
        assert found.size == len(frame)
        for cell in found.cells:
            identity = (cell.stratum, cell.old, cell.new, cell.structural_zero)
            inside = [row for row, one in enumerate(frame) if one == identity]
            labels = Counter(reference[row] for row in inside if row in counts)
            assert (cell.size, cell.undecided) == (len(inside), labels.pop(None, 0))
            assert dict(cell.labels) == labels
            assert (cell.scores.total, cell.scores.squares) == (sum(score[inside]), sum(score[inside] ** 2))
        for name in set(stratum):
            early = [
                r
                for r, one in enumerate(frame)
                if one[0] == name and position[r] >= 0 and settled[r] and r not in counts
            ]
            gaps = [
                r
                for r, one in enumerate(frame)
                if one[0] == name and early and not settled[r] and 0 <= position[r] < max(position[early])
            ]
            assert found.waiting[name] == Waiting(len(early), len(gaps))


def test_codes_without_a_name_are_refused_with_the_code():
    with pytest.raises(InputError, match=r"no name.*found '2'.*-1 to 1"):
        Coded(np.array([0, 2]), ("a", "b"))
    with pytest.raises(InputError, match="found '-2'"):
        Coded(np.array([0, -2]), ("a", "b"))
    with pytest.raises(InputError, match=r"whole numbers.*float64"):
        Coded(np.array([0.0]), ("a",))


def test_case_without_a_stratum_or_verdict_is_refused():
    with pytest.raises(InputError, match="new: every case has one"):
        table(new=["fail", None, "pass", "pass", "pass", "pass"])
