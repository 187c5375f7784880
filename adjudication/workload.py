"""How much waits at the desks of all projects, for whoever keeps the installation running."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min

from adjudication.models import Lease, Slot, SlotKind, SlotState


@dataclass(frozen=True)
class DeskWorkload:
    open_slots: dict[str, int]  # by kind
    live_leases: int
    oldest_lease: float  # seconds since it was taken; 0 where there is none


def desk_workload(now: datetime) -> DeskWorkload:
    counted = Slot.objects.filter(state=SlotState.OPEN).values_list("kind").annotate(number=Count("pk"))
    live = Lease.objects.filter(ended_at__isnull=True, expires_at__gt=now)
    found = live.aggregate(number=Count("pk"), oldest=Min("taken_at"))
    age = (now - found["oldest"]).total_seconds() if found["oldest"] else 0.0
    return DeskWorkload(dict.fromkeys(SlotKind.values, 0) | dict(counted), found["number"], age)
