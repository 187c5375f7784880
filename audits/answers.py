"""What the desk's answers come to: agreement, reasons by slice and owner, each person's answers, counted by the
worker; and the pace of the last of them, read at each request."""

from collections import Counter, defaultdict
from typing import Any

from django.db.models import Avg, Count

from adjudication.models import Item, Review, ReviewReason, Settlement
from adjudication.selectors import reasons_of
from audits.models import Audit
from audits.stats.pace import Pace, pace

RECENT = 101  # settlements: a hundred intervals between them


def reasons_by_slice(audit: Audit) -> list[dict[str, Any]]:
    """Each reason code given at the desk, the commonest first: whose it is now, how often, and how often in each value
    of each slice of the manifest."""
    given: Counter[str] = Counter()
    slices: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    rows = ReviewReason.objects.filter(
        review__item__queue=audit.queue_id, review__surplus=False, review__withdrawal__isnull=True
    )
    for code, found in rows.values_list("code", "review__item__case__slices").iterator():
        given[code] += 1
        for name in audit.comparison.slices:
            slices[code][name][found.get(name, "")] += 1
    owners = {one.code: one.owner for one in reasons_of(audit.project)}
    return [
        {
            "code": code,
            "owner": owners.get(code, ""),
            "given": number,
            "slices": {name: dict(sorted(counts.items())) for name, counts in slices[code].items()},
        }
        for code, number in sorted(given.items(), key=lambda one: (-one[1], one[0]))
    ]


def answers_by_person(audit: Audit) -> list[dict[str, Any]]:
    """Who answered how many cases at the desk, and the active seconds of an answer, on average."""
    answers = Review.objects.filter(
        item__queue=audit.queue_id, surplus=False, withdrawal__isnull=True, presentation__isnull=False
    )
    rows = answers.values_list("author__pseudonym").annotate(number=Count("pk"), seconds=Avg("seconds"))
    return [
        {"person": person, "answers": number, "seconds": seconds}
        for person, number, seconds in rows.order_by("-number", "author__pseudonym")
    ]


def pace_of(audit: Audit) -> Pace:
    """The pace of the last labels that were settled at the desk: what was imported or reused came all at once."""
    last = list(Settlement.objects.filter(queue=audit.queue_id).order_by("-number")[:RECENT])
    at_desk = set(
        Item.objects.filter(pk__in=[one.item_id for one in last], reviews__presentation__isnull=False).values_list(
            "pk", flat=True
        )
    )
    return pace([one.at.timestamp() for one in last if one.item_id in at_desk])
