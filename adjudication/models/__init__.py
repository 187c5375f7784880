from adjudication.models.calibration import Calibration, KnownAnswer, LabelDispute
from adjudication.models.queues import Item, ItemArtifact, ItemState, Queue, QueuePurpose, Slot, SlotKind, SlotState
from adjudication.models.reasons import ReasonCode, ReasonOwner, ReasonPlacement, ReasonStage
from adjudication.models.references import Reference, Settlement, SettlementHow
from adjudication.models.reviews import Label, Review, ReviewReason, Span, Withdrawal
from adjudication.models.work import Bookmark, Draft, KeyChoice, Lease, LeaseEnd, Presentation, Skip

__all__ = [
    "Bookmark",
    "Calibration",
    "Draft",
    "Item",
    "ItemArtifact",
    "ItemState",
    "KeyChoice",
    "KnownAnswer",
    "Label",
    "LabelDispute",
    "Lease",
    "LeaseEnd",
    "Presentation",
    "Queue",
    "QueuePurpose",
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
