"""Sizing a draft's plan outside every request."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from audits.allocation import first_outlook, first_sizing, plain_shares
from audits.frames import FrameSizes, frame_rows, frame_sizes
from audits.models import Audit, DraftSizing
from audits.plans import USUAL_POWER, frame_plan, sizing_of, target_half_width
from audits.services.registering import known_elsewhere, settled_elsewhere
from audits.stats.outlook import Outlook, PolicyNeed
from audits.stats.remaining import Sizing
from audits.stats.sizing import detected_difference
from core.errors import InputError
from core.version import VERSION
from judges.selectors import pairs_of


def draft_size(*, audit: Audit) -> DraftSizing:
    """What the plan asks for, computed once. A plan that cannot be drawn is stored with its problems."""
    existing = sizing_of(audit)
    if existing is not None:
        return existing
    frame = frame_sizes(audit.comparison, pairs_of(audit.comparison), frame_plan(audit))
    half_width = target_half_width(audit.plan)
    content: dict[str, Any] = {"half_width": half_width}
    try:
        sizing = first_sizing(audit, frame)
        content["strata"] = _strata(audit, frame, sizing)
        if half_width is not None:
            content |= _widths(sizing) | {"outlook": _outlook(audit, frame, half_width)}
    except InputError as error:
        content["problems"] = [problem.as_dict() for problem in error.problems]
    defaults = {"strata": [], "code_version": VERSION} | content
    with transaction.atomic():
        return DraftSizing.objects.get_or_create(audit=audit, manifest_hash=audit.manifest_hash, defaults=defaults)[0]


def _strata(audit: Audit, frame: FrameSizes, sizing: Sizing) -> list[dict[str, Any]]:
    reused, sizes = _reused(audit, sizing.n), frame.strata
    return [
        {"name": name, "size": sizes[name], "labels": sizing.n[name], "reused": reused[name]} for name in sorted(sizes)
    ]


def _reused(audit: Audit, labels: Mapping[str, int]) -> Counter[str]:
    """How many of the labels are there already. Only then is the frame made, to see which cases would be drawn."""
    if not known_elsewhere(audit):
        return Counter()
    rows = frame_rows(audit.comparison, pairs_of(audit.comparison), frame_plan(audit))
    drawn = [row for row in rows if row.position <= labels[row.stratum]]
    try:
        return Counter(row.stratum for row in settled_elsewhere(audit, drawn))
    except InputError:  # an anchor set that is not there yet saves nothing yet; registering says so
        return Counter()


def _widths(sizing: Sizing) -> dict[str, Any]:
    return {"projected": sizing.half_width, "without_judge": sizing.without_judge, "saving": sizing.saving}


def _outlook(audit: Audit, frame: FrameSizes, half_width: float) -> dict[str, Any]:
    outlook: Outlook = first_outlook(audit, frame)
    power = audit.plan["power"] or USUAL_POWER
    return {
        "difference": detected_difference(half_width=half_width, power=power, level=audit.plan["level"]),
        "power": power,
        "policies": [_policy(need, frame) for need in outlook.needs],
        "curve": [
            {
                "labels": point.labels,
                "half_widths": dict(point.half_widths),
                "without_judge": point.without_judge,
                "chance": point.chance,
            }
            for point in outlook.curve
        ],
        "fewest": outlook.fewest,
        "draws": outlook.draws,
    }


def _policy(need: PolicyNeed, frame: FrameSizes) -> dict[str, Any]:
    """Labels by stratum, with the judge as the plan shares them out, and without as a plain sample falls."""
    found: Mapping[str, Any] = {"policy": need.policy, "reason": need.reason}
    if need.sizing is None:
        return {**found, "labels": None, "plain": None, "half_width": None}
    plain = plain_shares(need.sizing.without_judge, frame)
    return {**found, "labels": dict(need.sizing.n), "plain": plain, "half_width": need.sizing.half_width}
