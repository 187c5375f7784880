"""Judge error by version: true and false positive rates, Youden's J, and what they do to the comparison."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audits.stats.checks import checked_count, refused
from audits.stats.estimands import ESTIMANDS
from audits.stats.groups import Group, Merge, cell_groups
from audits.stats.intervals import Interval, z_value
from audits.stats.linearised import Linearised, linearise, means_of
from audits.stats.pool import Cell, Key, Label, Pool

Means = NDArray[np.complex128]


@dataclass(frozen=True)
class Rate:
    """A rate or a difference of rates; None where it is undefined, with the reason.

    `reason` beside a point is a warning: the labels vary so little that the interval may be too narrow.
    """

    point: float | None
    interval: Interval | None
    reason: str = ""


@dataclass(frozen=True)
class ClassConditional:
    """Class-conditional error of one judge on two versions, fixed-n intervals.

    `delta` is the differential part of the comparison error, `e` the whole: judged difference minus human
    difference. `transported` is e_T = delta / J_o, the error of carrying the old calibration over: a warning,
    never an estimate, so it has no interval.
    """

    tpr_old: Rate
    tpr_new: Rate
    fpr_old: Rate
    fpr_new: Rate
    youden_old: Rate
    youden_new: Rate
    delta: Rate
    e: Rate
    transported: Rate
    labels: int
    size: int
    level: float
    merges: tuple[Merge, ...]


def positive_labels(pool: Pool) -> frozenset[Label]:
    """The labels that count as success: those at the top of a scale that has two values."""
    numbers = {number for number in pool.scale.values() if number is not None}
    if len(numbers) != 2 or None in pool.scale.values():
        found = ", ".join(f"{label}={number}" for label, number in pool.scale.items())
        raise refused("say which labels are positive", key="positive", value=found, allowed="a scale of two values")
    return frozenset(label for label, number in pool.scale.items() if number == max(numbers))


def class_conditional(
    pool: Pool, *, positive: Collection[Label] | None = None, level: float = 0.95, merge_below: int = 10
) -> ClassConditional:
    """TPR and FPR of the judge on each version, and how they distort the comparison.

    Parameters
    ----------
    pool : Pool of kind 'version_upgrade'
        Byte-identical pairs need labels here like all others.
    positive : collection of labels, optional
        Which labels are a success. Default: the higher value of a scale with two values.
    level : float in (0, 1)
    merge_below : int
        As in `estimate`: cells with fewer labels are merged.

    Returns
    -------
    ClassConditional

    Raises
    ------
    InputError
        For a judge swap, an unknown positive label, or while a stratum has no label.

    Notes
    -----
    Estimated on the verdict cells, so that the judged rates are those of the pool. Every quantity is a smooth
    function of means, linearised, with Satterthwaite's t. With J = TPR - FPR and p the human rate of each version,
    delta = (TPR_n - TPR_o) p_n + (FPR_n - FPR_o) (1 - p_n) and e = delta - (1 - J_o) D_H = D_J - D_H.
    J_o <= 0 leaves e_T undefined: the old verdicts then say nothing, or the opposite, of the labels.

    References
    ----------
    W. J. Youden, Index for rating diagnostic tests, Cancer 3 (1950) 32-35; W. J. Rogan and B. Gladen, American
    Journal of Epidemiology 107 (1978) 71-76, for the calibration that e_T is about.
    """
    if pool.kind != "version_upgrade":
        raise refused("two versions are compared here", key="kind", value=pool.kind, allowed="version_upgrade")
    checked_count(merge_below, "merge_below")
    top = checked_positive(pool, positive)
    groups, merges = cell_groups(pool, ESTIMANDS["accuracy"], "old", merge_below)
    waiting = [group.name for group in groups if not group.labels and not group.census]
    if waiting:
        raise refused("a stratum has no label yet", key="strata", value=", ".join(waiting), allowed="one label or more")

    def features(cell: Cell, key: Key) -> Sequence[float]:
        human = [float(label in top) for label in key]
        judge = [float(cell.old in top), float(cell.new in top)]
        return 1.0, *human, *judge, human[0] * judge[0], human[1] * judge[1]

    means = means_of(groups, features)
    z = z_value(level)

    def rate(function: Callable[[Means], complex], needs: str, low: float = -1.0) -> Rate:
        return _rate(groups, pool.keys, features, function, _undefined(means, needs), z, (low, 1.0))

    return ClassConditional(
        tpr_old=rate(_tpr(0), "o+", 0.0),
        tpr_new=rate(_tpr(1), "n+", 0.0),
        fpr_old=rate(_fpr(0), "o-", 0.0),
        fpr_new=rate(_fpr(1), "n-", 0.0),
        youden_old=rate(_youden(0), "o+ o-"),
        youden_new=rate(_youden(1), "n+ n-"),
        delta=rate(_delta, "o+ o- n+ n-"),
        e=rate(_error, ""),
        transported=_transported(means),
        labels=sum(group.labels for group in groups),
        size=pool.size,
        level=level,
        merges=tuple(merges),
    )


def checked_positive(pool: Pool, positive: Collection[Label] | None) -> frozenset[Label]:
    if positive is None:
        return positive_labels(pool)
    for label in positive:
        if label not in pool.scale:
            raise refused("a label is not on the scale", key="positive", value=label, allowed=", ".join(pool.scale))
    return frozenset(positive)


# Means in the order of `features`: 1, h_old, h_new, j_old, j_new, h_old j_old, h_new j_new.
def _tpr(side: int) -> Callable[[Means], complex]:
    return lambda m: complex(m[5 + side] / m[1 + side])


def _fpr(side: int) -> Callable[[Means], complex]:
    return lambda m: complex((m[3 + side] - m[5 + side]) / (m[0] - m[1 + side]))


def _youden(side: int) -> Callable[[Means], complex]:
    return lambda m: _tpr(side)(m) - _fpr(side)(m)


def _delta(m: Means) -> complex:
    """The new judged rate minus what the old rates would give at the new human rate."""
    p = complex(m[2] / m[0])
    return (_tpr(1)(m) - _tpr(0)(m)) * p + (_fpr(1)(m) - _fpr(0)(m)) * (1 - p)


def _error(m: Means) -> complex:
    return complex((m[4] - m[3] - m[2] + m[1]) / m[0])


def _undefined(means: NDArray[np.float64], needs: str) -> str:
    """Why a rate has no denominator; empty where it has one."""
    answered, old, new = means[0], means[1], means[2]
    amounts = {"o+": old, "o-": answered - old, "n+": new, "n-": answered - new}
    words = {"o": "old", "n": "new", "+": "positive", "-": "negative"}
    missing = [need for need in needs.split() if amounts[need] <= 1e-12]
    return "; ".join(f"no {words[need[1]]} reference among the {words[need[0]]} version's labels" for need in missing)


def _rate(
    groups: Sequence[Group],
    keys: Sequence[Key],
    features: Callable[[Cell, Key], Sequence[float]],
    function: Callable[[Means], complex],
    undefined: str,
    z: float,
    bounds: tuple[float, float],
) -> Rate:
    if undefined:
        return Rate(None, None, undefined)
    found: Linearised = linearise(groups, keys, features, function)
    return Rate(found.point, found.interval(z).clipped(*bounds), found.reason)


def _transported(means: NDArray[np.float64]) -> Rate:
    undefined = _undefined(means, "o+ o- n+ n-")
    if undefined:
        return Rate(None, None, undefined)
    whole = means.astype(np.complex128)
    youden = _youden(0)(whole).real
    if youden <= 0:
        return Rate(None, None, f"Youden's J of the old version is {youden:.3f}: transport is undefined")
    return Rate(_delta(whole).real / youden, None, "a warning about transported calibration, not an estimate")
