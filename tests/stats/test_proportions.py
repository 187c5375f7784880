"""Limits of a plain proportion that a page may ask for: Wilson's, as statsmodels has them."""

import pytest

from audits.stats.proportions import proportion_limits
from core.errors import InputError

# statsmodels 0.15.0: proportion_confint(count, n, alpha, method="wilson")
OUTSIDE = [
    (3, 4, 0.95, 0.30064184, 0.95441274),
    (0, 2, 0.95, 0.0, 0.65761977),
    (17, 20, 0.90, 0.67817192, 0.93841759),
    (50, 50, 0.99, 0.88284791, 1.0),
]


@pytest.mark.parametrize(("count", "n", "level", "low", "high"), OUTSIDE)
def test_limits_equal_those_from_outside(count: int, n: int, level: float, low: float, high: float) -> None:
    assert proportion_limits(count, n, level) == pytest.approx((low, high), abs=1e-8)


def test_no_trial_says_nothing() -> None:
    assert proportion_limits(0, 0) == (0.0, 1.0)


def test_impossible_count_is_refused() -> None:
    with pytest.raises(InputError, match="a count is impossible"):
        proportion_limits(3, 2)
