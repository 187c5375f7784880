"""What a plan says, in the words of the statistics."""

from collections.abc import Mapping
from typing import Any, Literal

from audits.frames import FramePlan, ScoreOf
from audits.models import Audit, DraftSizing

SIDES: dict[str | None, Literal["old", "new"] | None] = {"baseline": "old", "candidate": "new", None: None}
USUAL_POWER = 0.8


def sizing_arguments(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What the first allocation of this plan is computed with: what a score will gain is not known before labels."""
    return {name: plan[name] for name in ("estimand", "level", "target", "policy")} | {"side": SIDES[plan["side"]]}


def predictor_of(plan: Mapping[str, Any]) -> str:
    """Plans that were registered before a score could be one say nothing of it."""
    return str(plan.get("predictor", "cells"))


def score_used(plan: Mapping[str, Any]) -> ScoreOf:
    """Which score of a case the plan takes as its predictor, if any."""
    if predictor_of(plan) != "score":
        return None
    return SIDES[plan["side"]] or "difference"


def estimate_arguments(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What every estimate and forecast of this plan is computed with."""
    return sizing_arguments(plan) | {"predictor": predictor_of(plan)}


def target_half_width(plan: Mapping[str, Any]) -> float | None:
    """The narrower of the plan's half-width and what its detectable difference needs; None without a target."""
    widths = [plan["half_width"]] if plan["half_width"] else []
    if plan["detectable_difference"]:
        # Imported where it is needed: pages show plans, and must not pay for SciPy.
        from audits.stats.intervals import z_value
        from audits.stats.sizing import target_variance

        variance = target_variance(
            difference=plan["detectable_difference"], power=plan["power"] or USUAL_POWER, level=plan["level"]
        )
        widths.append(z_value(plan["level"]) * variance**0.5)
    return min(widths, default=None)


def sizing_of(audit: Audit) -> DraftSizing | None:
    """What was computed for the plan as it is now."""
    return DraftSizing.objects.filter(audit=audit, manifest_hash=audit.manifest_hash).first()


def half_width_of(audit: Audit) -> float | None:
    """The same, as it was computed when the audit was opened."""
    sizing = sizing_of(audit)
    return sizing.half_width if sizing else target_half_width(audit.plan)


def frame_plan(audit: Audit) -> FramePlan:
    return FramePlan(
        by=audit.plan["strata_by"],
        slices=tuple(audit.plan["strata_slices"]),
        merge_below=audit.plan["merge_below"],
        force_blocking=audit.review["adjudicate_all_blocking_transitions"],
        seed=audit.plan["seed"],
        score_of=score_used(audit.plan),
    )


def target_reached(plan: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Whether a look is as narrow as its plan wants it: the final look (`monitored`, and `planned`, where a census is
    one too), or the target width (`anytime`)."""
    if result["interval"] is None:
        return False
    if plan["policy"] != "anytime":
        return bool(result["final"])
    half_width = target_half_width(plan)
    return half_width is not None and bool(result["interval"]["half_width"] <= half_width)


def has_stopped(plan: Mapping[str, Any], result: Mapping[str, Any], drawn: int) -> bool:
    """Whether this look is one at which its policy allows to stop: its target is reached or, where it was `planned`,
    every case drawn is settled."""
    all_drawn = result["interval"] is not None and plan["policy"] == "planned" and result["n"] == drawn
    return all_drawn or target_reached(plan, result)


def may_extend(plan: Mapping[str, Any], result: Mapping[str, Any] | None, drawn: int) -> bool:
    """Whether a larger sample is still the same plan: not once a look has ended it. `planned` may go on towards
    its target width, never because of the value; without a target its end is the number of labels."""
    if result is None or plan["policy"] == "anytime":
        return True
    has_target = bool(plan["half_width"] or plan["detectable_difference"])
    if plan["policy"] == "planned" and not has_target:
        return not has_stopped(plan, result, drawn)
    return not result["final"]
