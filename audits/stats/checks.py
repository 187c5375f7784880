"""Refusals of the statistics: each names the value that was found and what would have been accepted."""

import math
from collections.abc import Iterable
from typing import Any

from core.errors import InputError, Problem


def refused(what: str, *, key: str, value: Any, allowed: str = "") -> InputError:
    return InputError(Problem(what, key=key, value=str(value), allowed=allowed))


def checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise refused("the confidence level is out of range", key="level", value=level, allowed="between 0 and 1")
    return float(level)


def checked_count(value: Any, key: str, *, at_least: int = 0) -> int:
    """Take a whole number; a float that is whole passes, since arrays hold them."""
    if type(value) is int and value >= at_least:
        return value
    if isinstance(value, bool) or not _is_finite(value) or value != int(value) or value < at_least:
        raise refused("not a possible count", key=key, value=value, allowed=f"a whole number of {at_least} or more")
    return int(value)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except TypeError:
        return False


def checked_choice(value: Any, key: str, allowed: Iterable[str]) -> str:
    choices = list(allowed)
    if value not in choices:
        raise refused("unknown choice", key=key, value=value, allowed=", ".join(choices))
    return str(value)


def checked_share(value: float, key: str) -> float:
    if not 0 <= value <= 1:
        raise refused("a share is out of range", key=key, value=value, allowed="from 0 to 1")
    return float(value)


def checked_width(half_width: float | None, key: str = "half_width") -> float:
    if half_width is None or not 0 < half_width < math.inf:
        raise refused("a target half-width is needed", key=key, value=half_width, allowed="a finite number above 0")
    return float(half_width)
