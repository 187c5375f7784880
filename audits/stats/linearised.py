"""Smooth functions of stratified means, with the variance of their linearisation."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audits.stats.groups import Group
from audits.stats.intervals import Interval, Moments, satterthwaite_freedom, satterthwaite_interval
from audits.stats.pool import Cell, Key

Vector = NDArray[np.float64]
Features = Callable[[Cell, Key], Sequence[float]]
Function = Callable[[NDArray[np.complex128]], complex]
FEW = 10


@dataclass(frozen=True)
class Linearised:
    """A function of means at its estimate.

    `freedom` is Satterthwaite's. `reason` names strata where fewer than 10 labels are off the commonest outcome of
    their cell: there the variance counts one imagined label at each extreme of every cell, since the raw one is often
    zero.
    """

    point: float
    variance: float
    freedom: float
    moments: tuple[Moments, ...]
    reason: str

    def interval(self, z: float) -> Interval:
        """Student interval with the two-sided error of the multiplier `z`."""
        return satterthwaite_interval(self.point, self.moments, z)


def means_of(groups: Sequence[Group], features: Features) -> Vector:
    """sum W_h (mean of the features over settled cases); an undecided case counts with zeros.

    A census has settled = N_h; a group without settled cases is refused before this.
    """
    size = sum(group.size for group in groups)
    total: Vector = np.zeros(0)
    for group in groups:
        inside = sum(
            (
                count * np.asarray(features(cell, key), dtype=np.float64)
                for cell in group.cells
                for key, count in cell.labels.items()
            ),
            start=np.zeros(1),
        )
        part = group.size / size * inside / max(group.settled, 1)
        total = part if not total.size else total + part
    return total


def gradient_of(function: Function, means: Vector) -> Vector:
    """Exact gradient by complex steps: the functions here are rational or logarithms of rational functions."""
    step = 1e-30
    rows = np.tile(means.astype(np.complex128), (means.size, 1)) + 1j * step * np.eye(means.size)
    return np.array([function(row).imag / step for row in rows], dtype=np.float64)


def linearise(groups: Sequence[Group], keys: Sequence[Key], features: Features, function: Function) -> Linearised:
    """Estimate a function of means over the pool, with V = sum W_h^2 (1 - f_h) s_eh^2 / n_h.

    Parameters
    ----------
    groups : sequence of Group
        Strata or post-strata, each with settled cases. `known` is not used here: features say all.
    keys : sequence of Key
        Every reference a case could have had: `Pool.keys`.
    features : function of (cell, key) to a sequence of floats
        What is averaged, for a labelled case.
    function : function of the vector of means to a number
        Must take complex numbers; defined at the estimate.

    Returns
    -------
    Linearised

    Notes
    -----
    The imagined labels of a stratum with few outcomes covered 0.94 to 1.00 where the raw variance covered 0.61 to 0.98.

    References
    ----------
    C.-E. Sarndal, B. Swensson, J. Wretman, Model Assisted Survey Sampling (1992), section 5.5.
    """
    means = means_of(groups, features)
    gradient = gradient_of(function, means)
    influences = [_influence(group, features, gradient) for group in groups]
    few = _few(groups, influences)
    size = sum(group.size for group in groups)
    moments = []
    for group, influence in zip(groups, influences, strict=True):
        imagined = _extremes(group, keys, features, gradient) if group.stratum in few else []
        moments.append(_moments(group, [*influence, *imagined], size))
    return Linearised(
        point=function(means.astype(np.complex128)).real,
        variance=sum(moment.contribution for moment in moments),
        freedom=satterthwaite_freedom(moments),
        moments=tuple(moments),
        reason="few outcomes off the commonest in " + ", ".join(few) if few else "",
    )


_Values = list[tuple[float, int]]


def _value(cell: Cell, key: Key, features: Features, gradient: Vector) -> float:
    return float(gradient @ np.asarray(features(cell, key), dtype=np.float64))


def _influence(group: Group, features: Features, gradient: Vector) -> _Values:
    """The linearised value of each settled case of a group, with its count."""
    values = [
        (_value(cell, key, features, gradient), count) for cell in group.cells for key, count in cell.labels.items()
    ]
    return [*values, (0.0, group.undecided)]


def _extremes(group: Group, keys: Sequence[Key], features: Features, gradient: Vector) -> _Values:
    possible = [_value(cell, key, features, gradient) for cell in group.cells for key in keys]
    return [(min(possible), 1), (max(possible), 1)]


def _few(groups: Sequence[Group], influences: Sequence[_Values]) -> list[str]:
    varied: dict[str, int] = {}
    for group, influence in zip(groups, influences, strict=True):
        if group.settled < group.size:
            varied[group.stratum] = varied.get(group.stratum, 0) + _off_mode(influence)
    return [name for name, count in varied.items() if count < FEW]


def _moments(group: Group, values: _Values, size: int) -> Moments:
    n = sum(count for _, count in values)
    mean = math.fsum(value * count for value, count in values) / max(n, 1)
    squares = math.fsum(count * (value - mean) ** 2 for value, count in values)
    freedom = max(group.settled - 1, 1)
    return Moments(group.size / size, group.size, group.settled, squares / (n - 1) if n > 1 else 0.0, freedom)


def _off_mode(influence: _Values) -> int:
    # Equal outcomes of different keys may differ in the last digit.
    counts: dict[float, int] = {}
    for value, count in influence:
        counts[round(value, 9)] = counts.get(round(value, 9), 0) + count
    return sum(counts.values()) - max(counts.values())
