"""Showing how far long work is, without knowing who watches."""

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

Row = TypeVar("Row")


class Progress(Protocol):
    """Passes rows on while somebody watches; `expected` is how many there will be at most, where that is known."""

    def __call__(self, what: str, rows: Iterator[Any], expected: int | None = None) -> Iterator[Any]: ...


def silent(what: str, rows: Iterator[Row], expected: int | None = None) -> Iterator[Row]:
    return rows
