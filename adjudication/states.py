"""The states of an item and of a slot, and the only writer that moves them."""

from django.db.models import Model

from adjudication.models import Item, ItemState, Slot, SlotState
from core.errors import Problem, Refused

ITEM_MOVES: dict[ItemState, frozenset[ItemState]] = {
    ItemState.OPEN: frozenset({ItemState.CONFLICT, ItemState.SETTLED}),
    # Back to open: the answer that made the conflict was taken back before anybody looked at it.
    ItemState.CONFLICT: frozenset({ItemState.SETTLED, ItemState.OPEN}),
    ItemState.SETTLED: frozenset(),
}
SLOT_MOVES: dict[SlotState, frozenset[SlotState]] = {
    SlotState.OPEN: frozenset({SlotState.DONE, SlotState.WITHDRAWN}),
    SlotState.DONE: frozenset({SlotState.OPEN}),  # its answer was taken back
    SlotState.WITHDRAWN: frozenset(),
}


def item_move(item: Item, to: ItemState) -> None:
    _move(item, to, sources=[state for state, targets in ITEM_MOVES.items() if to in targets])


def slot_move(slot: Slot, to: SlotState) -> None:
    _move(slot, to, sources=[state for state, targets in SLOT_MOVES.items() if to in targets])


def _move(thing: Item | Slot, to: ItemState | SlotState, sources: list[ItemState] | list[SlotState]) -> None:
    """Compare and swap: of two who move the same thing, one wins and the other is refused."""
    model: type[Model] = type(thing)
    if model._default_manager.filter(pk=thing.pk, state__in=sources).update(state=to) != 1:
        raise Refused(Problem(f"{thing} cannot become {to.value} from its present state"))
    thing.state = to
