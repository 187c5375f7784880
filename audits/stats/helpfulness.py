"""Why a judge helps little with a comparison: correlated outcomes, correlated errors, and the tasks that differ."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audits.stats.checks import refused
from audits.stats.class_conditional import checked_positive
from audits.stats.estimands import ESTIMANDS
from audits.stats.groups import cell_groups
from audits.stats.linearised import means_of
from audits.stats.pool import Cell, Key, Label, Pool


@dataclass(frozen=True)
class Helpfulness:
    """Estimates without intervals, for a reader who asks why the gain is small. None where undefined.

    `r` correlates the two versions' human outcomes over tasks, `r_errors` the judge's errors (verdict minus outcome).
    `tau_level` and `tau_difference` are the factors by which a tuned judge multiplies the information of one
    label, 1 / (1 - rho^2), for a level and for the difference; `tau_predicted` is what r and r_errors make of
    tau_level. `improved` and `worsened` are estimated numbers of tasks; `youden_improved` is the mean judged change
    on tasks that improved, `youden_worsened` minus that on tasks that got worse, `shift_unchanged` that on the
    others.
    """

    r: float | None
    r_errors: float | None
    tau_level: float | None
    tau_difference: float | None
    tau_predicted: float | None
    improved: float
    worsened: float
    youden_improved: float | None
    youden_worsened: float | None
    shift_unchanged: float | None


def helpfulness(pool: Pool, *, positive: Collection[Label] | None = None, merge_below: int = 10) -> Helpfulness:
    """Moments of the two versions' outcomes and of the judge's errors, weighted to the pool.

    Parameters
    ----------
    pool : Pool of kind 'version_upgrade'
    positive : collection of labels, optional
        As in `class_conditional`.
    merge_below : int
        As in `estimate`.

    Returns
    -------
    Helpfulness

    Raises
    ------
    InputError
        For a judge swap, an unknown positive label, or while a stratum has no label.

    Notes
    -----
    tau_D - 1 = (tau_L - 1) (1 - r) / (1 - r_errors) holds where errors are unrelated to outcomes and equally large
    for both versions; measured and predicted values are given beside each other, so that a reader sees how far it
    holds. D_J = (N+ J+ - N- J-) / N holds where the judge's verdict changes on unchanged tasks cancel
    (shift_unchanged is 0).
    """
    if pool.kind != "version_upgrade":
        raise refused("two versions are compared here", key="kind", value=pool.kind, allowed="version_upgrade")
    top = checked_positive(pool, positive)
    groups, _ = cell_groups(pool, ESTIMANDS["accuracy"], "old", merge_below)
    waiting = [group.name for group in groups if not group.labels and not group.census]
    if waiting:
        raise refused("a stratum has no label yet", key="strata", value=", ".join(waiting), allowed="one label or more")

    def row(cell: Cell, key: Key) -> list[float]:
        return [float(key[0] in top), float(key[1] in top), float(cell.old in top), float(cell.new in top)]

    def moments(cell: Cell, key: Key) -> Sequence[float]:
        values = np.array([1.0, *row(cell, key)])
        return [float(value) for value in np.outer(values, values).ravel()]

    def changes(cell: Cell, key: Key) -> Sequence[float]:
        human_old, human_new, judge_old, judge_new = row(cell, key)
        change, judged = human_new - human_old, judge_new - judge_old
        flags = [float(change > 0), float(change < 0), float(change == 0)]
        return [1.0, *flags, *(judged * flag for flag in flags)]

    covariance = _covariance(means_of(groups, moments).reshape(5, 5))
    one, plus, minus, same, judged_plus, judged_minus, judged_same = means_of(groups, changes).tolist()
    fall = _quotient(judged_minus, minus)
    tau_level = _tau_level(covariance)
    r, r_errors = _correlation(covariance, _OLD, _NEW), _correlation(covariance, _ERROR_OLD, _ERROR_NEW)
    return Helpfulness(
        r=r,
        r_errors=r_errors,
        tau_level=tau_level,
        tau_difference=_tau(_correlation(covariance, _DIFFERENCE, _JUDGED_DIFFERENCE)),
        tau_predicted=_predicted(tau_level, r, r_errors),
        improved=pool.size * plus / one,
        worsened=pool.size * minus / one,
        youden_improved=_quotient(judged_plus, plus),
        youden_worsened=None if fall is None else -fall,
        shift_unchanged=_quotient(judged_same, same),
    )


# Linear combinations of (h_old, h_new, j_old, j_new).
_OLD, _NEW = (1, 0, 0, 0), (0, 1, 0, 0)
_ERROR_OLD, _ERROR_NEW = (-1, 0, 1, 0), (0, -1, 0, 1)
_DIFFERENCE, _JUDGED_DIFFERENCE = (-1, 1, 0, 0), (0, 0, -1, 1)


def _covariance(moments: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled = moments / moments[0, 0]
    return np.asarray(scaled[1:, 1:] - np.outer(scaled[0, 1:], scaled[0, 1:]))


def _correlation(covariance: NDArray[np.float64], one: Sequence[int], other: Sequence[int]) -> float | None:
    a, b = np.array(one, dtype=np.float64), np.array(other, dtype=np.float64)
    spread = float(a @ covariance @ a) * float(b @ covariance @ b)
    return float(a @ covariance @ b) / math.sqrt(spread) if spread > 1e-24 else None


def _tau(rho: float | None) -> float | None:
    return None if rho is None or rho**2 > 1 - 1e-12 else 1 / (1 - rho**2)


def _tau_level(covariance: NDArray[np.float64]) -> float | None:
    """From the moments of both versions together, since the prediction takes them as equal."""
    both = float(covariance[0, 2] + covariance[1, 3])
    spread = float((covariance[0, 0] + covariance[1, 1]) * (covariance[2, 2] + covariance[3, 3]))
    return _tau(both / math.sqrt(spread)) if spread > 1e-24 else None


def _predicted(tau_level: float | None, r: float | None, r_errors: float | None) -> float | None:
    if tau_level is None or r is None or r_errors is None or r_errors > 1 - 1e-12:
        return None
    return 1 + (tau_level - 1) * (1 - r) / (1 - r_errors)


def _quotient(one: float, other: float) -> float | None:
    return one / other if other > 1e-12 else None
