"""Sentences about a look: what may be concluded, in words a reader can repeat."""

from typing import Any

from audits.templatetags.figures import points, signed_points

POLICIES = {
    "planned": "planned stop",
    "monitored": "monitored, final at the target width",
    "anytime": "valid at any time",
}


def interval_words(result: dict[str, Any]) -> str:
    """One line: `+2.1 points (−0.4 to +4.6), 95 %, 140 of 1,487 cases labelled, monitored …`."""
    interval = result["interval"]
    if interval is None:
        return f"no interval yet: {result['reason'] or result['state']}"
    limits = f"{signed_points(interval['low'])} to {signed_points(interval['high'])}"
    return (
        f"{signed_points(result['point'])} points ({limits}), "
        f"{result['level'] * 100:g} % level, n = {result['labels']:,} labels for {result['size']:,} cases, "
        f"{POLICIES[result['policy']]}, {result['method']}"
    )


def conclusion(result: dict[str, Any], *, half_width: float | None) -> str:
    """What may be concluded now about a difference."""
    interval = result["interval"]
    if interval is None:
        return f"Nothing yet: {result['reason'] or result['state']}."
    if result["policy"] == "planned":
        stop = "Valid only at the planned stop: stop at the planned number of labels, never because of the value. "
    elif result["policy"] == "monitored" and result["final"]:
        stop = "This look is final: more labels need a new plan. "
    else:
        stop = ""
    if interval["low"] > 0:
        return f"{stop}The new side is better: the interval lies above 0."
    if interval["high"] < 0:
        return f"{stop}The new side is worse: the interval lies below 0."
    width = interval["half_width"]
    if half_width is not None and width <= half_width:
        return f"{stop}No difference is shown, and none larger than the interval's limits is left open."
    target = (
        "" if half_width is None else f" The half-width is {points(width)} points, the target {points(half_width)}."
    )
    return f"{stop}Not yet: the interval still holds 0.{target}"
