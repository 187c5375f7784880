"""What else the labels of a finished audit say, beside the estimand it was sized for.

Secondary estimates have fixed-n intervals, each for itself, and are computed after the stop only: looking at
them while labels arrive would cost their level.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from audits.stats.class_conditional import Rate, class_conditional
from audits.stats.differential import differential_error
from audits.stats.estimands import ESTIMANDS
from audits.stats.estimate import estimate
from audits.stats.four_cells import four_cells, independence_ratio, independence_reading, regression_share
from audits.stats.helpfulness import helpfulness
from audits.stats.intervals import Interval
from audits.stats.pool import Pool
from audits.stats.slices import slice_estimates
from core.errors import InputError

EXPLAINS = "no interval: it explains, it does not decide"

Unit = Literal["points", "ratio", "p"]


@dataclass(frozen=True)
class Finding:
    """One secondary estimate: a share or difference in `points`, a `ratio`, or a `p` value without an interval."""

    name: str
    unit: Unit
    point: float | None
    low: float | None
    high: float | None
    note: str = ""


def secondary_findings(pool: Pool, *, level: float, by: str) -> list[dict[str, Any]]:
    """Everything that these labels allow; what they do not allow says why instead of a number."""
    findings = _swap(pool, level) if pool.kind == "judge_swap" else _upgrade(pool, level, by)
    return [asdict(finding) for finding in findings]


def slice_findings(
    pools: Mapping[str, Pool], *, estimand: str, side: Literal["old", "new"] | None, level: float
) -> list[dict[str, Any]]:
    """The plan's estimand in each slice, with Holm-adjusted verdicts over all of them where it is a difference."""
    null = None if ESTIMANDS[estimand].sided else 0.0
    found = slice_estimates(pools, estimand=estimand, side=side, level=level, null=null)
    return [
        {
            "slice": one.name,
            "size": one.estimate.size,
            "labels": sum(stratum.labels for stratum in one.estimate.strata if stratum.used),
            "point": one.estimate.point,
            "low": one.estimate.interval.low if one.estimate.interval else None,
            "high": one.estimate.interval.high if one.estimate.interval else None,
            "state": one.estimate.state,
            "reason": one.estimate.reason,
            "family": one.family,
            "p_value": one.p_value,
            "adjusted": one.adjusted,
            "differs": one.differs,
        }
        for one in found
    ]


def _swap(pool: Pool, level: float) -> Iterator[Finding]:
    yield from _tried("four cells", lambda: _cells(pool, level))
    yield from _tried(
        "regression share", lambda: [_ratio("regression, as a share of the old judge's correct labels", pool, level)]
    )
    yield from _tried("independence ratio", lambda: [_independence(pool, level)])
    for side in ("old", "new"):
        yield from _tried(f"accuracy of the {side} judge", lambda side=side: [_mean(pool, "accuracy", side, level)])  # type: ignore[misc]


def _upgrade(pool: Pool, level: float, by: str) -> Iterator[Finding]:
    for side in ("old", "new"):
        yield from _tried(
            f"success rate of the {side} version",
            lambda side=side: [_mean(pool, "success_rate", side, level)],  # type: ignore[misc]
        )
    yield from _tried("class-conditional error", lambda: _class_conditional(pool, level))
    yield from _tried("differential error", lambda: _differential(pool, by))
    yield from _tried("why the judge helps little", lambda: _helpfulness(pool))


def _tried(name: str, compute: Callable[[], list[Finding]]) -> Iterator[Finding]:
    try:
        yield from compute()
    except InputError as error:
        yield Finding(name, "points", None, None, None, str(error))


def _cells(pool: Pool, level: float) -> list[Finding]:
    cells = four_cells(pool, level=level)
    names = {
        "both": "both judges right",
        "only_old": "only the old judge right (regression, of all cases)",
        "only_new": "only the new judge right (backward regression, of all cases)",
        "neither": "neither judge right",
    }
    return [
        _finding(
            words,
            "points",
            getattr(cells, key).point,
            getattr(cells, key).interval,
            f"{getattr(cells, key).count} labels",
        )
        for key, words in names.items()
    ]


def _ratio(name: str, pool: Pool, level: float) -> Finding:
    found = regression_share(pool, level=level)
    return _finding(name, "points", found.point, found.interval, found.reason)


def _independence(pool: Pool, level: float) -> Finding:
    found = independence_ratio(pool, level=level)
    reading = "" if found.point is None else independence_reading(found.point)
    note = "; ".join(part for part in (found.reason, reading) if part)
    return _finding("independence ratio", "ratio", found.point, found.interval, note)


def _mean(pool: Pool, estimand: str, side: Literal["old", "new"], level: float) -> Finding:
    found = estimate(pool, estimand=estimand, side=side, level=level)
    subject = "judge" if estimand == "accuracy" else "version"
    name = f"{estimand.replace('_', ' ')} of the {side} {subject}"
    return _finding(name, "points", found.point if found.interval else None, found.interval, found.reason)


def _class_conditional(pool: Pool, level: float) -> list[Finding]:
    found = class_conditional(pool, level=level)
    rates: list[tuple[str, Rate]] = [
        ("true positive rate of the judge on the old version", found.tpr_old),
        ("true positive rate of the judge on the new version", found.tpr_new),
        ("false positive rate of the judge on the old version", found.fpr_old),
        ("false positive rate of the judge on the new version", found.fpr_new),
        ("differential part of the comparison error (delta)", found.delta),
        ("whole error of the judged difference (e)", found.e),
        ("warning: error of a calibration carried over from the old version (e_T)", found.transported),
    ]
    return [_finding(name, "points", rate.point, rate.interval, rate.reason) for name, rate in rates]


def _differential(pool: Pool, by: str) -> list[Finding]:
    return [
        Finding(
            f"does the judge treat the versions alike where people said {test.label}? (exact McNemar)",
            "p",
            test.p_value,
            None,
            None,
            "; ".join(
                part for part in (test.reason, f"{test.gained} gained, {test.lost} lost in {test.cases} cases") if part
            ),
        )
        for test in differential_error({"judge": pool}, by=by)  # type: ignore[arg-type]
    ]


def _helpfulness(pool: Pool) -> list[Finding]:
    found = helpfulness(pool)
    tasks = f"{found.improved:,.0f} tasks improved, {found.worsened:,.0f} got worse, as estimated"
    rows: list[tuple[str, float | None, str]] = [
        ("correlation of the versions' outcomes over tasks", found.r, ""),
        ("correlation of the judge's errors on both versions", found.r_errors, ""),
        ("what a label is worth with the judge: for a level", found.tau_level, "1 is nothing gained"),
        ("what a label is worth with the judge: for the difference", found.tau_difference, "1 is nothing gained"),
        ("the same, as both correlations predict it", found.tau_predicted, ""),
        ("mean judged change on tasks that improved", found.youden_improved, tasks),
        ("mean judged change on tasks that got worse, reversed", found.youden_worsened, tasks),
        ("mean judged change on the other tasks", found.shift_unchanged, ""),
    ]
    return [
        Finding(name, "ratio", point, None, None, "; ".join(part for part in (note, EXPLAINS) if part))
        for name, point, note in rows
    ]


def _finding(name: str, unit: Unit, point: float | None, interval: Interval | None, note: str) -> Finding:
    return Finding(name, unit, point, interval.low if interval else None, interval.high if interval else None, note)
