import pytest

from audits.stats.differential import holm
from audits.stats.estimate import estimate
from audits.stats.slices import slice_estimates
from core.errors import InputError
from tests.stats.examples import swap

STRONG = swap(disagree=(200, {"pass": 45, "fail": 15}))
WEAK = swap(disagree=(200, {"pass": 36, "fail": 24}))
EARLY = swap(disagree=(200, {"pass": 5}))


def test_p_value_is_where_the_interval_just_touches_the_null():
    (found,) = slice_estimates({"weak": WEAK}, estimand="accuracy_difference")
    for factor, excluded in ((1.001, True), (0.999, False)):
        interval = estimate(WEAK, estimand="accuracy_difference", level=1 - found.p_value * factor).interval
        assert (interval.low > 0) is excluded


def test_verdicts_are_adjusted_over_all_slices_that_were_looked_at():
    pools = {"strong": STRONG, "weak": WEAK, "early": EARLY}
    strong, weak, early = slice_estimates(pools, estimand="accuracy_difference")
    assert [one.family for one in (strong, weak, early)] == [3, 3, 3]
    assert [strong.adjusted, weak.adjusted] == pytest.approx(holm([strong.p_value, weak.p_value, 1.0])[:2], abs=1e-12)
    assert (strong.differs, weak.differs) == (True, weak.adjusted <= 0.05)
    assert (early.estimate.state, early.p_value, early.adjusted, early.differs) == ("too early", None, None, None)


def test_same_slice_alone_needs_no_adjustment():
    (alone,) = slice_estimates({"weak": WEAK}, estimand="accuracy_difference")
    assert alone.adjusted == alone.p_value


def test_no_slices_are_refused():
    with pytest.raises(InputError, match="no slices"):
        slice_estimates({}, estimand="accuracy_difference")
