"""Much, a little at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Thing = TypeVar("Thing")


def batches(things: Iterable[Thing], size: int) -> Iterator[list[Thing]]:
    """Lists of `size`, the last of what is left; no more is taken than is in hand."""
    iterator = iter(things)
    while batch := list(islice(iterator, size)):
        yield batch
