"""Where two values differ, by path: numbers to the precision of a second computation, everything else exactly."""

import math
from collections.abc import Iterator
from typing import Any

RELATIVE, ABSOLUTE = 1e-9, 1e-12


def differences(stated: Any, found: Any, path: str = "") -> Iterator[str]:
    """One line for each leaf that is not the same: `result.interval.low: stated 0.1, computed 0.2`."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for name in dict.fromkeys([*stated, *found]):
            yield from differences(stated.get(name), found.get(name), f"{path}.{name}" if path else str(name))
    elif isinstance(stated, list | tuple) and isinstance(found, list | tuple) and len(stated) == len(found):
        for place, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif not _same(stated, found):
        yield f"{path}: stated {stated!r}, computed {found!r}"


def leaves(value: Any) -> int:
    """How many values a structure holds."""
    if isinstance(value, dict):
        return sum(leaves(one) for one in value.values())
    if isinstance(value, list | tuple):
        return sum(leaves(one) for one in value)
    return 1


def _same(stated: Any, found: Any) -> bool:
    if isinstance(stated, bool) or isinstance(found, bool):
        return stated is found
    if isinstance(stated, int | float) and isinstance(found, int | float):
        return math.isclose(stated, found, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(stated == found)
