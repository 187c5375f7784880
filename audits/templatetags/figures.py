"""How numbers are written: points for shares and differences, never a bare figure."""

from typing import Any

from django import template

register = template.Library()

MINUS = "\N{MINUS SIGN}"


@register.filter
def points(value: float | None, digits: int = 1) -> str:
    """A share or a difference of shares in percentage points: 0.0213 is `2.1`."""
    if value is None:
        return "\N{EN DASH}"
    text = f"{abs(value) * 100:.{digits}f}"
    # A difference that rounds to nothing has no sign.
    negative = value < 0 and float(text) != 0
    return f"{MINUS}{text}" if negative else text


@register.filter
def count(value: int | None) -> str:
    return "\N{EN DASH}" if value is None else f"{value:,}"


@register.filter
def signed_points(value: float | None) -> str:
    """Percentage points with their sign: 0.0213 is `+2.1`."""
    text = points(value)
    return f"+{text}" if value is not None and value > 0 and float(text) != 0 else text


@register.filter
def percent(value: float | None) -> str:
    """A share as per cent, without needless digits: 0.95 is `95 %`."""
    return "\N{EN DASH}" if value is None else f"{value * 100:.1f}".removesuffix(".0") + " %"


@register.filter
def aligned_percent(value: float | None) -> str:
    """The same in a column, whose digits stand below each other: 0.95 is `95.0 %`."""
    return "\N{EN DASH}" if value is None else f"{value * 100:.1f} %"


@register.filter
def ratio(value: float | None) -> str:
    """A number without a unit, to three decimals: 0.3754 is `0.375`."""
    return "\N{EN DASH}" if value is None else f"{value:.3f}"


@register.filter
def amount(value: float | None) -> str:
    """Tokens or a cost, to four digits: 0.00214 is `0.00214`, 1234.5 is `1,234`."""
    if value is None:
        return "\N{EN DASH}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


@register.filter
def in_points(value: float | None, estimand: str) -> str:
    """Percentage points, signed where the estimand is a difference: a rate has no sign."""
    return signed_points(value) if estimand.endswith("_difference") else points(value)


@register.filter
def labels_used(result: dict[str, Any]) -> int:
    """Labels that an estimate rests on: those of strata whose contribution is known without are not among them."""
    return sum(stratum["labels"] for stratum in result["strata"] if stratum["used"])
