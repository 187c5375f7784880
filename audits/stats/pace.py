"""How fast people work, from the moments at which they settled cases: breaks are no work."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

LONGEST = 30 * 60  # seconds between two settlements, beyond which nobody was at work
FEWEST = 20  # intervals between settlements, before which nothing is said
RANGE_LEVEL = 0.8


@dataclass(frozen=True)
class Pace:
    """Labels an hour of work, with its range; `labels` were settled in `hours` of work. The rates are None where
    `reason` says why."""

    per_hour: float | None
    low: float | None
    high: float | None
    labels: int
    hours: float
    reason: str = ""

    def hours_for(self, least: int, most: int) -> tuple[float, float] | None:
        """Hours of work that between so many labels take, from the favourable end of both to the other."""
        if self.low is None or self.high is None:
            return None
        return least / self.high, most / self.low


def pace(times: Sequence[float]) -> Pace:
    """The pace of the last settlements.

    Parameters
    ----------
    times : sequence of float
        When each was made, in seconds, in any order; of all people together.

    Returns
    -------
    Pace

    Notes
    -----
    The time between two settlements counts as work where it is at most `LONGEST`. Of m such intervals of T hours the
    rate is m / T, its range m / T times exp(-+ z / sqrt(m)) at the level `RANGE_LEVEL`: settlements as a Poisson
    process, whose log rate has the standard error 1 / sqrt(m).
    """
    ordered = sorted(times)
    worked = [later - earlier for earlier, later in pairwise(ordered)]
    counted = [seconds for seconds in worked if seconds <= LONGEST]
    number, hours = len(counted), sum(counted) / 3600
    if number < FEWEST or hours <= 0:
        reason = f"{number} of {FEWEST} intervals between labels are known" if number < FEWEST else "no time passed"
        return Pace(None, None, None, number, hours, reason)
    rate, factor = number / hours, math.exp(NormalDist().inv_cdf((1 + RANGE_LEVEL) / 2) / math.sqrt(number))
    return Pace(rate, rate / factor, rate * factor, number, hours)
