"""From rows to arrays: the one module in which records become the statistics' plain values.

The frame is every eligible case with its stratum and its place in the permanent random order. It is made
once, at registration; the pool is the frame's cells with the labels of the settled prefix.
"""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from django.db import connection

from audits.models import Audit, Cell, Frame, Stratum
from audits.stats.columns import Coded, Marks
from audits.stats.design import merged_strata, permanent_order, stratum_family, stratum_name
from audits.stats.pool import Cell as PoolCell
from audits.stats.pool import Key, Pool, Scores, Waiting
from core.identity import canonical_json, case_identity, text_hash
from judges.models import CaseSet, Comparison, RunRole
from judges.pairing import Pair
from judges.selectors import ReadOf, reads_of
from judges.transitions import blocking_slice

ScoreOf = Literal["old", "new", "difference"] | None
CAUSES: dict[str, Literal["rerun", "order"]] = {RunRole.REPEAT: "rerun", RunRole.ORDER_PROBE: "order"}
LONGEST_NAME: int = Stratum._meta.get_field("name").max_length or 0


CellKey = tuple[str, str, str, bool]  # stratum, old, new, whether an upgrade's two artifacts are the same bytes


class FrameRow(NamedTuple):
    """One eligible case. `position` counts from 1 in the permanent random order of its stratum; `score` is the plan's
    predictor, where it takes a finer score."""

    stratum: str
    position: int
    case_id: str
    case_version: int
    old: str
    new: str
    same_content: bool
    score: float | None = None


@dataclass
class FrameSizes:
    """How many cases each cell of the frame has: all that a sizing needs of it. Where the plan takes a score,
    `unscored` cases have none, and `first_unscored` is one of them."""

    cells: Counter[CellKey] = field(default_factory=Counter)
    unscored: int = 0
    first_unscored: str = ""

    def add(self, cell: CellKey, number: int = 1) -> None:
        self.cells[cell] += number

    @property
    def strata(self) -> Counter[str]:
        sizes: Counter[str] = Counter()
        for (stratum, *_), number in self.cells.items():
            sizes[stratum] += number
        return sizes

    def note_score(self, case_id: str, score: float | None) -> None:
        if score is None:
            self.first_unscored = self.first_unscored or case_id
            self.unscored += 1


@dataclass(frozen=True)
class RunTable:
    """The runs of one side's judge over the frame: what each said of each case, the references of the settled
    prefixes, and the strata."""

    side: str
    cause: Literal["rerun", "order"]
    runs: Mapping[str, Sequence[str | None]]
    references: Sequence[str | None]
    strata: Sequence[str]


@dataclass(frozen=True)
class FramePlan:
    """How the plan cuts the frame, and which score of a case it takes as predictor."""

    by: str
    slices: tuple[str, ...]
    merge_below: int
    force_blocking: bool
    seed: str
    score_of: ScoreOf = None


def frame_rows(comparison: Comparison, pairs: Iterable[Pair], plan: FramePlan) -> list[FrameRow]:
    """The frame of the eligible pairs, by stratum and position: the same rows from the same pairs in any order."""
    eligible = [pair for pair in pairs if pair.eligible]
    names = [_stratum(comparison, pair, plan) for pair in eligible]
    merged = _merged(Counter(names), plan)
    by_stratum: dict[str, dict[str, Pair]] = {}
    for pair, name in zip(eligible, names, strict=True):
        by_stratum.setdefault(merged[name], {})[identity_of(comparison.case_set, pair)] = pair
    return [
        FrameRow(
            stratum,
            position,
            pair.case_id,
            pair.case_version,
            *pair.verdicts,
            pair.same_content,
            score_of(pair, plan.score_of),
        )
        for stratum in sorted(by_stratum)
        for position, pair in enumerate(
            (by_stratum[stratum][name] for name in permanent_order(plan.seed, by_stratum[stratum])), 1
        )
    ]


def frame_sizes(comparison: Comparison, pairs: Iterable[Pair], plan: FramePlan) -> FrameSizes:
    """The sizes of the frame of the eligible pairs, which need not be kept for it."""
    counted: Counter[tuple[tuple[str, str], str, str, bool]] = Counter()
    sizes = FrameSizes()
    for pair in pairs:
        if pair.eligible:
            counted[_stratum(comparison, pair, plan), *pair.verdicts, pair.same_content] += 1
            if plan.score_of is not None:
                sizes.note_score(pair.case_id, score_of(pair, plan.score_of))
    names: Counter[tuple[str, str]] = Counter()
    for (name, *_), number in counted.items():
        names[name] += number
    merged = _merged(names, plan)
    for (name, old, new, same), number in counted.items():
        sizes.add((merged[name], old, new, same), number)
    return sizes


def sizes_of(rows: Iterable[FrameRow], plan: FramePlan) -> FrameSizes:
    """The same of a frame that is there."""
    sizes = FrameSizes()
    for row in rows:
        sizes.add((row.stratum, row.old, row.new, row.same_content))
        if plan.score_of is not None:
            sizes.note_score(row.case_id, row.score)
    return sizes


def identity_of(case_set: CaseSet, row: Pair | FrameRow) -> str:
    return case_identity(case_set.name, case_set.version, row.case_id, row.case_version)


def score_of(pair: Pair, which: ScoreOf) -> float | None:
    """The predictor of a case: the score of the side that the estimand is about, or new - old for a difference."""
    old, new = (side.score if side else None for side in (pair.old, pair.new))
    if which == "difference":
        return None if old is None or new is None else new - old
    return {"old": old, "new": new, None: None}[which]


def _stratum(comparison: Comparison, pair: Pair, plan: FramePlan) -> tuple[str, str]:
    """Name and family of a pair's stratum, from what is known before any label."""
    old, new = pair.verdicts
    forced = plan.force_blocking and old != new and bool(blocking_slice(comparison.blocking_slices, pair.slices))
    slices = tuple((name, pair.slices.get(name, "")) for name in plan.slices)
    name = stratum_name(old, new, by=plan.by, slices=slices, forced=forced, identical=pair.same_content)  # type: ignore[arg-type]
    return name, stratum_family(old, new, forced=forced, identical=pair.same_content)


def _merged(names: Mapping[tuple[str, str], int], plan: FramePlan) -> dict[tuple[str, str], str]:
    """The stratum of each name and family, whose cases are counted."""
    merged = merged_strata({name: size for (name, _), size in names.items()}, dict(iter(names)), below=plan.merge_below)
    return {(name, family): _within_column(merged[name]) for name, family in names}


def _within_column(name: str) -> str:
    """Merged strata are named by all their parts: a name too long to store keeps its beginning and a hash."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 14]}… {text_hash(name)[:12]}"


def frame_bytes(rows: Iterable[FrameRow]) -> tuple[str, bytes]:
    """The frame's hash, and its compressed bytes. A row without a score ends before it."""
    text = canonical_json([row[: None if row.score is not None else -1] for row in rows])
    return text_hash(text), zlib.compress(text.encode())


def frame_of(frame: Frame) -> list[FrameRow]:
    return [FrameRow(*row) for row in json.loads(zlib.decompress(bytes(frame.rows)))]


# One aggregate query per look. `standing` is the decision in force per item at the watermark; `reach` says,
# per stratum, where the first open draw and the last settled one stand.
_SETTLED = """
WITH standing AS (
    SELECT item_id, MAX(id) AS settlement_id FROM adjudication_settlement
    WHERE queue_id = %(queue)s AND number <= %(watermark)s GROUP BY item_id
), state AS (
    SELECT d.case_id, d.stratum_id, d.position, d.old, d.new, d.same_content, d.score, s.settlement_id
    FROM audits_draw d
    JOIN audits_registration g ON g.id = d.registration_id AND g.n <= %(registration)s
    LEFT JOIN standing s ON s.item_id = d.item_id
    WHERE d.audit_id = %(audit)s
), reach AS (
    SELECT stratum_id,
           MIN(CASE WHEN settlement_id IS NULL THEN position END) AS first_open,
           MAX(CASE WHEN settlement_id IS NOT NULL THEN position END) AS last_settled
    FROM state GROUP BY stratum_id
), labelled AS (
    SELECT r.settlement_id, a.system_version_id, r.label
    FROM adjudication_reference r JOIN judges_artifact a ON a.id = r.artifact_id
)
"""
_LABELS = """
LEFT JOIN labelled old_label ON old_label.settlement_id = state.settlement_id
    AND old_label.system_version_id = %(old_system)s
LEFT JOIN labelled new_label ON new_label.settlement_id = state.settlement_id
    AND new_label.system_version_id = %(new_system)s
"""
_BY_CELL = f"""{_SETTLED}
SELECT st.name, state.old, state.new, state.same_content, old_label.label, new_label.label,
       CASE WHEN state.settlement_id IS NULL AND state.position < reach.last_settled THEN 'gap'
            WHEN state.settlement_id IS NULL THEN 'open'
            WHEN reach.first_open IS NULL OR state.position < reach.first_open THEN 'counts'
            ELSE 'waits' END AS standing,
       COUNT(*), SUM(state.score), SUM(state.score * state.score)
FROM state
JOIN reach ON reach.stratum_id = state.stratum_id
JOIN audits_stratum st ON st.id = state.stratum_id
{_LABELS}
GROUP BY 1, 2, 3, 4, 5, 6, 7
"""  # noqa: S608 (made of constants)
_BY_CASE = f"""{_SETTLED}
SELECT c.case_id, c.version, old_label.label, new_label.label
FROM state
JOIN reach ON reach.stratum_id = state.stratum_id
JOIN judges_case c ON c.id = state.case_id
{_LABELS}
WHERE reach.first_open IS NULL OR state.position < reach.first_open
"""  # noqa: S608 (made of constants)


def pool_of(audit: Audit, *, watermark: int, registration: int) -> Pool:
    """The pool as it stood after the settlement numbered `watermark`, with the draws up to a registration."""
    comparison = audit.comparison
    labels: dict[tuple[str, str, str, bool], Counter[Key]] = {}
    scores: dict[tuple[str, str, str, bool], dict[Key, tuple[float, float]]] = {}
    undecided: Counter[tuple[str, str, str, bool]] = Counter()
    waiting: Counter[str] = Counter()
    gaps: Counter[str] = Counter()
    with connection.cursor() as cursor:
        cursor.execute(_BY_CELL, _parameters(audit, watermark, registration))
        for stratum, old, new, same, old_label, new_label, standing, number, *sums in cursor.fetchall():
            cell = (stratum, old, new, bool(same))
            if standing == "waits":
                waiting[stratum] += number
            elif standing == "gap":
                gaps[stratum] += number
            elif standing == "counts":
                key = _key(comparison, old_label, new_label)
                if key is None:
                    undecided[cell] += number
                else:
                    labels.setdefault(cell, Counter())[key] = number
                    scores.setdefault(cell, {})[key] = (sums[0], sums[1])
    cells = Cell.objects.filter(stratum__audit=audit).order_by("stratum__name", "old", "new", "same_content")
    return Pool(
        cells=tuple(
            PoolCell(
                stratum=name,
                old=old,
                new=new,
                size=size,
                labels=labels.get((name, old, new, same), Counter()),
                undecided=undecided[name, old, new, same],
                structural_zero=same,
                scores=None if total is None else Scores(total, squares, scores.get((name, old, new, same), {})),
            )
            for name, old, new, same, size, total, squares in cells.values_list(
                "stratum__name", "old", "new", "same_content", "size", "score_sum", "score_squares"
            )
        ),
        kind=comparison.kind,  # type: ignore[arg-type]
        scale=audit.rubric.values,
        waiting={name: Waiting(settled=waiting[name], gaps=gaps[name]) for name in waiting},
    )


def _parameters(audit: Audit, watermark: int, registration: int) -> dict[str, int]:
    comparison = audit.comparison
    return {
        "queue": audit.queue_id,
        "audit": audit.pk,
        "watermark": watermark,
        "registration": registration,
        "old_system": comparison.old_run.system_version_id,
        "new_system": comparison.new_run.system_version_id,
    }


def slice_pools_of(audit: Audit, *, watermark: int, registration: int) -> dict[str, Pool]:
    """A pool for each value of each slice dimension, of the same moment as `pool_of`.

    What counts is the settled prefix of the whole stratum: its labels in a slice are a random sample of the slice.
    """
    comparison = audit.comparison
    with connection.cursor() as cursor:
        cursor.execute(_BY_CASE, _parameters(audit, watermark, registration))
        counts = {(case_id, version): _key(comparison, old, new) for case_id, version, old, new in cursor.fetchall()}
    cases = comparison.case_set.cases.values_list("case_id", "version", "slices")
    slices = {(case_id, version): found for case_id, version, found in cases.iterator()}
    rows = frame_of(audit.frame)
    keys = [(row.case_id, row.case_version) for row in rows]
    table = {
        "stratum": Coded.of([row.stratum for row in rows]),
        "old": Coded.of([row.old for row in rows]),
        "new": Coded.of([row.new for row in rows]),
        "reference": Coded[Key].of([counts.get(key) for key in keys]),
    }
    marks = {
        "settled": np.array([key in counts for key in keys], dtype=bool),
        "identical": np.array([row.same_content for row in rows], dtype=bool),
    }
    return pools_by_slice(
        comparison.slices,
        [slices[key] for key in keys],
        kind=comparison.kind,
        scale=audit.rubric.values,
        coded=table,
        marks=marks,
    )


def run_tables_of(audit: Audit, *, watermark: int, registration: int) -> list[RunTable]:
    """The repeats and the order probes of each side over the frame, with the labels of the same moment as `pool_of`."""
    comparison = audit.comparison
    further = list(comparison.further_runs.select_related("run", "reader").exclude(role=RunRole.EVIDENCE_PROBE))
    if not further:
        return []
    rows = frame_of(audit.frame)
    keys = [(row.case_id, row.case_version) for row in rows]
    pks = {(one, version): pk for one, version, pk in comparison.case_set.cases.values_list("case_id", "version", "pk")}
    with connection.cursor() as cursor:
        cursor.execute(_BY_CASE, _parameters(audit, watermark, registration))
        labels = {(case_id, version): {"old": old, "new": new} for case_id, version, old, new in cursor.fetchall()}
    tables = []
    for side in ("old", "new"):
        compared = getattr(comparison, f"{side}_run"), getattr(comparison, f"{side}_reader")
        for role, cause in CAUSES.items():
            runs = [compared, *((one.run, one.reader) for one in further if (one.side, one.role) == (side, role))]
            if len(runs) > 1:
                reads = {f"run {run.ordinal}": reads_of(run, reader, comparison.partition) for run, reader in runs}
                columns = {name: [_said(read.get(pks[key])) for key in keys] for name, read in reads.items()}
                references = [labels.get(key, {}).get(side) for key in keys]
                tables.append(RunTable(side, cause, columns, references, [row.stratum for row in rows]))
    return tables


def _said(read: ReadOf | None) -> str | None:
    """A verdict; for a reading without one its state, which is no label of any scale; None: not judged."""
    return None if read is None else read.verdict if read.verdict is not None else f"({read.state})"


def pools_by_slice(
    names: Sequence[str],
    slices: Sequence[Mapping[str, str]],
    *,
    kind: str,
    scale: Mapping[str, float | None],
    coded: Mapping[str, Coded[Any]],
    marks: Mapping[str, Marks],
) -> dict[str, Pool]:
    """The rows of the frame, cut by each value of each slice dimension. `marks` says which of them are settled."""
    pools = {}
    for name in names:
        values = Coded.of([one.get(name, "") for one in slices])
        for code, value in sorted(enumerate(values.names), key=lambda one: one[1]):
            inside = np.flatnonzero(values.codes == code)
            pools[f"{name}={value or '(none)'}"] = Pool.from_arrays(
                kind=kind,  # type: ignore[arg-type]
                scale=scale,
                **{column: Coded(one.codes[inside], one.names) for column, one in coded.items()},  # type: ignore[arg-type]
                **{column: mark[inside] for column, mark in marks.items()},
            )
    return pools


def _key(comparison: Comparison, old_label: str | None, new_label: str | None) -> Key | None:
    if comparison.is_swap:
        return new_label
    return None if old_label is None or new_label is None else (old_label, new_label)
