"""The three policies of watching: which multiplier an interval uses when a lead looks after every label."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from scipy.special import ndtri

from audits.stats.checks import checked_choice, checked_level, checked_width
from audits.stats.intervals import z_value

Policy = Literal["planned", "monitored", "anytime"]
POLICIES: tuple[Policy, ...] = ("planned", "monitored", "anytime")


@dataclass(frozen=True)
class Look:
    """What a policy says at one look.

    `multiplier` replaces z; `fraction` is the information fraction t (None without a target width); `final` says
    that the target width is reached, after which `monitored` allows no further look.
    """

    policy: Policy
    multiplier: float
    fraction: float | None
    final: bool


@lru_cache(maxsize=64)
def boundary(level: float) -> float:
    """The continuous O'Brien-Fleming constant c, the root of 4 (1 - Phi(c)) = alpha."""
    return float(-ndtri((1 - checked_level(level)) / 4))


def mixture_tuning(level: float, half_width: float) -> float:
    """rho of the normal mixture, set so that the boundary is tightest at the information of the target width."""
    log = 2 * math.log(1 / (1 - checked_level(level)))
    return (z_value(level) / half_width) ** 2 / (log + math.log(1 + log))


def _anytime_multiplier(information: float, level: float, half_width: float) -> float:
    rho = mixture_tuning(level, half_width)
    alpha = 1 - level
    return math.sqrt((1 + rho / information) * math.log((information + rho) / (rho * alpha**2)))


def look(policy: Policy, variance: float, *, level: float = 0.95, half_width: float | None = None) -> Look:
    """The multiplier in force at one look.

    Parameters
    ----------
    policy : {'planned', 'monitored', 'anytime'}
        Fixed before labelling.
    variance : float
        V = (fixed-n half-width / z)^2 of the interval at this look; 0 at a census.
    level : float in (0, 1)
    half_width : float
        The target half-width w registered in the plan, on the scale of the estimand. `planned` may do without.

    Returns
    -------
    Look

    Raises
    ------
    InputError
        For an unknown policy, a level outside (0, 1), or a missing or non-positive width.

    Notes
    -----
    `monitored` divides c by sqrt(t), t = I / I_max, I = 1 / V, I_max = (c / w)^2: the estimates of nested
    stratified samples form a Brownian motion in I, because Cov(est_s, est_t) = V_t for s before t.
    `anytime` is the Robbins normal mixture; it needs the width only for tuning. All three are asymptotic in
    the number of labels: the 20-label rule of `estimate` belongs to them.

    References
    ----------
    P. C. O'Brien and T. R. Fleming, A multiple testing procedure for clinical trials, Biometrics 35 (1979)
    549-556. H. Robbins, Statistical methods related to the law of the iterated logarithm, Annals of
    Mathematical Statistics 41 (1970) 1397-1409. I. Waudby-Smith et al., arXiv:2103.06476, for the tuning.
    """
    checked_choice(policy, "policy", POLICIES)
    checked_level(level)
    if policy == "planned":
        return _planned(variance, level, half_width)
    width = checked_width(half_width)
    c = boundary(level)
    fraction = math.inf if variance <= 0 else (width / c) ** 2 / variance
    if policy == "monitored":
        return Look(policy, c if fraction >= 1 else c / math.sqrt(fraction), fraction, fraction >= 1)
    if variance <= 0:
        return Look(policy, z_value(level), math.inf, True)
    # `anytime` has no end: its fraction is that of the fixed-n information and is for orientation only.
    multiplier = _anytime_multiplier(1 / variance, level, width)
    return Look(policy, multiplier, (width / z_value(level)) ** 2 / variance, False)


def variance_at_width(policy: Policy, *, level: float, half_width: float) -> float:
    """V of the fixed-n interval at which the interval in force has the target half-width.

    (w / z)^2, (w / c)^2, or for `anytime` the root of multiplier(V) sqrt(V) = w.
    """
    width = checked_width(half_width)
    if checked_choice(policy, "policy", POLICIES) != "anytime":
        return (width / (boundary(level) if policy == "monitored" else z_value(level))) ** 2
    low, high = 0.0, (width / z_value(level)) ** 2
    for _ in range(200):
        middle = (low + high) / 2
        wide = _anytime_multiplier(1 / middle, level, width) * math.sqrt(middle) > width
        low, high = (low, middle) if wide else (middle, high)
    return low


def _planned(variance: float, level: float, half_width: float | None) -> Look:
    z = z_value(level)
    if half_width is None:
        return Look("planned", z, math.inf if variance <= 0 else None, variance <= 0)
    fraction = math.inf if variance <= 0 else (checked_width(half_width) / z) ** 2 / variance
    return Look("planned", z, fraction, fraction >= 1)
