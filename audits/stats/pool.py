"""The pool as sufficient statistics: a row per cell, so that the cost of a look grows with the strata.

A cell is (stratum, old verdict, new verdict), which the judges fix for every eligible case before any label.
All estimands of this package are functions of the cell sizes and of the counts of reference labels in them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from audits.stats.checks import checked_choice, checked_count, refused
from audits.stats.columns import Coded, Integers, settled_prefixes

Label = str
# Judge swap: the reference label. Version upgrade: (label of the old output, label of the new output).
Key = str | tuple[str, str]
Kind = Literal["judge_swap", "version_upgrade"]
KINDS = ("judge_swap", "version_upgrade")


@dataclass(frozen=True)
class Scores:
    """Moments of a finer judge score in a cell: over all its cases, and over the labelled ones by reference.

    `labels` gives (sum of x, sum of x^2) for each key of the cell's `labels`.
    """

    total: float
    squares: float
    labels: Mapping[Key, tuple[float, float]]


@dataclass(frozen=True)
class Cell:
    """All eligible cases of one stratum with the same pair of verdicts.

    `size` counts them; `labels` counts the settled cases of the stratum's settled prefix by reference; `undecided`
    those of the prefix that were settled without a label (underspecified, cannot judge). `structural_zero` marks
    the cases of a version upgrade whose output and evidence are byte-identical: their success cannot differ. A
    stratum may hold both a marked and an unmarked cell of one verdict pair; only the mark, never the name of the
    stratum, makes a structural zero.
    """

    stratum: str
    old: Label
    new: Label
    size: int
    labels: Mapping[Key, int] = field(default_factory=dict)
    undecided: int = 0
    structural_zero: bool = False
    scores: Scores | None = None

    @cached_property
    def labelled(self) -> int:
        return sum(self.labels.values())

    @property
    def settled(self) -> int:
        return self.labelled + self.undecided


@dataclass(frozen=True)
class Waiting:
    """Labels of a stratum that came back early: `settled` of them wait behind `gaps` open cases."""

    settled: int
    gaps: int


@dataclass(frozen=True)
class Pool:
    """N eligible cases, fixed before labelling.

    `scale` gives the number each label counts as, or None on a nominal scale. `waiting` is information for
    the reader; no estimate uses it.
    """

    cells: tuple[Cell, ...]
    kind: Kind
    scale: Mapping[Label, float | None]
    waiting: Mapping[str, Waiting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_choice(self.kind, "kind", KINDS)
        if not self.cells:
            raise refused("the pool has no strata", key="cells", value=0, allowed="at least one cell")
        for label, number in self.scale.items():
            if number is not None and not math.isfinite(number):
                raise refused("a label counts as no finite number", key=f"scale.{label}", value=number)
        seen: set[tuple[str, str, str, bool]] = set()
        keys = frozenset(self.keys)
        for cell in self.cells:
            if not _is_sound(cell, self.scale, keys):
                _check_cell(cell, self.kind, self.scale)
            identity = (cell.stratum, cell.old, cell.new, cell.structural_zero)
            if identity in seen:
                raise refused("a cell is given twice", key=f"cells.{cell.stratum}", value=f"{cell.old}→{cell.new}")
            seen.add(identity)

    @property
    def size(self) -> int:
        return sum(cell.size for cell in self.cells)

    @property
    def strata(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.stratum for cell in self.cells))

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every reference a case could have."""
        if self.kind == "judge_swap":
            return tuple(self.scale)
        return tuple((old, new) for old in self.scale for new in self.scale)

    @classmethod
    def from_arrays(
        cls,
        *,
        kind: Kind,
        scale: Mapping[Label, float | None],
        stratum: Coded[str] | Sequence[str],
        old: Coded[Label] | Sequence[Label],
        new: Coded[Label] | Sequence[Label],
        reference: Coded[Key] | Sequence[Key | None],
        settled: ArrayLike | None = None,
        position: ArrayLike | None = None,
        identical: ArrayLike | None = None,
        score: ArrayLike | None = None,
    ) -> "Pool":
        """Tabulate one row per eligible case.

        Parameters
        ----------
        kind : {'judge_swap', 'version_upgrade'}
        scale : mapping of label to number or None
        stratum, old, new : sequence of str, or Coded, length N
            The frame: the case's stratum and the two verdicts, canonical labels. Texts are coded first, which costs
            more than all the rest; whoever looks often at many rows passes them coded.
        reference : sequence of str, (str, str) or None, or Coded, length N
            The settled reference; None where there is none, or where the case was settled without a label.
        settled : array of bool, length N, optional
            Whether the case is settled. Default: where there is a reference.
        position : array of int, length N, optional
            Place in the permanent random order of the stratum, consecutive from 0 or from 1 within each stratum;
            negative for cases that were not drawn. Only the longest settled prefix of each stratum is
            counted; without `position` every settled case is, which is right for a census or a finished sample.
        identical : array of bool, length N, optional
            Byte-identical outputs and evidence (version upgrade).
        score : array of float, length N, optional
            A finer judge score, known for all cases.

        Returns
        -------
        Pool

        Raises
        ------
        InputError
            Unequal lengths, unknown labels, positions that repeat or leave a gap, a score that is no finite number.
        """
        frame = {name: _filled(name, column) for name, column in (("stratum", stratum), ("old", old), ("new", new))}
        answer: Coded[Key] = Coded.of(reference)
        size = len(frame["stratum"])
        done = answer.codes >= 0 if settled is None else np.asarray(settled, dtype=bool)
        same = None if identical is None else np.asarray(identical, dtype=bool)
        columns: dict[str, Any] = {**frame, "reference": answer, "settled": done}
        others = {"identical": same, "position": position, "score": score}
        columns |= {name: column for name, column in others.items() if column is not None}
        for name, column in columns.items():
            if len(column) != size:
                raise refused("columns differ in length", key=name, value=len(column), allowed=f"{size} rows")
        if score is not None and not np.isfinite(found := np.asarray(score, dtype=np.float64)).all():
            wrong = int(np.flatnonzero(~np.isfinite(found))[0])
            raise refused("a score is no finite number", key=f"score[{wrong}]", value=found[wrong])
        waiting = {}
        if position is None:
            rows = np.flatnonzero(done)
        else:
            names, codes = frame["stratum"].names, frame["stratum"].codes
            prefix = settled_prefixes(np.asarray(position, dtype=np.intp), done, codes, len(names))
            rows = prefix.rows
            early = zip(names, prefix.waiting.tolist(), prefix.gaps.tolist(), strict=True)
            waiting = {name: Waiting(number, gaps) for name, number, gaps in early}
        return cls(_tabulate(frame, same, answer, rows, score), kind, dict(scale), waiting)


def _is_sound(cell: Cell, scale: Mapping[Label, float | None], keys: frozenset[Key]) -> bool:
    """Whether a cell of plain whole numbers has nothing to complain of: most have not, and a look checks them all."""
    counts = (cell.size, cell.undecided, *cell.labels.values())
    whole = {*map(type, counts)} == {int} and min(counts) >= 0 and 0 < cell.size >= sum(counts[1:])
    return whole and cell.labels.keys() <= keys and cell.old in scale and cell.new in scale


def _check_cell(cell: Cell, kind: Kind, scale: Mapping[Label, float | None]) -> None:
    place = f"cells.{cell.stratum}.{cell.old}→{cell.new}"
    checked_count(cell.size, f"{place}.size", at_least=1)
    checked_count(cell.undecided, f"{place}.undecided")
    for label in (cell.old, cell.new):
        _check_label(label, place, scale)
    for key, count in cell.labels.items():
        _check_key(key, kind, place, scale)
        checked_count(count, f"{place}.labels.{key}")
    if cell.settled > cell.size:
        allowed = f"at most {cell.size}, the size of the cell"
        raise refused("more cases are settled than there are", key=place, value=cell.settled, allowed=allowed)


def _check_key(key: Key, kind: Kind, place: str, scale: Mapping[Label, float | None]) -> None:
    if isinstance(key, tuple) != (kind == "version_upgrade") or (isinstance(key, tuple) and len(key) != 2):
        shape = "one label" if kind == "judge_swap" else "a pair of labels"
        raise refused("a reference has the wrong shape", key=f"{place}.labels", value=key, allowed=shape)
    for label in key if isinstance(key, tuple) else (key,):
        _check_label(label, f"{place}.labels", scale)


def _check_label(label: Label, place: str, scale: Mapping[Label, float | None]) -> None:
    if label not in scale:
        raise refused("a label is not on the scale", key=place, value=label, allowed=", ".join(scale))


def _filled(name: str, column: "Coded[str] | Sequence[str]") -> Coded[str]:
    coded = Coded.of(column)
    if not coded.complete:
        raise refused("every case has one", key=name, value="None", allowed="a text in every row")
    return coded


def _tabulate(
    frame: Mapping[str, Coded[str]],
    identical: NDArray[np.bool_] | None,
    reference: Coded[Key],
    rows: Integers,
    score: Any,
) -> tuple[Cell, ...]:
    stratum, old, new = frame["stratum"], frame["old"], frame["new"]
    marks = (False,) if identical is None else (True, False)
    identities = list(product(stratum.names, old.names, new.names, marks))
    # The place of a row's cell in `identities`, in the smallest type that holds it: this is what a million rows cost.
    kind = np.min_scalar_type(-len(identities))
    cell = stratum.codes.astype(kind)
    for codes, base in ((old.codes, len(old.names)), (new.codes, len(new.names))):
        cell *= base
        cell += codes.astype(kind, copy=False)
    if identical is not None:
        cell *= 2
        cell += ~identical
    sizes = np.bincount(cell, minlength=len(identities))
    present = np.flatnonzero(sizes)
    dense = np.zeros(len(identities), dtype=np.intp)
    dense[present] = np.arange(present.size)
    # A label's place in the table of cells by references, whose last column counts the undecided: code -1.
    shape = (present.size, len(reference.names) + 1)
    place = dense[cell[rows]] * shape[1] + reference.codes[rows] % shape[1]
    counts = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).tolist()
    moments = (
        None if score is None else _Moments.of(np.asarray(score, dtype=np.float64), dense[cell], rows, place, shape)
    )
    cells = []
    for row, (index, size) in enumerate(zip(present.tolist(), sizes[present].tolist(), strict=True)):
        labels = {key: count for key, count in zip(reference.names, counts[row], strict=False) if count}
        scores = moments.scores(row, reference.names, labels) if moments else None
        cells.append(Cell(*identities[index][:3], size, labels, counts[row][-1], identities[index][3], scores))
    return tuple(cells)


@dataclass(frozen=True)
class _Moments:
    """Sums of a score and of its square, of each cell and of each cell's labels."""

    whole: tuple[NDArray[np.float64], NDArray[np.float64]]
    labelled: tuple[NDArray[np.float64], NDArray[np.float64]]

    @classmethod
    def of(
        cls, x: NDArray[np.float64], cell: Integers, rows: Integers, place: Integers, shape: tuple[int, int]
    ) -> "_Moments":
        def sums(place: Integers, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
            return np.asarray(np.bincount(place, weights=weights, minlength=size), dtype=np.float64)

        inside, cells = x[rows], shape[0] * shape[1]
        return cls(
            (sums(cell, x, shape[0]), sums(cell, x * x, shape[0])),
            (sums(place, inside, cells).reshape(shape), sums(place, inside * inside, cells).reshape(shape)),
        )

    def scores(self, row: int, keys: Sequence[Key], labels: Mapping[Key, int]) -> Scores:
        first, second = self.labelled
        of_labels = {
            key: (float(first[row, column]), float(second[row, column]))
            for column, key in enumerate(keys)
            if key in labels
        }
        return Scores(float(self.whole[0][row]), float(self.whole[1][row]), of_labels)
