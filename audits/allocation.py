"""What a plan asks for before anybody has answered: labels by stratum."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from audits.frames import CellKey, FrameSizes
from audits.models import Audit
from audits.plans import sizing_arguments, target_half_width
from audits.stats.design import FORCED, IDENTICAL
from audits.stats.outlook import Outlook, plan_outlook
from audits.stats.pool import Cell as PoolCell
from audits.stats.pool import Pool
from audits.stats.projection import Request, initial_allocation
from audits.stats.remaining import Sizing, plan_sizing
from core.errors import InputError, Problem

# What the plan allocates to, and what a group gets of which it says nothing.
GROUPS: dict[str, Request] = {"disagree": "optimal", "agree": "optimal", IDENTICAL: 0}


def first_allocation(audit: Audit, frame: FrameSizes) -> dict[str, int]:
    """Labels of the first registration by stratum."""
    return initial_allocation(_empty_pool(audit, frame), **_arguments(audit, frame))


def first_sizing(audit: Audit, frame: FrameSizes) -> Sizing:
    """The same with what is expected of it. Without a target its widths mean nothing."""
    return plan_sizing(_empty_pool(audit, frame), **_arguments(audit, frame))


def first_outlook(audit: Audit, frame: FrameSizes) -> Outlook:
    """What the plan may come to, under each policy. It has a target."""
    plan, pool = audit.plan, _empty_pool(audit, frame)
    return plan_outlook(pool, **_arguments(audit, frame), seed=plan["seed"], budget=plan.get("budget"))


def plain_shares(total: int, frame: FrameSizes) -> dict[str, int]:
    """How a plain random sample of the frame falls on the strata, on average."""
    return _shared_out(total, frame.strata)


def _arguments(audit: Audit, frame: FrameSizes) -> dict[str, Any]:
    plan = audit.plan
    _check_scores(frame)
    half_width = target_half_width(plan)
    requests = _requests(plan["allocation"], frame)
    if half_width is None and (unsized := [name for name in sorted(frame.strata) if requests.get(name) == "optimal"]):
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


def _check_scores(frame: FrameSizes) -> None:
    """A predictor is known for every case before any label: its mean over all of them enters the estimate."""
    if frame.unscored:
        cases = frame.cells.total()
        what = f"the plan's predictor is a score, and {frame.unscored} of {cases} eligible cases have none"
        allowed = "a score of every eligible case, or the predictor cells"
        raise InputError(Problem(what, key="plan.predictor", value=f"case {frame.first_unscored}", allowed=allowed))


def _requests(allocation: Mapping[str, Any], frame: FrameSizes) -> dict[str, Request]:
    """The plan's requests for its groups, as requests for strata. A number is shared out by size."""
    requests: dict[str, Request] = {}
    for group, unsaid in GROUPS.items():
        sizes: Counter[str] = Counter()
        for cell, number in frame.cells.items():
            if _group(cell) == group and cell[0] != FORCED:
                sizes[cell[0]] += number
        asked = allocation.get(group, unsaid)
        if isinstance(asked, int):
            requests |= _shared_out(asked, sizes)
        else:
            requests |= dict.fromkeys(sizes, asked)
    if FORCED in frame.strata:
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


def _group(cell: CellKey) -> str:
    _, old, new, same_content = cell
    if same_content:
        return IDENTICAL
    return "agree" if old == new else "disagree"


def _empty_pool(audit: Audit, frame: FrameSizes) -> Pool:
    return Pool(
        cells=tuple(
            PoolCell(stratum=stratum, old=old, new=new, size=size, structural_zero=same)
            for (stratum, old, new, same), size in sorted(frame.cells.items())
        ),
        kind=audit.comparison.kind,  # type: ignore[arg-type]
        scale=audit.rubric.values,
    )
