"""What the worker does. Each task calls one service and may run twice."""

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from celery import shared_task
from django.utils import timezone

from audits.models import Audit

log = logging.getLogger(__name__)

Thing = TypeVar("Thing")


def _each(work: Callable[[Thing], object], things: Iterable[Thing]) -> None:
    """Do the work for every one. Where one fails, the others are not held up, and the task has failed."""
    failed: Exception | None = None
    for thing in things:
        try:
            work(thing)
        except Exception as error:
            log.exception("a sweep failed at %s", thing)
            failed = failed or error
    if failed:
        raise failed


@shared_task
def look_due(*, queue: int, number: int) -> None:
    """Something was settled in this queue."""
    from audits.services.charts import chart_bring_up_to_date
    from audits.services.looks import looks_bring_up_to_date
    from audits.services.telling import settled_tell

    audit = Audit.objects.filter(queue=queue).first()
    if audit is not None:
        # The interval first: whoever watches sees it while the chart is still being drawn.
        looks_bring_up_to_date(audit=audit, clock=timezone.now)
        settled_tell(audit=audit, now=timezone.now())
        chart_bring_up_to_date(audit=audit, now=timezone.now())


@shared_task
def job_due(*, job: int) -> None:
    """Somebody asked for work on a page."""
    from audits.services.anchorchecks import anchor_checks_make
    from audits.services.charts import change_charts_draw, plan_charts_draw
    from audits.services.working import job_run

    job_run(job=job, clock=timezone.now)
    change_charts_draw(now=timezone.now())
    anchor_checks_make(now=timezone.now())
    plan_charts_draw(now=timezone.now())


@shared_task
def jobs_sweep() -> None:
    """Find jobs whose message was lost, and what killed loads left and nobody keeps any longer."""
    from audits.services.jobs import jobs_unattended
    from audits.services.uploads import kept_files_sweep
    from audits.services.working import job_run
    from judges.services.loads import loads_abandoned_remove

    _each(lambda job: job_run(job=job, clock=timezone.now), jobs_unattended(now=timezone.now()))
    loads_abandoned_remove(now=timezone.now())
    kept_files_sweep(now=timezone.now())


@shared_task
def looks_sweep() -> None:
    """Find what a lost message would have started."""
    from audits.selectors import audits_with_due_looks
    from audits.services.anchorchecks import anchor_checks_make
    from audits.services.charts import (
        audits_without_chart,
        change_charts_draw,
        chart_bring_up_to_date,
        plan_charts_draw,
    )
    from audits.services.looks import looks_bring_up_to_date
    from audits.services.telling import audits_that_settle_unseen, settled_tell

    _each(lambda audit: looks_bring_up_to_date(audit=audit, clock=timezone.now), audits_with_due_looks())
    _each(lambda audit: settled_tell(audit=audit, now=timezone.now()), audits_that_settle_unseen())
    _each(lambda audit: chart_bring_up_to_date(audit=audit, now=timezone.now()), audits_without_chart())
    change_charts_draw(now=timezone.now())
    anchor_checks_make(now=timezone.now())
    plan_charts_draw(now=timezone.now())
