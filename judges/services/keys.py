"""Keys of the rows that a load writes: to ask a database for a million of them takes longer than to keep them."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from judges.intake.rows import CaseIndex
from judges.models.loads import Loaded

NONE = 0  # no row has this key


class AboutCase(Protocol):
    @property
    def case_id(self) -> str: ...


class WrittenKeys:
    """What a load writes under each target, by the place of its case in the case source: eight bytes for each."""

    def __init__(self, index: CaseIndex) -> None:
        self._index = index
        self._keys: dict[Loaded, array[int]] = {}

    def note(self, target: Loaded, rows: Sequence[AboutCase], keys: Sequence[int]) -> None:
        """Keep the keys of rows that are about to be written, where they come from files whose cases are counted."""
        if not len(self._index):
            return
        places, row_of = self._keys.setdefault(target, array("q")), self._index.row_of
        places.frombytes(bytes(8 * (self._index.rows + 1 - len(places))))
        for row, key in zip(rows, keys, strict=True):
            places[row_of[row.case_id]] = key

    def of(self, target: Loaded, rows: Sequence[AboutCase], ask: Callable[[list[str]], Mapping[str, Any]]) -> list[int]:
        """The key under the target for the case of each row, or NONE. Of a target that was there already, as `ask`
        finds them by case id."""
        places, row_of = self._keys.get(target, ()), self._index.row_of
        if len(places) > self._index.rows:  # and not only the cases of the first chunks
            return [places[row_of[row.case_id]] for row in rows]
        known = ask([row.case_id for row in rows])
        return [known.get(row.case_id, NONE) for row in rows]
