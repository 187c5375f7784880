from adjudication.models.queues import Item, ItemArtifact, ItemState, Queue, Slot, SlotKind, SlotState
from adjudication.models.references import Reference, Settlement, SettlementHow
from adjudication.models.reviews import Label, Review, ReviewReason
from adjudication.models.work import Lease, LeaseEnd, Skip

__all__ = [
    "Item",
    "ItemArtifact",
    "ItemState",
    "Label",
    "Lease",
    "LeaseEnd",
    "Queue",
    "Reference",
    "Review",
    "ReviewReason",
    "Settlement",
    "SettlementHow",
    "Skip",
    "Slot",
    "SlotKind",
    "SlotState",
]
