"""Does the judge treat the two versions differently where people do not? Exact McNemar per label, Holm over judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import bdtr

from audits.stats.checks import checked_choice, refused
from audits.stats.design import BY, FORCED, By
from audits.stats.pool import Cell, Label, Pool


@dataclass(frozen=True)
class McNemar:
    """One judge, one human label that both versions got.

    `gained` cases had the new version alone judged to have that label, `lost` the old one alone. `p_value` is exact and
    two-sided, None without a discordant case. `adjusted` is Holm's over the judges tested on the same label.
    """

    judge: str
    label: Label
    gained: int
    lost: int
    cases: int
    p_value: float | None
    adjusted: float | None
    reason: str = ""


def exact_mcnemar(gained: int, lost: int) -> float | None:
    """Two-sided exact p-value of the discordant pairs; None where there are none.

    References
    ----------
    Q. McNemar, Psychometrika 12 (1947) 153-157; the exact form is the sign test.
    """
    n = gained + lost
    if n == 0:
        return None
    return min(1.0, 2 * float(bdtr(min(gained, lost), n, 0.5)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979) 65-70.
    """
    order = np.argsort(np.asarray(p_values), kind="stable")
    adjusted, reached = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        if not 0 <= p_values[index] <= 1:
            raise refused("a p-value is out of range", key="p_values", value=p_values[index], allowed="from 0 to 1")
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[int(index)] = reached
    return adjusted


def differential_error(pools: Mapping[str, Pool], *, by: By = "agreement") -> list[McNemar]:
    """Test each judge for errors that depend on the version, given the human label.

    Parameters
    ----------
    pools : mapping of judge to Pool of kind 'version_upgrade'
        Each judge's verdicts on the two versions of the same cases, with their references.
    by : {'agreement', 'transition'}
        How the strata of the plan were made.

    Returns
    -------
    list of McNemar
        Judges in the order given, labels in the order of the scale.

    Raises
    ------
    InputError
        For a judge swap, and where the design forbids the test: strata by transition, or forced cases. The test is
        valid only where inclusion depends on the size of the change of verdict, never on its direction.

    Notes
    -----
    Unweighted counts: within the cases of one label, both directions of a change were sampled at the same rate.
    """
    checked_choice(by, "strata.by", BY)
    for pool in pools.values():
        _check_design(pool, by)
    results = [_tested(judge, label, pool) for judge, pool in pools.items() for label in pool.scale]
    return _adjusted(results)


def _check_design(pool: Pool, by: By) -> None:
    if pool.kind != "version_upgrade":
        raise refused("two versions are compared here", key="kind", value=pool.kind, allowed="version_upgrade")
    if by == "transition":
        raise refused("inclusion depends on the direction of change", key="strata.by", value=by, allowed="agreement")
    if FORCED in pool.strata:
        raise refused("forced cases were not drawn at random", key="strata", value=FORCED, allowed="no forced cases")


def _tested(judge: str, label: Label, pool: Pool) -> McNemar:
    gained = sum(_agreed(cell, label) for cell in pool.cells if cell.new == label != cell.old)
    lost = sum(_agreed(cell, label) for cell in pool.cells if cell.old == label != cell.new)
    cases = sum(_agreed(cell, label) for cell in pool.cells)
    p_value = exact_mcnemar(gained, lost)
    return McNemar(judge, label, gained, lost, cases, p_value, None, "" if gained + lost else "no discordant case")


def _agreed(cell: Cell, label: Label) -> int:
    return cell.labels.get((label, label), 0)


def _adjusted(results: Sequence[McNemar]) -> list[McNemar]:
    adjusted: dict[int, float] = {}
    for label in dict.fromkeys(one.label for one in results):
        family = [
            (index, one.p_value) for index, one in enumerate(results) if one.label == label and one.p_value is not None
        ]
        values = holm([p for _, p in family])
        adjusted.update({index: value for (index, _), value in zip(family, values, strict=True)})
    return [replace(one, adjusted=adjusted.get(index)) for index, one in enumerate(results)]
