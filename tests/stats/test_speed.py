"""What benchmarks/estimate.py measures, on few rows: that both ways in hold the same pool, and what grows with what."""

import pytest

from audits.stats import intervals
from audits.stats.estimate import estimate
from benchmarks.estimate import PLAN, Rows, counted_pool


def test_coded_rows_and_texts_give_the_same_estimate():
    rows = Rows(4000, 400)
    assert rows.estimate() == rows.estimate(rows.texts())


def test_work_of_a_look_grows_with_strata_and_not_with_cases(monkeypatch):
    calls, original = [], intervals.score_limits
    monkeypatch.setattr(intervals, "score_limits", lambda *given: calls.append(given) or original(*given))
    found = {}
    for cases, strata in ((10**4, 2), (10**6, 2), (10**6, 20)):
        calls.clear()
        estimate(counted_pool(cases, 100 * strata, strata), estimand="success_difference", **PLAN)
        found[cases, strata] = len(calls)
    assert found[10**4, 2] == found[10**6, 2] > 0
    assert found[10**6, 20] == pytest.approx(10 * found[10**6, 2], rel=0.1)
