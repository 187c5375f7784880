"""What the worker does. Each task calls one service and may run twice."""

from celery import shared_task
from django.utils import timezone

from audits.models import Audit


@shared_task
def look_due(*, queue: int, number: int) -> None:
    """Something was settled in this queue."""
    from audits.services.looks import looks_bring_up_to_date

    audit = Audit.objects.filter(queue=queue).first()
    if audit is not None:
        looks_bring_up_to_date(audit=audit, clock=timezone.now)


@shared_task
def looks_sweep() -> None:
    """Find what a lost message would have started."""
    from audits.services.looks import audits_with_due_looks, looks_bring_up_to_date

    for audit in audits_with_due_looks():
        looks_bring_up_to_date(audit=audit, clock=timezone.now)
