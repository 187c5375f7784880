"""States move along their table and nowhere else; of two who move one thing, one wins."""

from itertools import product

import pytest
from django.db import IntegrityError, transaction

from adjudication.models import Item, ItemState, Slot, SlotState
from adjudication.states import ITEM_MOVES, SLOT_MOVES, item_move, slot_move
from core.errors import Refused
from tests import factories

pytestmark = [pytest.mark.database, pytest.mark.django_db]

ALLOWED_ITEM = {("open", "conflict"), ("open", "settled"), ("conflict", "settled"), ("conflict", "open")}
ALLOWED_SLOT = {("open", "done"), ("open", "withdrawn"), ("done", "open")}


@pytest.fixture
def item(db: None) -> Item:
    return factories.make_queue(factories.make_project(), 1).items.get()


@pytest.mark.parametrize(("source", "target"), list(product(ItemState, ItemState)))
def test_item_moves_only_along_its_table(item: Item, source: ItemState, target: ItemState) -> None:
    Item.objects.update(state=source)
    if (source, target) in ALLOWED_ITEM:
        item_move(item, target)
        assert item.state == target
        assert Item.objects.get().state == target
    else:
        with pytest.raises(Refused, match=f"cannot become {target.value}"):
            item_move(item, target)
        assert Item.objects.get().state == source


@pytest.mark.parametrize(("source", "target"), list(product(SlotState, SlotState)))
def test_slot_moves_only_along_its_table(item: Item, source: SlotState, target: SlotState) -> None:
    Slot.objects.update(state=source)
    slot = Slot.objects.get()
    if (source, target) in ALLOWED_SLOT:
        slot_move(slot, target)
        assert Slot.objects.get().state == target
    else:
        with pytest.raises(Refused, match=f"cannot become {target.value}"):
            slot_move(slot, target)
        assert Slot.objects.get().state == source


def test_of_two_who_hold_a_copy_the_second_is_refused(item: Item) -> None:
    copy = Item.objects.get()
    item_move(item, ItemState.SETTLED)
    with pytest.raises(Refused):
        item_move(copy, ItemState.SETTLED)
    assert copy.state == ItemState.OPEN


def test_every_state_has_its_row_in_the_table() -> None:
    assert set(ITEM_MOVES) == set(ItemState)
    assert set(SLOT_MOVES) == set(SlotState)


@pytest.mark.parametrize("model", [Item, Slot])
def test_database_refuses_a_state_that_is_none(item: Item, model: type[Item] | type[Slot]) -> None:
    with pytest.raises(IntegrityError, match="state_is_known"), transaction.atomic():
        model.objects.update(state="lost")
