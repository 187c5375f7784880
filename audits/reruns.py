"""What a rerun costs against the labels: right in one run of a judge, wrong in the next, and no version has changed."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from audits.frames import RunTable
from audits.secondary import Finding
from audits.stats.four_cells import four_cells
from audits.stats.pool import Pool
from audits.stats.repeats import Cause, Floor, order_sensitivity, rerun_floor
from core.errors import InputError

STATISTICS = {"rerun": rerun_floor, "order": order_sensitivity}
AGAIN: dict[Cause, str] = {"rerun": "is only run again", "order": "sees another order"}


def rerun_findings(tables: Sequence[RunTable], pool: Pool, *, level: float) -> list[dict[str, Any]]:
    """For each side and cause: the median share of all pairs regressed, with the limits of the worst pair."""
    regressed = _regressed(pool, level)
    return [asdict(_finding(table, pool, regressed, level)) for table in tables]


def _regressed(pool: Pool, level: float) -> float | None:
    """What the new judge got wrong that the old one had right, of all pairs; of a swap, where the labels allow it."""
    if pool.kind != "judge_swap":
        return None
    try:
        return four_cells(pool, level=level).only_old.point
    except InputError:
        return None


def _finding(table: RunTable, pool: Pool, regressed: float | None, level: float) -> Finding:
    name = f"regressed where the {table.side} judge {AGAIN[table.cause]}, of all cases"
    floor = STATISTICS[table.cause](
        table.runs, scale=pool.scale, references=table.references, strata=table.strata, level=level
    )
    if floor.regressed is None:
        return Finding(name, "points", None, None, None, floor.reason)
    worst = max((pair for pair in floor.pairs if pair.regressed), key=lambda pair: pair.regressed.point)  # type: ignore[union-attr]
    assert worst.regressed is not None
    notes = [
        f"median of {len(floor.pairs)} ordered pairs of {len(floor.repeats)} runs",
        f"least {_points(floor.regressed.low)}, most {_points(floor.regressed.high)}",
        f"the limits are those of the worst, {worst.first} to {worst.second}",
        *_compared(floor, regressed),
    ]
    limits = worst.regressed.interval
    return Finding(name, "points", floor.regressed.middle, limits.low, limits.high, "; ".join(notes))


def _compared(floor: Floor, regressed: float | None) -> list[str]:
    if floor.cause != "rerun" or regressed is None:
        return []
    inside = "not distinguishable from a rerun" if floor.holds(regressed) else "above what a rerun does"
    return [f"from the old to the new judge {_points(regressed)} regressed: {inside}"]


def _points(share: float) -> str:
    return f"{share * 100:.1f}"
