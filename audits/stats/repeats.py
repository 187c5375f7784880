"""The rerun floor: how much one judge version changes when it is only run again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import median
from typing import Literal

from audits.stats.checks import refused
from audits.stats.four_cells import Share, share, waiting_for
from audits.stats.pool import Label, Pool

Cause = Literal["rerun", "order"]


@dataclass(frozen=True)
class RepeatPair:
    """One ordered pair of repeats: labels changed, of the cases with a label of the scale in both; and right in the
    first and wrong in the second, of all cases."""

    first: str
    second: str
    changed: float
    regressed: Share | None
    reason: str = ""


@dataclass(frozen=True)
class Spread:
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Floor:
    """What repeats do without any change of version.

    `cause` is "rerun" for plain repeats and "order" for runs that differ in presentation order; the two are never
    mixed. `selective` repeats cover only some cases and are left out. `regressed` is None without references.
    """

    cause: Cause
    repeats: tuple[str, ...]
    selective: tuple[str, ...]
    cases: int
    pairs: tuple[RepeatPair, ...]
    changed: Spread | None
    regressed: Spread | None
    reason: str = ""

    def holds(self, regressed: float) -> bool:
        """Whether an upgrade's regressed share of all pairs is inside the floor: not distinguishable from a rerun."""
        if self.cause != "rerun":
            raise refused("order sensitivity is not a rerun floor", key="cause", value=self.cause, allowed="rerun")
        return self.regressed is not None and regressed <= self.regressed.high


def rerun_floor(
    repeats: Mapping[str, Sequence[Label | None]],
    *,
    scale: Mapping[Label, float | None],
    references: Sequence[Label | None] | None = None,
    strata: Sequence[str] | None = None,
    level: float = 0.95,
) -> Floor:
    """Compare all ordered pairs of repeats of one judge version on the same artifacts.

    Parameters
    ----------
    repeats : mapping of name to sequence of labels, length N
        None where the repeat has no row for the case. An invalid reading is not a missing row: give it a label
        of its own that is not on the scale, such as "unparsed"; it is never right, and no change of label.
    scale : mapping of label to number
        The labels a reference may have.
    references : sequence of label or None, length N, optional
        None where the case is not labelled. Sampled references need `strata`.
    strata : sequence of str, length N, optional
        The stratum of each case; references are the settled prefixes of their random orders. One stratum unless given.
    level : float in (0, 1)

    Returns
    -------
    Floor
        Regressed shares are of all N cases. Where references are sampled they are design-weighted, with a fixed-n
        interval.

    Raises
    ------
    InputError
        Unequal lengths, no repeats, or a reference that is not on the scale.

    Notes
    -----
    A pair whose labels are equal cannot have regressed: unchanged cases are structural zeros and need no reference.
    """
    return _floor("rerun", repeats, scale, references, strata, level)


def order_sensitivity(
    runs: Mapping[str, Sequence[Label | None]],
    *,
    scale: Mapping[Label, float | None],
    references: Sequence[Label | None] | None = None,
    strata: Sequence[str] | None = None,
    level: float = 0.95,
) -> Floor:
    """The same comparison of runs that differ in presentation order; never called a rerun floor.

    Parameters, returns and errors are those of `rerun_floor`.
    """
    return _floor("order", runs, scale, references, strata, level)


def _floor(
    cause: Cause,
    repeats: Mapping[str, Sequence[Label | None]],
    scale: Mapping[Label, float | None],
    references: Sequence[Label | None] | None,
    strata: Sequence[str] | None,
    level: float,
) -> Floor:
    if not repeats:
        raise refused("there are no repeats", key="repeats", value=0, allowed="two or more")
    cases = len(next(iter(repeats.values())))
    for name, column in {**repeats, "references": references, "strata": strata}.items():
        if column is not None and len(column) != cases:
            raise refused("columns differ in length", key=name, value=len(column), allowed=f"{cases} rows")
    selective = tuple(name for name, labels in repeats.items() if any(label is None for label in labels))
    full = {name: [str(label) for label in labels] for name, labels in repeats.items() if name not in selective}
    if len(full) < 2:
        return Floor(cause, tuple(full), selective, cases, (), None, None, "fewer than two repeats cover all cases")
    strata = strata if strata is not None else ["all"] * cases
    pairs = tuple(
        _pair(first, second, full, scale, references, strata, level) for first, second in permutations(full, 2)
    )
    regressed = [pair.regressed.point for pair in pairs if pair.regressed is not None]
    return Floor(
        cause,
        tuple(full),
        selective,
        cases,
        pairs,
        _spread([pair.changed for pair in pairs]),
        _spread(regressed) if len(regressed) == len(pairs) else None,
        "; ".join(dict.fromkeys(pair.reason for pair in pairs if pair.reason)),
    )


def _pair(
    first: str,
    second: str,
    full: Mapping[str, Sequence[Label]],
    scale: Mapping[Label, float | None],
    references: Sequence[Label | None] | None,
    strata: Sequence[str],
    level: float,
) -> RepeatPair:
    old, new = full[first], full[second]
    labelled = [(a, b) for a, b in zip(old, new, strict=True) if a in scale and b in scale]
    changed = sum(a != b for a, b in labelled) / max(1, len(labelled))
    if references is None:
        return RepeatPair(first, second, changed, None, "no references")
    for label in references:
        if label is not None and label not in scale:
            raise refused("a reference is not on the scale", key="references", value=label, allowed=", ".join(scale))
    # Invalid readings join the scale as labels that no reference has.
    whole = {**scale, **{label: None for label in (*old, *new) if label not in scale}}
    pool = Pool.from_arrays(kind="judge_swap", scale=whole, stratum=strata, old=old, new=new, reference=references)
    waiting = waiting_for(pool, "only_old")
    if waiting:
        return RepeatPair(first, second, changed, None, f"no changed case has a reference yet in {', '.join(waiting)}")
    return RepeatPair(first, second, changed, share(pool, "only_old", level=level))


def _spread(values: Sequence[float]) -> Spread:
    return Spread(min(values), median(values), max(values))
