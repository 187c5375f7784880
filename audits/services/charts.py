"""Drawing, outside every request, the chart that the monitor shows."""

from datetime import datetime, timedelta

from django.db import transaction

from audits.exports.charts import CHART_TITLE, width_curve
from audits.models import Audit, AuditState, LookChart
from audits.plans import half_width_of
from audits.selectors import last_look, looks_listed

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
