"""Cells of a spreadsheet that are text and stay text."""

from collections.abc import Sequence
from typing import Any

OPENERS = frozenset("=+-@\t\r'")
QUOTED = ',"\r\n'


def neutral(value: str) -> str:
    """A cell that a spreadsheet would run, or that starts with our own mark, gets one leading apostrophe."""
    return f"'{value}" if value[:1] in OPENERS else value


def written_cells(column: Sequence[Any]) -> list[str]:
    """A column's cells as they stand in a file; what is not there is blank. It is searched as a whole: hardly one of a
    million cells has to be looked at by itself."""
    texts = ["" if value is None else str(value) for value in column]
    if _is_quoted("".join(texts)) or not OPENERS.isdisjoint([text[:1] for text in texts]):
        return [_written(value, text) for value, text in zip(column, texts, strict=True)]
    return texts


def _written(value: Any, text: str) -> str:
    cell = neutral(text) if isinstance(value, str) else text  # a number stays one, whatever it begins with
    doubled = cell.replace('"', '""')
    return f'"{doubled}"' if _is_quoted(cell) else cell


def _is_quoted(text: str) -> bool:
    """A carriage return is quoted too: it does not end a row."""
    return any(mark in text for mark in QUOTED)


def recovered(value: str) -> str:
    """The text as it was before `neutral`."""
    return value[1:] if value.startswith("'") and value[1:2] in OPENERS else value
