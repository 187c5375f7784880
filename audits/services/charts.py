"""Drawing, outside every request, the charts that pages show."""

from datetime import datetime, timedelta

from django.db import transaction

from audits.exports.charts import CHART_TITLE, change_chart, width_curve
from audits.exports.comparison import change_rows
from audits.models import Audit, AuditState, ChangeChart, LookChart
from audits.plans import half_width_of
from audits.selectors import last_look, looks_listed
from judges.summaries import summary_of

REST = timedelta(seconds=2)


def chart_bring_up_to_date(*, audit: Audit, now: datetime) -> LookChart | None:
    """Draw the looks up to the last one, if that is not done; the chart before it goes.

    A chart costs a hundred looks: in a burst of settlements one is drawn every few seconds, and the sweeper
    draws the last.
    """
    look = last_look(audit)
    latest = LookChart.objects.filter(look__audit=audit).order_by("-pk").first()
    if look is None or (latest and (latest.look_id == look.pk or now - latest.made_at < REST)):
        return None
    looks = list(looks_listed(audit).reverse())
    svg = width_curve(looks, half_width=half_width_of(audit), title=CHART_TITLE)
    with transaction.atomic():
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
