"""Sentences about a look: what may be concluded, in words a reader can repeat."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from audits.templatetags.figures import in_points, labels_used, percent, points, ratio, signed_points

if TYPE_CHECKING:
    from audits.models import SignOff
    from audits.stats.pace import Pace

POLICIES = {
    "planned": "planned: valid only at the planned stop",
    "monitored": "monitored: any number of looks until the target width",
    "anytime": "anytime: any number of looks, without an end",
}
ESTIMANDS = {
    "success_difference": "how much more often the new version succeeds than the old one",
    "accuracy_difference": "how much more often the new judge is right than the old one",
    "score_difference": "how much higher the new version scores than the old one",
    "success_rate": "how often this side succeeds",
    "accuracy": "how often this side's verdict is right",
}
PREDICTORS = {
    "cells": "the judges' verdicts",
    "score": "the judges' finer score, with a slope in each stratum",
}
TARGETS = {
    "pool": "these eligible cases and no others",
    "traffic": "the process that these cases came from",
}
SIDES = {"baseline": "old (baseline)", "candidate": "new (candidate)"}
KINDS = {"judge_swap": "Judge swap", "version_upgrade": "Version upgrade"}
LITTLE = 0.02  # a gain in width below which the page says that the judge adds little

BETTER = {
    "accuracy_difference": ("The new judge is right more often", "The new judge is right less often"),
    "success_difference": ("The new version is better", "The new version is worse"),
    "score_difference": ("The new version scores higher", "The new version scores lower"),
}

SHADOW = "The baseline is official, the candidate in shadow."


def official_words(change: "SignOff | None") -> str:
    """Which side is official, by the cutover or rollback in force."""
    if change is None:
        return SHADOW
    when, who = f"{change.at:%Y-%m-%d %H:%M} UTC", change.actor.pseudonym
    override = ", against its gate" if change.overridden else ""
    if change.kind == "cutover":
        return f"Cut over {when} by {who}{override}: the candidate is official from then on."
    return f"Rolled back {when} by {who}: the baseline is official again."


def interval_words(result: dict[str, Any]) -> str:
    """One line: `+2.1 points (−0.4 to +4.6), 95 %, 140 of 1,487 cases labelled, monitored …`."""
    interval = result["interval"]
    if interval is None:
        return f"no interval yet: {result['reason'] or result['state']}"
    point, low, high = (
        in_points(value, result["estimand"]) for value in (result["point"], interval["low"], interval["high"])
    )
    side = f"{result['side']} side, " if result["side"] else ""
    return (
        f"{side}{point} points ({low} to {high}), "
        f"{result['level'] * 100:g} % level, n = {labels_used(result):,} labels for {result['size']:,} cases, "
        f"{policy_now(result)}, {result['method']}"
    )


def policy_now(result: dict[str, Any]) -> str:
    """The policy in force, with whether a monitored audit has had its final look."""
    if result["policy"] != "monitored":
        return str(result["policy"])
    return "monitored, final look" if result["final"] else "monitored, not final"


def conclusion(result: dict[str, Any], *, half_width: float | None) -> str:
    """What may be concluded now, in one or two sentences."""
    interval = result["interval"]
    if interval is None:
        return f"Nothing yet: {result['reason'] or result['state']}."
    return f"{_finding(result, interval, half_width)} {_validity(result)}".strip()


def _validity(result: dict[str, Any]) -> str:
    if result["policy"] == "planned":
        return "Valid only at the planned stop: stop at the planned number of labels, never because of the value."
    if result["policy"] == "monitored" and result["final"]:
        return "This look is final: more labels need a new plan."
    return ""


def _finding(result: dict[str, Any], interval: dict[str, Any], half_width: float | None) -> str:
    width = points(interval["half_width"])
    target = "" if half_width is None else f", the target ±{points(half_width)}"
    if result["estimand"] not in BETTER:
        return f"The interval reaches ±{width} points{target}."
    better, worse = BETTER[result["estimand"]]
    if interval["low"] > 0:
        return f"{better}: the interval lies above 0."
    if interval["high"] < 0:
        return f"{worse}: the interval lies below 0."
    limits = f"{signed_points(interval['low'])} to {signed_points(interval['high'])}"
    if half_width is not None and interval["half_width"] <= half_width:
        return f"No difference is shown: the interval holds 0, and anything from {limits} points remains possible."
    return f"Not yet: the interval still holds 0. It reaches ±{width} points{target}."


def finding_words(finding: Mapping[str, Any]) -> str:
    """A secondary estimate in one line, with its limits where it has any, and what is to be said of it."""
    write, unit = (points, " points") if finding["unit"] == "points" else (ratio, "")
    said = f"{'p = ' if finding['unit'] == 'p' else ''}{write(finding['point'])}{unit}"
    if finding["low"] is not None:
        said += f" ({write(finding['low'])} to {write(finding['high'])}, fixed n)"
    return f"  {finding['name']}: {said}" + (f"; {finding['note']}" if finding["note"] else "")


def gain_words(result: dict[str, Any]) -> str:
    """How much the verdicts, or the plan's score, add to the labels, beyond choosing the cases."""
    gain = result["human_only"]["gain"] if result["human_only"] else None
    if gain is None:
        return ""
    if scored := [stratum for stratum in result["strata"] if stratum["lam"] or stratum["lam_reason"]]:
        return f"{_score_gain(gain)} {_slopes(scored)}"
    if result["estimand"] == "accuracy_difference":
        return "The verdicts help by choosing the cases: where the judges agree, no label can change this estimate."
    if gain < LITTLE:
        return f"The judge adds little: the interval is {percent(max(gain, 0.0))} narrower than from labels alone."
    return f"The judge's verdicts make the interval {percent(gain)} narrower than labels alone."


def _score_gain(gain: float) -> str:
    if gain < LITTLE:
        return f"The judge's score adds little: the interval is {percent(max(gain, 0.0))} narrower than labels alone."
    return f"The judge's score makes the interval {percent(gain)} narrower than labels alone."


def _slopes(strata: list[dict[str, Any]]) -> str:
    parts = [
        f"{one['name']} {one['lam']:.3f}" if one["lam"] else f"{one['name']} 0, {one['lam_reason']}" for one in strata
    ]
    return f"Its slope (lambda): {'; '.join(parts)}."


def remaining_words(remaining: dict[str, Any] | None, *, half_width: float | None) -> str:
    """How many more labels reach the target, with the range that the uncertainty of the variances implies."""
    if remaining is None or half_width is None:
        return "The plan has no target width."
    goal = f"±{points(half_width)} points"
    if remaining["state"] == "reached":
        return f"No more labels are needed for {goal}."
    if remaining["state"] == "cannot tell yet":
        return f"How many more labels reach {goal}: {remaining['reason']}."
    least, most = remaining["least"], remaining["most"]
    return f"About {remaining['total_more']:,} more labels ({least:,} to {most:,}) reach {goal}."


def width_words(result: dict[str, Any] | None, *, half_width: float | None) -> str:
    """The width that is reached against the one that is wanted."""
    target = "no target width" if half_width is None else f"target ±{points(half_width)} points"
    if result is None or result["interval"] is None:
        return f"No interval yet, {target}."
    return f"±{points(result['interval']['half_width'])} points now, {target}."


def pace_words(pace: "Pace") -> str:
    """How fast labels come, by the rule of `audits.stats.pace`."""
    if pace.per_hour is None or pace.low is None or pace.high is None:
        return f"Pace: too few labels from the desk to tell ({pace.reason})."
    rates = f"{pace.per_hour:.0f} labels an hour of work ({pace.low:.0f} to {pace.high:.0f})"
    return (
        f"Pace: {rates}, from the last {pace.labels:,} over {pace.hours:.1f} hours, breaks above 30 minutes left out."
    )


def finish_words(pace: "Pace", remaining: dict[str, Any] | None, *, open_cases: int) -> str:
    """How long the target, or the drawn cases where nothing else is known, will take at this pace."""
    if remaining is not None and remaining["state"] == "ok":
        least, most, what = remaining["least"], remaining["most"], "The labels that the target still needs"
    elif remaining is None or remaining["state"] == "cannot tell yet":
        least, most, what = open_cases, open_cases, "The drawn cases that are open"
    else:
        return ""
    hours = pace.hours_for(least, most)
    if hours is None or not most:
        return ""
    return f"{what} take about {hours[0]:.1f} to {hours[1]:.1f} hours of work at this pace."


def agreement_words(agreement: Mapping[str, Any]) -> str:
    """Raw agreement and alpha of the reviewers, with n; or why there is none."""
    on = f"on {agreement['cases']:,} artifacts with {agreement['reviews']:,} labels"
    said = [f"raw agreement {percent(agreement['raw'])}"] if agreement["raw"] is not None else []
    if agreement["alpha"] is not None:
        said.append(f"Krippendorff's alpha {ratio(agreement['alpha'])}")
    reason = f"; {agreement['reason']}" if agreement["reason"] else ""
    if not said:
        return f"No agreement of reviewers is known: {agreement['reason']}."
    return f"Reviewers who labelled the same artifact: {', '.join(said)}, {on}{reason}."


def saving_words(without_judge: int | None, saving: float | None) -> str:
    """What the verdicts save in labels, as far as the plan can know."""
    if without_judge is None or saving is None:
        return ""
    plain = f"A plain random sample, without the judges' verdicts, would need {without_judge:,} labels for this width"
    return f"{plain}: the plan saves {percent(saving)}." if saving > 0 else f"{plain}: the plan saves nothing."


def reuse_words(reused: int, total: int, *, wanted: bool) -> str:
    """How many labels are saved by those that are there already, or would be if the plan took them."""
    if not reused:
        return ""
    if wanted:
        there = f"Labels that are there already settle {reused:,} of the {total:,} cases"
        return f"{there}: {total - reused:,} labels are left to give."
    there = f"Earlier audits under this rubric have settled {reused:,} of the {total:,} cases"
    return f"{there}. With review.reuse_references in the manifest, {total - reused:,} labels would be left to give."


def budget_words(budget: int, outlook: dict[str, Any], *, half_width: float) -> str:
    """The chance that the budget's labels reach the target."""
    if budget < outlook["fewest"]:
        return f"The budget of {budget:,} labels is below the {outlook['fewest']:,} that this plan draws at least."
    # Past its end the pool is settled whole, which reaches every width.
    chance = next((point["chance"] for point in outlook["curve"] if point["labels"] == budget), 1.0)
    return f"The chance that the budget of {budget:,} labels reaches ±{points(half_width)} points is {percent(chance)}."
