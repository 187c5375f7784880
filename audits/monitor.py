"""What the monitor shows, and by what it knows that nothing has changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Max
from django.db.models.query import QuerySet

from adjudication.models import Item, ItemState, Lease, Skip
from audits.answers import pace_of
from audits.exports.wording import (
    ESTIMANDS,
    POLICIES,
    agreement_words,
    conclusion,
    finish_words,
    gain_words,
    pace_words,
    policy_now,
    remaining_words,
)
from audits.models import Audit, AuditState, DeskFigures, Look, LookChart
from audits.overview import PAGE, address, standing_of
from audits.plans import half_width_of
from audits.progress import progress_of
from audits.selectors import looks_listed
from core.identity import text_hash
from core.models import Event
from judges.holdouts import is_sealed

SHOWN = 20
MARK = 12
SLICES = 8  # values of slices shown beside a reason code


def watch_mark(audit: Audit, now: datetime) -> str:
    """A short text that changes whenever the monitor has something new to show.

    Whatever is answered, skipped, settled or registered leaves an event; leases leave none, and end by the clock.
    """
    looks = Look.objects.filter(audit=audit).aggregate(last=Max("pk"))["last"]
    charts = LookChart.objects.filter(look__audit=audit).aggregate(last=Max("pk"))["last"]  # made with the figures
    event = Event.objects.filter(project=audit.project_id).order_by("-pk").values_list("pk", flat=True).first()
    leases = Lease.objects.filter(item__queue=audit.queue_id, ended_at__isnull=True, expires_at__gt=now).count()
    return text_hash(f"{audit.state} {looks} {charts} {event} {leases}")[:MARK]


def monitor_context(audit: Audit, mark: str, now: datetime) -> dict[str, Any]:
    """All that is shown. The mark was read before: what changes while this is read brings the next fragment."""
    standing, half_width = standing_of(audit), half_width_of(audit)
    look, chart, progress = standing.look, chart_of(audit), progress_of(audit, now)
    figures = DeskFigures.objects.filter(look__audit=audit).order_by("-pk").first()
    worked = pace_of(audit)
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
        "estimand_words": ESTIMANDS[audit.plan["estimand"]],
        "policy_words": POLICIES[audit.plan["policy"]],
        "in_force": f"{policy_now(look.result)}: in force" if look else "",
        "conclusion": conclusion(look.result, half_width=half_width) if look else "",
        "gain_words": gain_words(look.result) if look else "",
        "remaining_words": remaining_words(look.remaining, half_width=half_width) if look else "",
        "chart": chart,
        "chart_url": address("chart", audit, chart.look_id) if chart else "",
        "progress": progress,
        "pace_words": pace_words(worked),
        "finish_words": finish_words(worked, look.remaining if look else None, open_cases=progress.open),
        "figures": figures,
        "agreement_words": agreement_words(figures.agreement) if figures else "",
        "reasons": reason_rows(figures.reasons) if figures else [],
        "conflicts": _conflicts(audit),
        "skips": _skips(audit),
        "looks": looks[:SHOWN],
        "more_looks": len(looks) > SHOWN,
        "shown": SHOWN,
    }


def chart_of(audit: Audit) -> LookChart | None:
    """The last chart, if there is anything on it, without the image itself."""
    charts = LookChart.objects.filter(look__audit=audit).exclude(svg="").select_related("look")
    return charts.defer("svg", "look__result").order_by("-pk").first()


@dataclass(frozen=True)
class ReasonRow:
    """How often a code was given, in all and in the values of the slices, the commonest first."""

    code: str
    owner: str
    given: int
    slices: list[tuple[str, int]]
    more: int


def reason_rows(reasons: Sequence[Mapping[str, Any]]) -> list[ReasonRow]:
    rows = []
    for one in reasons:
        counts = [
            (f"{name}={value or '(none)'}", number)
            for name, values in one["slices"].items()
            for value, number in values.items()
        ]
        counts.sort(key=lambda count: (-count[1], count[0]))
        shown, more = counts[:SLICES], len(counts) - SLICES
        rows.append(ReasonRow(one["code"], one["owner"], one["given"], shown, max(more, 0)))
    return rows


def _conflicts(audit: Audit) -> list[str]:
    """The first cases on which reviewers differ, by the order in which they hold things up."""
    if is_sealed(audit.comparison):
        return []
    conflicts = Item.objects.filter(queue=audit.queue_id, state=ItemState.CONFLICT).order_by("rank")
    return list(conflicts.values_list("case__case_id", flat=True)[:SHOWN])


def _skips(audit: Audit) -> list[Skip]:
    """Who passed on a case that is still open, and why: for leads alone."""
    if is_sealed(audit.comparison):
        return []
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
