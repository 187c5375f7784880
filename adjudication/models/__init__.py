from adjudication.models.queues import Item, ItemArtifact, ItemState, Queue, Slot, SlotKind, SlotState
from adjudication.models.reasons import ReasonCode, ReasonOwner, ReasonPlacement, ReasonStage
from adjudication.models.references import Reference, Settlement, SettlementHow
from adjudication.models.reviews import Label, Review, ReviewReason, Span, Withdrawal
from adjudication.models.work import Bookmark, Draft, KeyChoice, Lease, LeaseEnd, Presentation, Skip

__all__ = [
    "Bookmark",
    "Draft",
    "Item",
    "ItemArtifact",
    "ItemState",
    "KeyChoice",
    "Label",
    "Lease",
    "LeaseEnd",
    "Presentation",
    "Queue",
    "ReasonCode",
    "ReasonOwner",
    "ReasonPlacement",
    "ReasonStage",
    "Reference",
    "Review",
    "ReviewReason",
    "Settlement",
    "SettlementHow",
    "Skip",
    "Slot",
    "SlotKind",
    "SlotState",
    "Span",
    "Withdrawal",
]
