"""What an interval is made of: strata, or post-strata (stratum x old verdict x new verdict), merged until each has
labels."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from audits.stats.estimands import Estimand, Scale, Side
from audits.stats.intervals import Interval, paired_wilson_interval, wilson_interval
from audits.stats.pool import Cell, Pool


@dataclass(frozen=True)
class Group:
    """Cases that an estimate treats as one simple random sample.

    `counts` gives the labelled cases by value of y; `values` is what y can be. `known` marks a structural zero:
    y = 0 for every case, labelled or not.
    """

    name: str
    stratum: str
    size: int
    counts: Mapping[float, int]
    undecided: int
    values: tuple[float, ...]
    known: bool
    cells: tuple[Cell, ...]
    answered: float = 1.0

    labels: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", sum(self.counts.values()))

    @property
    def settled(self) -> int:
        return self.labels + self.undecided

    @property
    def census(self) -> bool:
        return self.known or self.settled == self.size

    @property
    def decidable(self) -> float:
        """Estimated share of cases that have an answer; a known case needs none, unless its estimand says so."""
        if self.known:
            return self.answered
        return self.labels / self.settled if self.undecided else 1.0

    @property
    def decidable_size(self) -> float:
        """N_h times the decidable share: never below `labels`, which the product of rounded shares can be."""
        return self.size * self.labels / self.settled if self.settled else math.inf

    @cached_property
    def mean(self) -> float:
        if self.known:
            return 0.0
        return sum([value * count for value, count in self.counts.items()]) / self.labels

    @cached_property
    def variance(self) -> float:
        """Sample variance of y, denominator n - 1; with one label, the largest that the values allow."""
        if self.known or (self.labels < 2 and self.census):
            return 0.0
        if self.labels < 2:
            return (self.values[-1] - self.values[0]) ** 2 / 4
        squares = sum(count * (value - self.mean) ** 2 for value, count in self.counts.items())
        return squares / (self.labels - 1)

    @property
    def off_mode(self) -> int:
        """Labels that differ from the commonest value."""
        return self.labels - max(self.counts.values(), default=0)

    @property
    def categorical(self) -> bool:
        """Whether score limits exist: one value, two, or -a, 0, a."""
        values = self.values
        return len(values) < 3 or (len(values) == 3 and values[1] == 0 and values[0] == -values[2])

    def limits(self, z: float) -> Interval:
        """Score limits of the mean among decidable cases."""
        if self.known or len(self.values) == 1:
            return Interval(self.values[0], self.values[0])
        if self.census and self.labels:
            return Interval(self.mean, self.mean)
        low, high = self.values[0], self.values[-1]
        plus, size = self.counts.get(high, 0), self.decidable_size if self.undecided else self.size
        if len(self.values) == 2:
            return wilson_interval(plus, self.labels, size, z).scaled(high - low, low)
        unit = paired_wilson_interval(plus, self.counts.get(low, 0), self.labels, size, z)
        return unit if high == 1 else unit.scaled(high)

    def with_undecided_at(self, value: float) -> "Group":
        """Every undecided case counted as labelled with `value`."""
        if self.known or not self.undecided:
            return self
        counts = Counter(self.counts)
        counts[value] += self.undecided
        return replace(self, counts=dict(counts), undecided=0)


@dataclass(frozen=True)
class Merge:
    """Small cells that were estimated as one."""

    stratum: str
    cells: tuple[str, ...]
    labels: int


def _group(name: str, cells: Sequence[Cell], estimand: Estimand, scale: Scale, side: Side | None) -> Group:
    stratum, size = cells[0].stratum, sum([cell.size for cell in cells])
    if estimand.is_zero(cells[0]) and all(estimand.is_zero(cell) for cell in cells):
        answered = _answered(cells) if estimand.zero_needs_answer else 1.0
        return Group(name, stratum, size, {}, 0, (0.0,), True, tuple(cells), answered)
    counts: dict[float, int] = {}
    for cell in cells:
        for key, count in cell.labels.items():
            if count:
                value = estimand.value(cell, key, scale, side)
                counts[value] = counts.get(value, 0) + count
    first, *others = {estimand.values(cell, scale) for cell in cells}
    values = tuple(sorted({*first}.union(*others))) if others else first
    undecided = sum([cell.undecided for cell in cells])
    return Group(name, stratum, size, dict(sorted(counts.items())), undecided, values, False, tuple(cells))


def _answered(cells: Sequence[Cell]) -> float:
    settled = sum(cell.settled for cell in cells)
    return sum(cell.labelled for cell in cells) / settled if settled else 1.0


def strata_groups(pool: Pool, estimand: Estimand, side: Side | None) -> list[Group]:
    """The plan's strata as they are; where a stratum holds structural zeros, those are a group of their own."""
    groups: list[Group] = []
    by_stratum: dict[str, list[Cell]] = {}
    for cell in pool.cells:
        by_stratum.setdefault(cell.stratum, []).append(cell)
    for stratum, cells in by_stratum.items():
        zeros = [cell for cell in cells if estimand.is_zero(cell)]
        open_cells = [cell for cell in cells if not estimand.is_zero(cell)]
        groups += [_group(stratum, part, estimand, pool.scale, side) for part in (open_cells, zeros) if part]
    return groups


def estimate_groups(
    strata: Sequence[Group], pool: Pool, estimand: Estimand, side: Side | None, merge_below: int
) -> tuple[list[Group], list[Merge]]:
    """What the estimand is estimated from: the plan's strata (`strata_groups`), or post-strata inside them.

    Post-strata are the cells, or the agreeing cells of a stratum and the disagreeing ones; small ones are merged with
    their nearest sibling in the stratum. The one with the fewest labels goes first. Its nearest sibling is the one
    whose verdicts are least far from its own (distance on the scale, or the number of verdicts that differ on a nominal
    one), then the one with fewest labels; all of them where that is a tie. The rule looks at counts, never at the
    labels, so that it cannot follow the result. What is settled wholly is exact as it is and is never merged because it
    is small.
    """
    groups: list[Group] = []
    merges: list[Merge] = []
    for whole in strata:
        if whole.known or estimand.basis == "strata":
            groups.append(whole)
            continue
        first: list[_Cluster] = [(cell,) for cell in whole.cells]
        if estimand.basis == "agreement":
            first = _by_agreement(whole.cells)
        clusters = _merged(first, pool.scale, max(merge_below, 1))
        for cluster in clusters:
            names = tuple([_cell_name(cell) for cell in cluster])
            group = _group(f"{whole.stratum}: {', '.join(names)}", cluster, estimand, pool.scale, side)
            groups.append(group)
            if len(clusters) < len(first) and not any(_same(cluster, one) for one in first):
                merges.append(Merge(whole.stratum, names, group.labels))
    return groups, merges


def cell_groups(pool: Pool, estimand: Estimand, side: Side | None, merge_below: int) -> tuple[list[Group], list[Merge]]:
    """Post-strata from the cells, whatever the estimand's own are; see `estimate_groups`."""
    apart = replace(estimand, basis="cells")
    return estimate_groups(strata_groups(pool, estimand, side), pool, apart, side, merge_below)


_Cluster = tuple[Cell, ...]


def _cell_name(cell: Cell) -> str:
    return f"{cell.old}→{cell.new}{' (identical)' if cell.structural_zero else ''}"


def _by_agreement(cells: Sequence[Cell]) -> list[_Cluster]:
    halves = [tuple(cell for cell in cells if (cell.old == cell.new) is agree) for agree in (True, False)]
    return [half for half in halves if half]


def _same(one: _Cluster, other: _Cluster) -> bool:
    return len(one) == len(other) and one[0] in other


def _labels(cluster: Iterable[Cell]) -> int:
    return sum([cell.labelled for cell in cluster])


def _is_small(cluster: _Cluster, below: int) -> bool:
    if _labels(cluster) >= below:
        return False
    return sum([cell.settled for cell in cluster]) < sum([cell.size for cell in cluster])


def _merged(clusters: list[_Cluster], scale: Scale, below: int) -> list[_Cluster]:
    while len(clusters) > 1:
        small = [index for index, cluster in enumerate(clusters) if _is_small(cluster, below)]
        if not small:
            break
        fewest = min(_labels(clusters[index]) for index in small)
        links = [_nearest(index, clusters, scale) for index in small if _labels(clusters[index]) == fewest]
        clusters = _joined(clusters, links)
    return sorted(clusters, key=_order)


def _nearest(index: int, clusters: list[_Cluster], scale: Scale) -> set[int]:
    """A cluster with its nearest sibling. Ties are all taken: a choice by name would not mirror when sides swap."""
    rank = {
        other: (_distance(clusters[index], cluster, scale), _labels(cluster))
        for other, cluster in enumerate(clusters)
        if other != index
    }
    best = min(rank.values())
    return {index} | {other for other, value in rank.items() if value == best}


def _joined(clusters: list[_Cluster], links: Iterable[set[int]]) -> list[_Cluster]:
    parts: list[set[int]] = [{index} for index in range(len(clusters))]
    for link in links:
        touched = [part for part in parts if part & link]
        parts = [part for part in parts if not part & link] + [set().union(*touched)]
    return [
        tuple(sorted((cell for index in part for cell in clusters[index]), key=lambda cell: (cell.old, cell.new)))
        for part in parts
    ]


def _order(cluster: _Cluster) -> tuple[str, str, bool]:
    return min((cell.old, cell.new, cell.structural_zero) for cell in cluster)


def _distance(one: _Cluster, other: _Cluster, scale: Scale) -> float:
    return min(_step(a.old, b.old, scale) + _step(a.new, b.new, scale) for a in one for b in other)


def _step(one: str, other: str, scale: Scale) -> float:
    first, second = scale[one], scale[other]
    if first is None or second is None:
        return float(one != other)
    return abs(first - second)
