"""What a changed verdict came to, once people had settled the case."""

from collections.abc import Mapping
from enum import StrEnum


class Outcome(StrEnum):
    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    BOTH_RIGHT = "both right"
    BOTH_WRONG = "both wrong"
    UNDECIDED = "undecided"
    UNSETTLED = "unsettled"


Labels = tuple[str, str]  # of the old and of the new side; blank where nobody could judge


def outcome_of(
    verdicts: tuple[str, str], labels: Labels | None, *, is_swap: bool, scale: Mapping[str, float | None]
) -> Outcome:
    """Of a judge swap a side is right where its verdict is the label. Of an upgrade the labels themselves are compared,
    and right is the best of the scale. `labels` is None while the case is not settled."""
    if labels is None:
        return Outcome.UNSETTLED
    if not all(labels):
        return Outcome.UNDECIDED
    if not is_swap and (moved := _moved(labels, scale)):
        return moved
    best = best_label(scale)
    sides = zip(verdicts, labels, strict=True)
    old, new = (verdict == label for verdict, label in sides) if is_swap else (label == best for label in labels)
    if old != new:
        return Outcome.REGRESSION if old else Outcome.IMPROVEMENT
    return Outcome.BOTH_RIGHT if old else Outcome.BOTH_WRONG


def _moved(labels: Labels, scale: Mapping[str, float | None]) -> Outcome | None:
    """On a scale with values, any step down is a regression, also one that does not begin at the best."""
    old, new = scale.get(labels[0]), scale.get(labels[1])
    if old is None or new is None or old == new:
        return None
    return Outcome.REGRESSION if new < old else Outcome.IMPROVEMENT


def best_label(scale: Mapping[str, float | None]) -> str:
    """The label of the highest value; on a nominal scale the last one."""
    values = {label: value for label, value in scale.items() if value is not None}
    return max(values, key=lambda label: values[label]) if values else list(scale)[-1]
