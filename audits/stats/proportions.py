"""Limits of a plain proportion, without SciPy: a page may ask for them."""

import math
from statistics import NormalDist

from audits.stats.checks import checked_count, checked_level, refused


def score_limits(share: float, half: float) -> tuple[float, float]:
    """Wilson's limits of an observed share, in [0, 1]; `half` is z^2 / (2 n) of n > 0 independent trials."""
    whole, middle = 1 + 2 * half, share + half
    spread = math.sqrt(half * (2 * share * (1 - share) + half))
    low, high = (middle - spread) / whole, (middle + spread) / whole
    return low if low > 0 else 0.0, high if high < 1 else 1.0


def proportion_limits(count: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's limits of `count` in `n` trials of an unlimited population; [0, 1] where there was no trial.

    Raises
    ------
    InputError
        If `count > n`, or the level is not between 0 and 1.

    References
    ----------
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of the
    American Statistical Association 22 (1927) 209-212.
    """
    if checked_count(count, "count") > checked_count(n, "n"):
        raise refused("a count is impossible", key="count", value=count, allowed=f"from 0 to {n}")
    z = NormalDist().inv_cdf((1 + checked_level(level)) / 2)
    return score_limits(count / n, z * z / (2 * n)) if n else (0.0, 1.0)
