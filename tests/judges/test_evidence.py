"""Other evidence is told by order or by content, though only the hash of the sequence is recorded."""

import pytest

from core.identity import sequence_hash, text_hash
from judges import evidence
from judges.evidence import MOST_PIECES, EvidenceOrders

PIECES = [text_hash(text) for text in ("first", "second", "third")]
OTHER = [*PIECES[:2], text_hash("another")]


def test_same_pieces_in_another_order_are_told_from_other_pieces() -> None:
    orders = EvidenceOrders()
    for seen in (PIECES[::-1], [PIECES[1], PIECES[2], PIECES[0]], OTHER, PIECES[:2], []):
        orders.add(sequence_hash(seen), PIECES)
    assert orders.as_dict() == {"other_order": 2, "other_pieces": 3, "not_told_apart": 0}


def test_more_pieces_than_are_tried_are_told_only_by_an_order_found_before() -> None:
    orders, many = EvidenceOrders(), [text_hash(str(n)) for n in range(MOST_PIECES + 1)]
    orders.add(sequence_hash(many[::-1]), many)
    assert orders.as_dict() == {"other_order": 0, "other_pieces": 0, "not_told_apart": 1}


def test_search_ends_after_many_that_found_nothing_and_known_orders_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "MOST_SEARCHES", 2)
    orders = EvidenceOrders()
    for seen in (PIECES[::-1], OTHER, OTHER, OTHER, PIECES[::-1], [PIECES[1], PIECES[0], PIECES[2]]):
        orders.add(sequence_hash(seen), PIECES)
    assert orders.as_dict() == {"other_order": 2, "other_pieces": 2, "not_told_apart": 2}
