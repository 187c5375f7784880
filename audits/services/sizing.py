"""Preparing, outside every request, the numbers that the plan and monitor pages show."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from audits.allocation import first_sizing
from audits.exports.charts import CHART_TITLE, width_curve
from audits.frames import frame_rows, pool_of
from audits.models import Audit, AuditState, DraftSizing, Look, Outlook
from audits.plans import estimate_arguments, strata_plan, target_half_width
from audits.selectors import last_look, looks_of
from audits.stats.remaining import Sizing, remaining_audit
from core.errors import InputError
from core.version import VERSION
from judges.selectors import pairs_of

REST = timedelta(seconds=2)


def draft_size(*, audit: Audit) -> DraftSizing:
    """What the plan asks for, computed once. A plan that cannot be drawn is stored with its problems."""
    existing = DraftSizing.objects.filter(audit=audit).first()
    if existing is not None:
        return existing
    rows = frame_rows(audit.comparison, pairs_of(audit.comparison), strata_plan(audit))
    sizes = Counter(row.stratum for row in rows)
    half_width = target_half_width(audit.plan)
    content: dict[str, Any] = {"half_width": half_width}
    try:
        sizing = first_sizing(audit, rows)
    except InputError as error:
        content["problems"] = [problem.as_dict() for problem in error.problems]
    else:
        content["strata"] = [{"name": name, "size": sizes[name], "labels": sizing.n[name]} for name in sorted(sizes)]
        content |= _widths(sizing) if half_width is not None else {}
    defaults = {"strata": [], "code_version": VERSION} | content
    with transaction.atomic():
        return DraftSizing.objects.get_or_create(audit=audit, defaults=defaults)[0]


def _widths(sizing: Sizing) -> dict[str, Any]:
    return {"projected": sizing.half_width, "without_judge": sizing.without_judge, "saving": sizing.saving}


def outlook_bring_up_to_date(*, audit: Audit, now: datetime) -> Outlook | None:
    """Prepare what stands beside the last look, if that is not done; earlier looks give theirs up.

    A chart costs a hundred looks: in a burst of settlements one is drawn every few seconds, and the sweeper
    draws the last.
    """
    look = last_look(audit)
    latest = Outlook.objects.filter(look__audit=audit).order_by("-pk").first()
    if look is None or (latest and (latest.look_id == look.pk or now - latest.made_at < REST)):
        return None
    content = _still_needed(audit, look) | {
        "chart": width_curve(list(looks_of(audit)), half_width=target_half_width(audit.plan), title=CHART_TITLE),
        "made_at": now,
    }
    with transaction.atomic():
        Outlook.objects.filter(look__audit=audit).exclude(look=look).delete()
        return Outlook.objects.update_or_create(look=look, defaults=content)[0]


def _still_needed(audit: Audit, look: Look) -> dict[str, Any]:
    half_width = target_half_width(audit.plan)
    if half_width is None:
        return {"state": "no target"}
    pool = pool_of(audit, watermark=look.watermark, registration=look.registration.n)
    sizing = remaining_audit(pool, **estimate_arguments(audit.plan), half_width=half_width)
    return _widths(sizing) | {
        "state": sizing.state,
        "reason": sizing.reason,
        "strata": [{"name": name, "labels": sizing.n[name], "more": sizing.more[name]} for name in sorted(sizing.n)],
        "more": sizing.total_more,
        "least": sizing.least,
        "most": sizing.most,
    }


def audits_without_outlook() -> list[Audit]:
    """What the sweeper asks: audits whose last look has nothing prepared beside it."""
    registered = Audit.objects.filter(state=AuditState.REGISTERED)
    return [audit for audit in registered if (look := last_look(audit)) and not hasattr(look, "outlook")]
