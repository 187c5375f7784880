"""Cells of a spreadsheet that are text and stay text."""

from collections.abc import Iterable
from typing import Any

OPENERS = frozenset("=+-@\t\r'")


def neutral(value: str) -> str:
    """A cell that a spreadsheet would run, or that starts with our own mark, gets one leading apostrophe."""
    return f"'{value}" if value[:1] in OPENERS else value


def neutral_cells(row: Iterable[Any]) -> list[Any]:
    """A row as it is written: what is not there is a blank cell. Nearly no text of a million needs the call."""
    return [
        "" if value is None else neutral(value) if isinstance(value, str) and value[:1] in OPENERS else value
        for value in row
    ]


def recovered(value: str) -> str:
    """The text as it was before `neutral`."""
    return value[1:] if value.startswith("'") and value[1:2] in OPENERS else value
