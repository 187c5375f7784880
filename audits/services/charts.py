"""Drawing, outside every request, the charts that pages show."""

from dataclasses import asdict
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F

from audits.answers import answers_by_person, reasons_by_slice
from audits.exports.charts import CHART_TITLE, PLAN_TITLE, change_chart, looks_drawn, plan_curve, width_curve
from audits.exports.comparison import change_rows
from audits.models import Audit, AuditState, ChangeChart, DeskFigures, DraftSizing, LookChart, PlanChart
from audits.plans import half_width_of
from audits.selectors import last_look, reviewer_agreement
from judges.summaries import summary_of

REST = timedelta(seconds=2)


def chart_bring_up_to_date(*, audit: Audit, now: datetime) -> LookChart | None:
    """Draw the looks up to the last one, and count the answers, if that is not done; what was made before goes.

    Both cost a hundred looks: in a burst of settlements they are made every few seconds, and the sweeper makes the
    last.
    """
    look = last_look(audit)
    latest = LookChart.objects.filter(look__audit=audit).order_by("-pk").first()
    if look is None or (latest and (latest.look_id == look.pk or now - latest.made_at < REST)):
        return None
    looks, half_width = looks_drawn(audit), half_width_of(audit)
    agreement, reasons = asdict(reviewer_agreement(audit)), reasons_by_slice(audit)
    reviewers = answers_by_person(audit)
    svg = width_curve(looks, half_width=half_width, remaining=look.remaining, title=CHART_TITLE)
    with transaction.atomic():
        figures = {"agreement": agreement, "reasons": reasons, "reviewers": reviewers, "made_at": now}
        DeskFigures.objects.filter(look__audit=audit).exclude(look=look).delete()
        DeskFigures.objects.update_or_create(look=look, defaults=figures)
        LookChart.objects.filter(look__audit=audit).exclude(look=look).delete()
        return LookChart.objects.update_or_create(look=look, defaults={"svg": svg, "made_at": now})[0]


def audits_without_chart() -> list[Audit]:
    """What the sweeper asks: audits whose last look is not drawn."""
    registered = Audit.objects.filter(state=AuditState.REGISTERED)
    return [audit for audit in registered if (look := last_look(audit)) and not hasattr(look, "chart")]


def change_charts_draw(*, now: datetime) -> int:
    """Draw what the summaries of comparisons say that have no such chart yet: their counts never change."""
    lacking = list(Audit.objects.filter(change_chart=None).select_related("comparison"))
    for audit in lacking:
        summary = summary_of(audit.comparison)
        svg = change_chart(change_rows(summary.transitions, summary.stability))
        with transaction.atomic():
            ChangeChart.objects.get_or_create(audit=audit, defaults={"svg": svg, "made_at": now})
    return len(lacking)


def plan_charts_draw(*, now: datetime) -> int:
    """Draw what the sizings of plans say that have no such chart yet: a sizing never changes."""
    current = DraftSizing.objects.filter(manifest_hash=F("audit__manifest_hash"))
    lacking = list(current.filter(chart=None, outlook__isnull=False).select_related("audit"))
    for sizing in lacking:
        plan = sizing.audit.plan
        svg = plan_curve(
            sizing.outlook,
            policy=plan["policy"],
            half_width=sizing.half_width,
            budget=plan.get("budget"),
            title=PLAN_TITLE,
        )
        with transaction.atomic():
            PlanChart.objects.get_or_create(sizing=sizing, defaults={"svg": svg, "made_at": now})
    return len(lacking)
