"""How far the background work of all projects has come, for whoever keeps the installation running."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min

from adjudication.models import Settlement
from audits.models import Audit, Job, JobState, Look
from audits.selectors import audits_with_due_looks, last_look


@dataclass(frozen=True)
class BackgroundWorkload:
    """`look_latency` is of the last look: from the settlement that made it due to the look. All in seconds."""

    jobs: dict[str, int]  # by state
    oldest_job: float  # that waits or runs; 0 where there is none
    looks_due: int
    oldest_due_look: float  # since the first settlement that no look has seen; 0 where none is due
    look_latency: float | None


def background_workload(now: datetime) -> BackgroundWorkload:
    counted = Job.objects.values_list("state").annotate(number=Count("pk"))
    asked = Job.objects.filter(state__in=[JobState.WAITING, JobState.RUNNING]).aggregate(oldest=Min("asked_at"))[
        "oldest"
    ]
    due = audits_with_due_looks()
    waits = [(now - at).total_seconds() for at in map(_unseen_since, due) if at]
    return BackgroundWorkload(
        jobs=dict.fromkeys(JobState.values, 0) | dict(counted),
        oldest_job=(now - asked).total_seconds() if asked else 0.0,
        looks_due=len(due),
        oldest_due_look=max(waits, default=0.0),
        look_latency=_last_latency(),
    )


def _unseen_since(audit: Audit) -> datetime | None:
    last = last_look(audit)
    seen = last.watermark if last else 0
    unseen = Settlement.objects.filter(queue=audit.queue_id, number=seen + 1)
    return unseen.values_list("at", flat=True).first()


def _last_latency() -> float | None:
    look = Look.objects.select_related("audit").order_by("-pk").first()
    if look is None:
        return None
    settled = Settlement.objects.filter(queue=look.audit.queue_id, number=look.watermark)
    at = settled.values_list("at", flat=True).first()
    return (look.at - at).total_seconds() if at else None
