"""Showing how far long work is, without knowing who watches."""

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

from judges.intake.streams import Meter

Row = TypeVar("Row")


class Progress(Protocol):
    """Passes rows on while somebody watches; `expected` is how many there will be at most, where that is known, and
    `meter` how much of their files is read, where it is not."""

    def __call__(
        self, what: str, rows: Iterator[Any], expected: int | None = None, meter: Meter | None = None
    ) -> Iterator[Any]: ...


def silent(what: str, rows: Iterator[Row], expected: int | None = None, meter: Meter | None = None) -> Iterator[Row]:
    return rows
