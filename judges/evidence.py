"""Whether other evidence than the artifact's is the same pieces in another order."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import permutations

from core.identity import sequence_hash

MOST_PIECES = 6  # 720 orders
MOST_SEARCHES = 1_000


@dataclass
class EvidenceOrders:
    """Tells order from content by trying orders: only the hash of the whole sequence is recorded.

    A fault of order is mostly the same in every case: orders found once are tried first, and a thousand searches
    that found nothing are enough.
    """

    reordered: int = 0
    other_pieces: int = 0
    not_told: int = 0  # more pieces than are tried, or after the last search
    found: list[tuple[int, ...]] = field(default_factory=list)
    fruitless: int = 0

    def add(self, seen: str, pieces: list[str]) -> None:
        if any(self._is(seen, pieces, order) for order in self.found if len(order) == len(pieces)):
            self.reordered += 1
        elif len(pieces) > MOST_PIECES or self.fruitless >= MOST_SEARCHES:
            self.not_told += 1
        else:
            self._search(seen, pieces)

    def _search(self, seen: str, pieces: list[str]) -> None:
        order = next((one for one in permutations(range(len(pieces))) if self._is(seen, pieces, one)), None)
        if order is None:
            self.other_pieces += 1
            self.fruitless += 1
        else:
            self.reordered += 1
            self.found.append(order)

    @staticmethod
    def _is(seen: str, pieces: list[str], order: Iterable[int]) -> bool:
        return sequence_hash(pieces[place] for place in order) == seen

    def as_dict(self) -> dict[str, int]:
        return {
            "other_order": self.reordered,
            "other_pieces": self.other_pieces,
            "not_told_apart": self.not_told,
        }
