"""What can be estimated: the literal dictionary of means, each with its per-case quantity and its structural zero.

The estimands that are ratios or sets of shares (`four_cells`, `regression_share`, `independence_ratio`,
`class_conditional`) are functions of these cells in `audits.stats.ratios`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from audits.stats.checks import checked_choice, refused
from audits.stats.pool import KINDS, Cell, Key, Label, Pool

Side = Literal["old", "new"]
SIDES = ("old", "new")
Scale = Mapping[Label, float | None]


@dataclass(frozen=True)
class Estimand:
    """A mean over the pool.

    `value(cell, key, scale, side)` is y of a labelled case; `values(cell, scale)` are all values y can take in a
    cell whatever the label, which decides the interval; `is_zero(cell)` says that y = 0 is known without a label;
    `judged(cell, scale, side)` is what the verdicts alone would say, None where they cannot.
    """

    key: str
    question: str
    kinds: tuple[str, ...]
    needs_values: bool
    sided: bool
    value: Callable[[Cell, Key, Scale, Side | None], float]
    values: Callable[[Cell, Scale], tuple[float, ...]]
    is_zero: Callable[[Cell], bool]
    judged: Callable[[Cell, Scale, Side | None], float | None]
    # Post-strata inside a stratum: its verdict cells, its agreements apart from its disagreements, or none.
    basis: Literal["cells", "agreement", "strata"] = "cells"
    exact: bool = False
    # Whether a known zero still needs an answer to belong to the decidable cases. A difference of 0 is 0 whatever
    # the answer would be; a share of cases must leave the same cases out as the shares it adds to 1 with.
    zero_needs_answer: bool = False


def _number(scale: Scale, label: Label) -> float:
    return float(scale[label])  # type: ignore[arg-type]  # `estimand_for` refuses a scale without numbers


def _reference(key: Key, side: Side | None) -> Label:
    if isinstance(key, str):
        return key
    return key[0] if side == "old" else key[1]


def _difference(cell: Cell, key: Key, scale: Scale, side: Side | None) -> float:
    return float(scale[key[1]] - scale[key[0]])  # type: ignore[operator]  # see `_number`


def _differences(cell: Cell, scale: Scale) -> tuple[float, ...]:
    return _all_differences(tuple(scale.values()))


@lru_cache(maxsize=64)  # asked for every cell of a pool
def _all_differences(numbers: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(sorted({float(new) - float(old) for new in numbers for old in numbers}))


def _judged_difference(cell: Cell, scale: Scale, side: Side | None) -> float:
    return _number(scale, cell.new) - _number(scale, cell.old)


def _gain(cell: Cell, key: Key, scale: Scale, side: Side | None) -> float:
    return float(cell.new == key) - float(cell.old == key)


def _gains(cell: Cell, scale: Scale) -> tuple[float, ...]:
    if cell.old == cell.new:
        return (0.0,)
    # On a scale of two labels one of two different verdicts is right, so 0 is impossible.
    return (-1.0, 1.0) if len(scale) == 2 else (-1.0, 0.0, 1.0)


def _level(cell: Cell, key: Key, scale: Scale, side: Side | None) -> float:
    return _number(scale, _reference(key, side))


def _levels(cell: Cell, scale: Scale) -> tuple[float, ...]:
    return tuple(sorted({_number(scale, label) for label in scale}))


def _judged_level(cell: Cell, scale: Scale, side: Side | None) -> float:
    return _number(scale, cell.old if side == "old" else cell.new)


def _right(cell: Cell, key: Key, scale: Scale, side: Side | None) -> float:
    return float((cell.old if side == "old" else cell.new) == _reference(key, side))


def _never(cell: Cell) -> bool:
    return False


def _nothing(cell: Cell, scale: Scale, side: Side | None) -> None:
    return None


ESTIMANDS: dict[str, Estimand] = {
    estimand.key: estimand
    for estimand in (
        Estimand(
            key="success_difference",
            question="By how much did success change from the old version to the new one?",
            kinds=("version_upgrade",),
            needs_values=True,
            sided=False,
            value=_difference,
            values=_differences,
            is_zero=lambda cell: cell.structural_zero,
            judged=_judged_difference,
        ),
        Estimand(
            key="score_difference",
            question="By how many grades did the new version change, on average?",
            kinds=("version_upgrade",),
            needs_values=True,
            sided=False,
            value=_difference,
            values=_differences,
            is_zero=lambda cell: cell.structural_zero,
            judged=_judged_difference,
        ),
        Estimand(
            key="accuracy_difference",
            question="Is the new judge right more often than the old one?",
            kinds=("judge_swap",),
            needs_values=False,
            sided=False,
            value=_gain,
            values=_gains,
            is_zero=lambda cell: cell.old == cell.new,
            judged=_nothing,
            basis="strata",
            exact=True,
        ),
        Estimand(
            key="success_rate",
            question="How often does this side succeed?",
            kinds=KINDS,
            needs_values=True,
            sided=True,
            value=_level,
            values=_levels,
            is_zero=_never,
            judged=_judged_level,
        ),
        Estimand(
            key="accuracy",
            question="How often is this side's verdict right?",
            kinds=KINDS,
            needs_values=False,
            sided=True,
            value=_right,
            values=lambda cell, scale: (0.0, 1.0),
            is_zero=_never,
            judged=_nothing,
            # Being right is likelier where the judges agree, but no likelier in one cell of them than in another.
            # Measured: cells gain no width over this, cost coverage (0.92 for 0.95 at 80 labels), and lose that
            # accuracy new - accuracy old is the accuracy difference.
            basis="agreement",
        ),
    )
}


def estimand_for(pool: Pool, key: str, side: Side | None = None) -> Estimand:
    """The estimand, checked against the pool.

    Raises
    ------
    InputError
        Unknown key; an estimand of the other kind of comparison; a side that is missing, unknown or has no
        meaning; a label without a number where numbers are needed.
    """
    estimand = ESTIMANDS[checked_choice(key, "estimand", ESTIMANDS)]
    if pool.kind not in estimand.kinds:
        allowed = ", ".join(estimand.kinds)
        raise refused(f"{key} has no meaning for this comparison", key="kind", value=pool.kind, allowed=allowed)
    if estimand.sided:
        checked_choice(side, "side", SIDES)
    elif side is not None:
        raise refused(f"{key} compares both sides", key="side", value=side, allowed="no side")
    bare = [label for label, number in pool.scale.items() if number is None]
    if estimand.needs_values and bare:
        raise refused(f"{key} needs the number each label counts as", key="scale", value=", ".join(bare))
    return estimand
