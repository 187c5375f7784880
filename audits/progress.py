"""How far an audit has come, and what holds it up: counts that one query makes, however many cases were drawn."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Count

from adjudication.models import ItemState, Review, SlotKind
from audits.models import Audit

# Why a drawn case is not settled, the most telling reason first.
OPEN_REASONS = {
    "adjudicator": "with the adjudicator",
    "review": "in review now",
    "skipped": "skipped, to be served first",
    "open": "waiting for a reviewer",
}

# `reach` says, per stratum, where the first open draw and the last settled one stand.
_STANDINGS = """
WITH state AS (
    SELECT d.stratum_id, d.position, d.item_id, i.state
    FROM audits_draw d JOIN adjudication_item i ON i.id = d.item_id WHERE d.audit_id = %(audit)s
), reach AS (
    SELECT stratum_id,
           MIN(CASE WHEN state <> 'settled' THEN position END) AS first_open,
           MAX(CASE WHEN state = 'settled' THEN position END) AS last_settled
    FROM state GROUP BY stratum_id
)
SELECT state.stratum_id,
       CASE WHEN state.state = 'settled' AND (reach.first_open IS NULL OR state.position < reach.first_open)
                THEN 'counts'
            WHEN state.state = 'settled' THEN 'waits'
            WHEN state.position < reach.last_settled THEN 'gap'
            ELSE 'ahead' END AS standing,
       CASE WHEN state.state = 'settled' THEN ''
            WHEN state.state = 'conflict' THEN 'adjudicator'
            WHEN EXISTS (SELECT 1 FROM adjudication_lease l
                         WHERE l.item_id = state.item_id AND l.ended_at IS NULL AND NOT l.ahead
                           AND l.expires_at > %(now)s)
                THEN 'review'
            WHEN EXISTS (SELECT 1 FROM adjudication_skip k WHERE k.item_id = state.item_id) THEN 'skipped'
            ELSE 'open' END AS reason,
       COUNT(*)
FROM state JOIN reach ON reach.stratum_id = state.stratum_id
GROUP BY 1, 2, 3
"""


@dataclass(frozen=True)
class StratumProgress:
    """`counting` labels are in the settled prefix; `waiting` ones came back early, behind `gaps` open cases.
    `blocking` says what those gaps wait for, `open_reasons` what all open cases wait for (keys of `OPEN_REASONS`)."""

    name: str
    kind: str
    size: int
    drawn: int
    counting: int
    waiting: int
    gaps: int
    blocking: Mapping[str, int] = field(default_factory=dict)
    open_reasons: Mapping[str, int] = field(default_factory=dict)

    @property
    def open(self) -> int:
        return self.drawn - self.counting - self.waiting

    @property
    def blocking_words(self) -> list[tuple[str, int]]:
        return [(OPEN_REASONS[reason], number) for reason, number in self.blocking.items()]


@dataclass(frozen=True)
class Progress:
    strata: list[StratumProgress]
    items: dict[str, int]
    reviews: int
    adjudications: int
    outside_sample: int

    @property
    def drawn(self) -> int:
        return sum(stratum.drawn for stratum in self.strata)

    @property
    def settled(self) -> int:
        return sum(stratum.counting + stratum.waiting for stratum in self.strata)

    @property
    def open(self) -> int:
        return self.drawn - self.settled

    @property
    def open_reasons(self) -> dict[str, int]:
        """What all open cases of the sample wait for."""
        totals: Counter[str] = Counter()
        for stratum in self.strata:
            totals.update(stratum.open_reasons)
        return {reason: totals[reason] for reason in OPEN_REASONS}

    @property
    def open_words(self) -> list[tuple[str, int]]:
        return [(OPEN_REASONS[reason], number) for reason, number in self.open_reasons.items() if number]

    def as_dict(self) -> dict[str, Any]:
        return {
            "drawn": self.drawn,
            "settled": self.settled,
            "strata": [asdict(stratum) | {"open": stratum.open} for stratum in self.strata],
            "items": self.items,
            "open_reasons": self.open_reasons,
            "reviews": self.reviews,
            "adjudications": self.adjudications,
            "labels_outside_sample": self.outside_sample,
        }


def progress_of(audit: Audit, now: datetime) -> Progress:
    """Where the audit stands at this moment; a lease that has run out holds nothing up."""
    items = Counter(dict(audit.queue.items.values_list("state").annotate(Count("pk"))))
    reviews = Counter(
        dict(
            Review.objects.filter(item__queue=audit.queue, surplus=False, withdrawal=None)
            .values_list("kind")
            .annotate(Count("pk"))
        )
    )
    strata = _strata(audit, now)
    in_sample = sum(stratum.counting + stratum.waiting for stratum in strata)
    return Progress(
        strata=strata,
        items={state: items[state] for state in ItemState.values},
        reviews=reviews[SlotKind.REVIEW],
        adjudications=reviews[SlotKind.ADJUDICATION],
        outside_sample=items[ItemState.SETTLED] - in_sample,
    )


def _strata(audit: Audit, now: datetime) -> list[StratumProgress]:
    standings: dict[int, Counter[tuple[str, str]]] = {}
    with connection.cursor() as cursor:
        moment = connection.ops.adapt_datetimefield_value(now)
        cursor.execute(_STANDINGS, {"audit": audit.pk, "now": moment})
        for stratum, standing, reason, number in cursor.fetchall():
            standings.setdefault(stratum, Counter())[standing, reason] += number
    return [
        _stratum(stratum.name, stratum.kind, stratum.size, standings.get(stratum.pk, Counter()))
        for stratum in audit.strata.order_by("name")
    ]


def _stratum(name: str, kind: str, size: int, standings: Counter[tuple[str, str]]) -> StratumProgress:
    by_standing: Counter[str] = Counter()
    for (standing, _), number in standings.items():
        by_standing[standing] += number
    return StratumProgress(
        name=name,
        kind=kind,
        size=size,
        drawn=standings.total(),
        counting=by_standing["counts"],
        waiting=by_standing["waits"],
        gaps=by_standing["gap"],
        blocking={reason: number for reason in OPEN_REASONS if (number := standings["gap", reason])},
        open_reasons={
            reason: number
            for reason in OPEN_REASONS
            if (number := standings["gap", reason] + standings["ahead", reason])
        },
    )
