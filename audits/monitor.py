"""What the monitor shows, and by what it knows that nothing has changed."""

from datetime import datetime
from typing import Any

from django.db.models import Max
from django.db.models.functions import Length
from django.db.models.query import QuerySet

from adjudication.models import Item, ItemState, Lease, Skip
from audits.exports.wording import POLICIES, conclusion, gain_words, needed_words, policy_now
from audits.models import Audit, AuditState, Look, Outlook
from audits.overview import PAGE, address, standing_of
from audits.plans import half_width_of
from audits.progress import progress_of
from audits.selectors import looks_listed
from core.identity import text_hash
from core.models import Event

SHOWN = 20
MARK = 12


def watch_mark(audit: Audit, now: datetime) -> str:
    """A short text that changes whenever the monitor has something new to show.

    Whatever is answered, skipped, settled or registered leaves an event; leases leave none, and end by the clock.
    """
    looks = Look.objects.filter(audit=audit).aggregate(last=Max("pk"))["last"]
    outlooks = Outlook.objects.filter(look__audit=audit).aggregate(last=Max("pk"))["last"]
    event = Event.objects.filter(project=audit.project_id).order_by("-pk").values_list("pk", flat=True).first()
    leases = Lease.objects.filter(item__queue=audit.queue_id, ended_at__isnull=True, expires_at__gt=now).count()
    return text_hash(f"{audit.state} {looks} {outlooks} {event} {leases}")[:MARK]


def monitor_context(audit: Audit, now: datetime) -> dict[str, Any]:
    # The mark is read first: what changes while the rest is read brings the next fragment.
    mark = watch_mark(audit, now)
    standing, half_width = standing_of(audit), half_width_of(audit)
    look, outlook = standing.look, outlook_of(audit)
    looks = list(looks_listed(audit)[: SHOWN + 1])
    return {
        "audit": audit,
        "mark": mark,
        "live_url": address("monitor-live", audit),
        "monitor_url": address("monitor", audit),
        "looks_url": address("looks", audit),
        "registered": audit.state == AuditState.REGISTERED,
        "standing": standing,
        "look": look,
        "half_width": half_width,
        "policy_words": POLICIES[audit.plan["policy"]],
        "in_force": f"{policy_now(look.result)}: in force" if look else "",
        "conclusion": conclusion(look.result, half_width=half_width) if look else "",
        "gain_words": gain_words(look.result) if look else "",
        "outlook": outlook,
        "needed_words": needed_words(outlook, half_width),
        "chart_url": address("chart", audit, outlook.look_id) if outlook and outlook.has_chart else "",
        "progress": progress_of(audit, now),
        "conflicts": _conflicts(audit),
        "skips": _skips(audit),
        "looks": looks[:SHOWN],
        "more_looks": len(looks) > SHOWN,
        "shown": SHOWN,
    }


def outlook_of(audit: Audit) -> Any:
    """The last one, without the chart itself: `has_chart` says whether there is one."""
    outlooks = Outlook.objects.filter(look__audit=audit).select_related("look").defer("chart", "look__result")
    return outlooks.annotate(has_chart=Length("chart")).order_by("-pk").first()


def _conflicts(audit: Audit) -> list[str]:
    """The first cases on which reviewers differ, by the order in which they hold things up."""
    conflicts = Item.objects.filter(queue=audit.queue_id, state=ItemState.CONFLICT).order_by("rank")
    return list(conflicts.values_list("case__case_id", flat=True)[:SHOWN])


def _skips(audit: Audit) -> list[Skip]:
    """Who passed on a case that is still open, and why: for leads alone."""
    skips: QuerySet[Skip] = Skip.objects.filter(item__queue=audit.queue_id).exclude(item__state=ItemState.SETTLED)
    return list(skips.select_related("author", "item__case").order_by("-at")[:SHOWN])


def looks_page(audit: Audit, before: int | None) -> dict[str, Any]:
    """One page of the looks, newest first, and where the next one begins."""
    looks = looks_listed(audit)
    if before is not None:
        looks = looks.filter(pk__lt=before)
    page = list(looks[: PAGE + 1])
    return {
        "looks": page[:PAGE],
        "more": page[PAGE - 1].pk if len(page) > PAGE else None,
        "first": before is None,
        "policy_words": POLICIES[audit.plan["policy"]],
        "monitor_url": address("monitor", audit),
    }
