"""What a plan asks for before anybody has answered: labels by stratum."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from audits.frames import FrameRow
from audits.models import Audit
from audits.plans import predictor_of, sizing_arguments, target_half_width
from audits.stats.design import FORCED, IDENTICAL
from audits.stats.pool import Cell as PoolCell
from audits.stats.pool import Pool
from audits.stats.projection import Request, initial_allocation
from audits.stats.remaining import Sizing, plan_sizing
from core.errors import InputError, Problem

# What the plan allocates to, and what a group gets of which it says nothing.
GROUPS: dict[str, Request] = {"disagree": "optimal", "agree": "optimal", IDENTICAL: 0}


def first_allocation(audit: Audit, rows: Sequence[FrameRow]) -> dict[str, int]:
    """Labels of the first registration by stratum."""
    return initial_allocation(_empty_pool(audit, rows), **_arguments(audit, rows))


def first_sizing(audit: Audit, rows: Sequence[FrameRow]) -> Sizing:
    """The same with what is expected of it. Without a target its widths mean nothing."""
    return plan_sizing(_empty_pool(audit, rows), **_arguments(audit, rows))


def _arguments(audit: Audit, rows: Sequence[FrameRow]) -> dict[str, Any]:
    plan = audit.plan
    if predictor_of(plan) == "score":
        _check_scores(rows)
    half_width = target_half_width(plan)
    requests = _requests(plan["allocation"], rows)
    if half_width is None and (unsized := [name for name in rows_strata(rows) if requests.get(name) == "optimal"]):
        raise InputError(
            Problem(
                "without a target nothing is optimal",
                key="plan.half_width",
                value=", ".join(unsized),
                allowed="half_width, or detectable_difference and power, or a number of labels for each group",
            )
        )
    return sizing_arguments(plan) | {
        "half_width": half_width or 1.0,
        "requests": requests,
        "agree_minimum": plan["agree_minimum"],
    }


def _check_scores(rows: Sequence[FrameRow]) -> None:
    """A predictor is known for every case before any label: its mean over all of them enters the estimate."""
    without = [row.case_id for row in rows if row.score is None]
    if without:
        what = f"the plan's predictor is a score, and {len(without)} of {len(rows)} eligible cases have none"
        allowed = "a score of every eligible case, or the predictor cells"
        raise InputError(Problem(what, key="plan.predictor", value=f"case {without[0]}", allowed=allowed))


def _requests(allocation: Mapping[str, Any], rows: Sequence[FrameRow]) -> dict[str, Request]:
    """The plan's requests for its groups, as requests for strata. A number is shared out by size."""
    requests: dict[str, Request] = {}
    for group, unsaid in GROUPS.items():
        sizes = Counter(row.stratum for row in rows if _group(row) == group and row.stratum != FORCED)
        asked = allocation.get(group, unsaid)
        if isinstance(asked, int):
            requests |= _shared_out(asked, sizes)
        else:
            requests |= dict.fromkeys(sizes, asked)
    if any(row.stratum == FORCED for row in rows):
        requests[FORCED] = "all"
    return requests


def _shared_out(total: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """Whole numbers in proportion to the sizes (largest remainders), never above a size."""
    cases = sum(sizes.values())
    if not cases:
        return {}
    total = min(total, cases)
    exact = {name: total * size / cases for name, size in sizes.items()}
    shares = {name: int(value) for name, value in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (shares[name] - exact[name], name))
    for name in by_remainder[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def _group(row: FrameRow) -> str:
    if row.same_content:
        return IDENTICAL
    return "agree" if row.old == row.new else "disagree"


def rows_strata(rows: Sequence[FrameRow]) -> list[str]:
    return sorted({row.stratum for row in rows})


def _empty_pool(audit: Audit, rows: Sequence[FrameRow]) -> Pool:
    sizes = Counter((row.stratum, row.old, row.new, row.same_content) for row in rows)
    return Pool(
        cells=tuple(
            PoolCell(stratum=stratum, old=old, new=new, size=size, structural_zero=same)
            for (stratum, old, new, same), size in sorted(sizes.items())
        ),
        kind=audit.comparison.kind,  # type: ignore[arg-type]
        scale=audit.rubric.values,
    )
