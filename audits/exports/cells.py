"""Cells of a spreadsheet that are text and stay text."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

OPENERS = frozenset("=+-@\t\r'")
BEGINNING = itemgetter(slice(1))


def neutral(value: str) -> str:
    """A cell that a spreadsheet would run, or that starts with our own mark, gets one leading apostrophe."""
    return f"'{value}" if value[:1] in OPENERS else value


def neutral_column(column: Sequence[Any]) -> Sequence[Any]:
    """The cells of a column, its texts neutral. It is searched as a whole: hardly one of a million needs the call."""
    if OPENERS.isdisjoint(map(BEGINNING, [cell for cell in column if isinstance(cell, str)])):
        return column
    return [neutral(cell) if isinstance(cell, str) else cell for cell in column]


def recovered(value: str) -> str:
    """The text as it was before `neutral`."""
    return value[1:] if value.startswith("'") and value[1:2] in OPENERS else value
