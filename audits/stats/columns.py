"""Columns of one row per case: categories as whole numbers, and the settled prefix of each stratum."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from audits.stats.checks import refused

Integers = NDArray[np.intp]
Marks = NDArray[np.bool_]
Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Coded(Generic[Name]):
    """A column of categories: `codes[row]` is the place of the row's category in `names`, -1 where it has none.

    Whoever holds many rows keeps them like this: counting whole numbers is what makes a million rows cheap.
    """

    codes: NDArray[np.integer[Any]]
    names: tuple[Name, ...]

    def __post_init__(self) -> None:
        if not np.issubdtype(self.codes.dtype, np.integer) or self.codes.ndim != 1:
            raise refused("codes are whole numbers in one column", key="codes", value=self.codes.dtype)
        if self.codes.size and not -1 <= (wrong := _outermost(self.codes, len(self.names))) < len(self.names):
            raise refused("a code has no name", key="codes", value=wrong, allowed=f"-1 to {len(self.names) - 1}")

    def __len__(self) -> int:
        return int(self.codes.size)

    @cached_property
    def complete(self) -> bool:
        """Whether every row has a category."""
        return not self.codes.size or int(self.codes.min()) >= 0

    @classmethod
    def of(cls, values: "Coded[Name] | Sequence[Name | None]") -> "Coded[Name]":
        """From values, by first appearance; None has no category."""
        if isinstance(values, Coded):
            return values
        plain: Sequence[Name | None] = values.tolist() if isinstance(values, np.ndarray) else values
        place: dict[Name | None, int] = {None: -1}
        for name in dict.fromkeys(plain):
            place.setdefault(name, len(place) - 1)
        codes = np.fromiter(map(place.__getitem__, plain), dtype=np.intp, count=len(plain))
        return cls(codes, tuple(name for name in place if name is not None))


def _outermost(codes: NDArray[np.integer[Any]], count: int) -> int:
    """The code to complain of, if any: the least or the largest."""
    least = int(codes.min())
    return least if least < -1 else int(codes.max())


@dataclass(frozen=True)
class Prefix:
    """Rows that count, and by stratum what came back early: `waiting` settled rows behind `gaps` open ones."""

    rows: Integers
    waiting: Integers
    gaps: Integers


def settled_prefix(position: ArrayLike, settled: ArrayLike) -> Marks:
    """Which cases of one stratum an estimate may use: the longest settled prefix of its random order.

    Parameters
    ----------
    position : array of int, shape (n,)
        Place in the permanent random order, consecutive from 0 or from 1; negative where not drawn.
    settled : array of bool, shape (n,)

    Returns
    -------
    array of bool, shape (n,)
        In the order given.

    Raises
    ------
    InputError
        If a position repeats, or one is missing before the last.

    Notes
    -----
    Whatever arrived first is not a random sample: easy cases come back early. Measured, using all arrivals
    covered 0.50 and the prefix 0.95 at nominal 0.95.
    """
    places = np.asarray(position, dtype=np.intp)
    found = settled_prefixes(places, np.asarray(settled, dtype=bool), np.zeros(places.shape, dtype=np.intp), 1)
    marks = np.zeros(places.shape, dtype=bool)
    marks[found.rows] = True
    return marks


def settled_prefixes(position: Integers, settled: Marks, stratum: NDArray[np.integer[Any]], strata: int) -> Prefix:
    """The settled prefix of every stratum at once; `stratum` gives each row's, from 0 to `strata` - 1."""
    if position.shape != settled.shape:
        raise refused("columns differ in length", key="settled", value=settled.size, allowed=f"{position.size} rows")
    drawn = np.flatnonzero(position >= 0)
    owner = stratum[drawn].astype(np.intp)
    counts = np.bincount(owner, minlength=strata)
    slot = _slots(position[drawn], owner, counts)
    # The drawn rows one stratum after the other, each in its order: `starts` to `ends` are its slots.
    ends = np.cumsum(counts)
    starts = ends - counts
    in_order = np.empty(drawn.size, dtype=bool)
    in_order[slot] = settled[drawn]
    if in_order.all():
        nothing = np.zeros(strata, dtype=np.intp)
        return Prefix(drawn, nothing, nothing)
    done, still_open = np.flatnonzero(in_order), np.flatnonzero(~in_order)
    first_open = np.minimum(np.append(still_open, drawn.size)[np.searchsorted(still_open, starts)], ends)
    inside = np.searchsorted(done, first_open)
    until = np.searchsorted(done, ends)
    last_done = np.append(done, 0)[until - 1]
    early = until - inside
    behind = np.searchsorted(still_open, last_done) - np.searchsorted(still_open, first_open)
    return Prefix(drawn[slot < first_open[owner]], early, np.where(early > 0, behind, 0))


def _slots(place: Integers, owner: Integers, counts: Integers) -> Integers:
    """Each drawn row's number when the strata stand one after the other, each in its order."""
    strata = counts.size
    first = np.bincount(owner[place == 0], minlength=strata) == 0
    rank = place - first[owner]
    slot: Integers = (np.cumsum(counts) - counts)[owner] + rank
    if (rank >= counts[owner]).any() or (np.bincount(slot, minlength=place.size) != 1).any():
        raise refused(
            "positions repeat or leave a gap",
            key="position",
            value=_misplaced(place, owner, strata),
            allowed="0, 1, 2 or 1, 2, 3 on",
        )
    return slot


def _misplaced(place: Integers, owner: Integers, strata: int) -> int:
    """The first place that repeats, or that follows a gap."""
    orders = (np.sort(place[owner == index]) for index in range(strata))
    wrong = (own[own != min(own[:1].sum(), 1) + np.arange(own.size)] for own in orders)
    return next(int(places[0]) for places in wrong if places.size)
