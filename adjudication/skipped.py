"""What leads are told of skips: apart from the desk's reads, because a holdout's seal is about comparisons."""

from dataclasses import dataclass
from datetime import datetime

from adjudication.models import Skip
from judges.holdouts import UNNAMED, case_is_sealed


@dataclass(frozen=True)
class SkipTold:
    """What a lead is told of a skip. `item` goes with the wish to serve it again; a sealed case is not named."""

    item: int
    case_id: str
    by: str
    reason: str
    at: datetime

    @classmethod
    def of(cls, skip: Skip) -> "SkipTold":
        sealed = case_is_sealed(skip.item.case)
        case_id, reason = (UNNAMED, "") if sealed else (skip.item.case.case_id, skip.reason)
        return cls(skip.item_id, case_id, skip.author.pseudonym, reason, skip.at)
