from adjudication.models.queues import Item, ItemArtifact, ItemState, Queue, Slot, SlotKind, SlotState
from adjudication.models.references import Reference, Settlement, SettlementHow
from adjudication.models.reviews import Label, Review, ReviewReason, Withdrawal
from adjudication.models.work import Draft, Lease, LeaseEnd, Presentation, Skip

__all__ = [
    "Draft",
    "Item",
    "ItemArtifact",
    "ItemState",
    "Label",
    "Lease",
    "LeaseEnd",
    "Presentation",
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
    "Withdrawal",
]
