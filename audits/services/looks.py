"""Computing looks: one taker per audit, until nothing new has been settled."""

import logging
import uuid
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q

from audits.frames import pool_of, run_tables_of, slice_pools_of
from audits.models import Audit, Look
from audits.plans import estimate_arguments, has_stopped, target_half_width
from audits.reruns import rerun_findings
from audits.secondary import secondary_findings, slice_findings
from audits.selectors import look_is_due, settled_number
from audits.services.telling import look_tell
from audits.stats.estimate import estimate
from audits.stats.remaining import remaining_audit
from core.pulse import DEAD_AFTER, pulse
from core.version import VERSION

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]


def looks_bring_up_to_date(*, audit: Audit, clock: Clock) -> int:
    """Compute a look if one is due, and again if settlements came meanwhile; how many were computed.

    A burst of settlements, or of calls, costs one computation: whoever finds the audit taken leaves,
    and the taker looks once more after letting go.
    """
    made = 0
    while look_is_due(audit):
        token = uuid.uuid4().hex
        if not _take(audit, token, clock()):
            break
        taken = Audit.objects.filter(pk=audit.pk, look_taker=token)
        try:
            with pulse(lambda: taken.update(look_taken_at=clock())):  # noqa: B023 -- ends with this round
                while look_is_due(audit):
                    made += _look_make(audit, clock()) is not None
        finally:
            taken.update(look_taker="", look_taken_at=None)
    return made


def _take(audit: Audit, token: str, now: datetime) -> bool:
    free = Q(look_taker="") | Q(look_taken_at__lt=now - DEAD_AFTER)
    return Audit.objects.filter(free, pk=audit.pk).update(look_taker=token, look_taken_at=now) == 1


def _look_make(audit: Audit, now: datetime) -> Look | None:
    # The watermark is read before the labels: whatever it counts has been committed.
    watermark, registration = settled_number(audit), audit.registrations.latest("n")
    pool = pool_of(audit, watermark=watermark, registration=registration.n)
    half_width = target_half_width(audit.plan)
    estimated = estimate(pool, **estimate_arguments(audit.plan), half_width=half_width)
    result = estimated.as_dict()
    stopped = has_stopped(audit.plan, result, drawn=sum(registration.labels.values()))
    remaining = remaining_audit(pool, **estimate_arguments(audit.plan), half_width=half_width) if half_width else None
    try:
        with transaction.atomic():
            look = Look.objects.create(
                audit=audit,
                registration=registration,
                watermark=watermark,
                at=now,
                code_version=VERSION,
                labels=estimated.n,
                point=estimated.point,
                low=estimated.interval.low if estimated.interval else None,
                high=estimated.interval.high if estimated.interval else None,
                final=estimated.final,
                result=result,
                secondary=secondary_findings(pool, level=audit.plan["level"], by=audit.plan["strata_by"])
                if stopped
                else None,
                reruns=rerun_findings(
                    run_tables_of(audit, watermark=watermark, registration=registration.n),
                    pool,
                    level=audit.plan["level"],
                )
                if stopped
                else None,
                slices=_by_slice(audit, watermark, registration.n) if stopped else None,
                remaining=asdict(remaining) if remaining else None,
            )
            look_tell(look=look, now=now)
            return look
    except IntegrityError:  # one_look_per_watermark: a taker thought dead has finished after all
        log.info("look %s of audit %s is there already", watermark, audit.pk)
        return None


def _by_slice(audit: Audit, watermark: int, registration: int) -> list[dict[str, Any]]:
    if not audit.comparison.slices:
        return []
    pools = slice_pools_of(audit, watermark=watermark, registration=registration)
    arguments = {name: estimate_arguments(audit.plan)[name] for name in ("estimand", "side", "level")}
    return slice_findings(pools, **arguments)
