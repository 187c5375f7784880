"""Agreement of reviewers on the double-reviewed subset: raw, and Krippendorff's alpha."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from audits.stats.checks import checked_choice, refused

Metric = Literal["nominal", "ordinal", "interval"]
METRICS = ("nominal", "ordinal", "interval")


@dataclass(frozen=True)
class Agreement:
    """Agreement of two or more reviewers on the same cases.

    `raw` is the share of pairs of reviews that gave the same label, each case counting by its number of reviews (as
    alpha weighs them); `alpha` is None where it is undefined, with the `reason`. `cases` have two reviews or more;
    `reviews` counts theirs.
    """

    raw: float | None
    alpha: float | None
    metric: Metric
    cases: int
    reviews: int
    reason: str = ""


def agreement(
    reviews: Sequence[Sequence[str | None]],
    *,
    metric: Metric = "nominal",
    scale: Mapping[str, float | None] | None = None,
) -> Agreement:
    """Agreement over cases, whoever reviewed them.

    Parameters
    ----------
    reviews : sequence of sequences of label or None
        The labels each case was given; None (no answer, cannot judge) is left out. Cases with fewer than two labels
        say nothing about agreement and are left out.
    metric : {'nominal', 'ordinal', 'interval'}
        How far two different labels are from each other.
    scale : mapping of label to number, in order
        Needed for 'ordinal' (its order) and 'interval' (its numbers). Labels that are not in it are refused.

    Returns
    -------
    Agreement

    Raises
    ------
    InputError
        Unknown metric or label, a metric whose scale is missing, or a label without a number for 'interval'.

    Notes
    -----
    alpha = 1 - observed / expected disagreement, both from the coincidence matrix. It is undefined when no case has two
    labels, when only one has, and when only one label was ever used: then no disagreement was possible and 1.0 would
    claim agreement that was never tested.

    References
    ----------
    K. Krippendorff, Content Analysis, 3rd edition (2013), chapter 12; A. F. Hayes and K. Krippendorff, Communication
    Methods and Measures 1 (2007) 77-89.
    """
    checked_choice(metric, "metric", METRICS)
    units = [[label for label in unit if label is not None] for unit in reviews]
    units = [unit for unit in units if len(unit) >= 2]
    _check_labels(units, scale)
    count = sum(len(unit) for unit in units)
    if not units:
        return Agreement(None, None, metric, 0, 0, "no case has two labels")
    coincidences = _coincidences(units)
    totals = _totals(coincidences)
    raw = sum(value for (one, other), value in coincidences.items() if one == other) / count
    if len(units) == 1:
        return Agreement(raw, None, metric, 1, count, "one case alone does not tell agreement from chance")
    if len(totals) == 1:
        return Agreement(raw, None, metric, len(units), count, "only one label was used: no disagreement was possible")
    distance = _distance(metric, totals, scale)
    observed = sum(value * distance(one, other) for (one, other), value in coincidences.items())
    expected = sum(totals[one] * totals[other] * distance(one, other) for one in totals for other in totals)
    if expected == 0:
        return Agreement(raw, None, metric, len(units), count, "all labels used are at no distance from each other")
    return Agreement(raw, 1 - (count - 1) * observed / expected, metric, len(units), count)


def _check_labels(units: Sequence[Sequence[str]], scale: Mapping[str, float | None] | None) -> None:
    if scale is None:
        return
    for unit in units:
        for label in unit:
            if label not in scale:
                raise refused("a label is not on the scale", key="reviews", value=label, allowed=", ".join(scale))


def _coincidences(units: Sequence[Sequence[str]]) -> dict[tuple[str, str], float]:
    """o_ck: ordered pairs of labels within a case, each case weighing as much as it has labels."""
    result: dict[tuple[str, str], float] = {}
    for unit in units:
        counts = Counter(unit)
        for one in counts:
            for other in counts:
                pairs = counts[one] * (counts[other] - (one == other))
                result[one, other] = result.get((one, other), 0.0) + pairs / (len(unit) - 1)
    return result


def _totals(coincidences: Mapping[tuple[str, str], float]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for (one, _), value in coincidences.items():
        totals[one] = totals.get(one, 0.0) + value
    return totals


def _distance(
    metric: Metric, totals: Mapping[str, float], scale: Mapping[str, float | None] | None
) -> Callable[[str, str], float]:
    if metric == "nominal":
        return lambda one, other: float(one != other)
    if scale is None:
        raise refused("this metric needs the scale", key="scale", value=None, allowed="labels in order, with numbers")
    if metric == "interval":
        numbers = {label: _number(label, scale) for label in totals}
        return lambda one, other: (numbers[one] - numbers[other]) ** 2
    order = [label for label in scale if label in totals]
    # Ranks in the middle of each label's share of all labels: (sum between, ends halved)^2.
    before, middle = 0.0, {}
    for label in order:
        middle[label] = before + totals[label] / 2
        before += totals[label]
    return lambda one, other: (middle[one] - middle[other]) ** 2


def _number(label: str, scale: Mapping[str, float | None]) -> float:
    number = scale[label]
    if number is None:
        raise refused("a label has no number", key="scale", value=label, allowed="a number for every label")
    return number
