"""Reads of audits: where each stands, what is known by now."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Count, Max, Q, QuerySet

from adjudication.models import Item, ItemState, Label, Reference, Review, Settlement, SlotKind
from audits.frames import frame_of
from audits.models import Audit, AuditState, Draw, Look
from audits.stats.agreement import Agreement, agreement
from core.errors import InputError, Problem, Refused

CELL_NAMES = ("both", "only old", "only new", "neither")


def audit_find(name: str) -> Audit:
    """An audit by `name`, or by `project/name` where two projects have one of that name."""
    # Either name may hold a slash itself, so every place to cut is tried.
    cuts = [place for place, sign in enumerate(name) if sign == "/"]
    called = Q(name=name)
    for place in cuts:
        called |= Q(project__name=name[:place], name=name[place + 1 :])
    audits = list(Audit.objects.filter(called).select_related("project", "comparison", "queue", "rubric")[:2])
    if len(audits) == 1:
        return audits[0]
    if audits:
        raise InputError(Problem("several projects have an audit of this name", value=name, allowed="project/name"))
    known = ", ".join(Audit.objects.order_by("name").values_list("name", flat=True)[:20])
    raise InputError(Problem("there is no audit of this name", value=name, allowed=known or "none is open yet"))


@dataclass(frozen=True)
class StratumProgress:
    """`counting` labels are in the settled prefix; `waiting` ones came back early, behind `gaps` open cases."""

    name: str
    kind: str
    size: int
    drawn: int
    counting: int
    waiting: int
    gaps: int

    @property
    def open(self) -> int:
        return self.drawn - self.counting - self.waiting


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

    def as_dict(self) -> dict[str, Any]:
        return {
            "drawn": self.drawn,
            "settled": self.settled,
            "strata": [asdict(stratum) | {"open": stratum.open} for stratum in self.strata],
            "items": self.items,
            "reviews": self.reviews,
            "adjudications": self.adjudications,
            "labels_outside_sample": self.outside_sample,
        }


def progress_of(audit: Audit) -> Progress:
    items = Counter(dict(audit.queue.items.values_list("state").annotate(Count("pk"))))
    reviews = Counter(
        dict(
            Review.objects.filter(item__queue=audit.queue, surplus=False, withdrawal=None)
            .values_list("kind")
            .annotate(Count("pk"))
        )
    )
    settled_outside = Item.objects.filter(queue=audit.queue, state=ItemState.SETTLED, draws__isnull=True).count()
    return Progress(
        strata=_strata(audit),
        items={state: items[state] for state in ItemState.values},
        reviews=reviews[SlotKind.REVIEW],
        adjudications=reviews[SlotKind.ADJUDICATION],
        outside_sample=settled_outside,
    )


def _strata(audit: Audit) -> list[StratumProgress]:
    settled: dict[int, list[bool]] = {}
    draws = Draw.objects.filter(audit=audit).order_by("stratum", "position")
    for stratum, state in draws.values_list("stratum", "item__state"):
        settled.setdefault(stratum, []).append(state == ItemState.SETTLED)
    return [
        _stratum_progress(stratum.name, stratum.kind, stratum.size, settled.get(stratum.pk, []))
        for stratum in audit.strata.order_by("name")
    ]


def _stratum_progress(name: str, kind: str, size: int, settled: list[bool]) -> StratumProgress:
    counting = settled.index(False) if False in settled else len(settled)
    waiting = sum(settled[counting:])
    last = max((place for place, done in enumerate(settled) if done), default=-1)
    gaps = settled[: last + 1].count(False)
    return StratumProgress(name, kind, size, len(settled), counting, waiting, gaps)


@dataclass(frozen=True)
class KnownCells:
    """Eligible cases whose label is known, in or outside the sample, in four cells.

    For a judge swap a side is right where its verdict equals the reference; for a version upgrade the
    cells are of the human labels, each at the scale's highest value or below. These are plain counts:
    they estimate nothing unless every eligible case is in them.
    """

    counts: dict[str, int]
    known: int
    eligible: int

    @property
    def census(self) -> bool:
        return self.known == self.eligible

    def as_dict(self) -> dict[str, Any]:
        return {"counts": self.counts, "known": self.known, "eligible": self.eligible, "census": self.census}


def known_cells(audit: Audit) -> KnownCells:
    references = references_by_case(audit)
    best = _best_label(audit)
    counts: Counter[str] = Counter()
    rows = frame_of(audit.frame)
    for row in rows:
        labels = references.get((row.case_id, row.case_version), {})
        if audit.comparison.is_swap:
            label = labels.get(audit.comparison.new_run.system_version_id)
            if label is not None:
                counts[_cell_name(row.old == label, row.new == label)] += 1
            continue
        old = labels.get(audit.comparison.old_run.system_version_id)
        new = labels.get(audit.comparison.new_run.system_version_id)
        if old is not None and new is not None:
            counts[_cell_name(old == best, new == best)] += 1
    return KnownCells({name: counts[name] for name in CELL_NAMES}, counts.total(), len(rows))


def _cell_name(old: bool, new: bool) -> str:
    return CELL_NAMES[0 if old and new else 1 if old else 2 if new else 3]


def _best_label(audit: Audit) -> str:
    """The label of the highest value; on a nominal scale the last one."""
    values = {label: value for label, value in audit.rubric.values.items() if value is not None}
    return max(values, key=lambda label: values[label]) if values else audit.rubric.labels[-1]


def standing_settlements(audit: Audit) -> QuerySet[Settlement]:
    """The decision in force of every settled item."""
    latest = Settlement.objects.filter(queue=audit.queue).values("item").annotate(latest=Max("pk")).values("latest")
    return Settlement.objects.filter(pk__in=latest)


def references_by_case(audit: Audit) -> dict[tuple[str, int], dict[int, str]]:
    rows = Reference.objects.filter(settlement__in=standing_settlements(audit)).values_list(
        "settlement__item__case__case_id",
        "settlement__item__case__version",
        "artifact__system_version",
        "label",
    )
    found: dict[tuple[str, int], dict[int, str]] = {}
    for case_id, version, system, label in rows.iterator():
        found.setdefault((case_id, version), {})[system] = label
    return found


def known_references(audit: Audit) -> dict[int, str]:
    """References of this audit's artifacts that other queues of the project settled under the same rubric."""
    comparison = audit.comparison
    rows = (
        Reference.objects.filter(
            artifact__system_version__in=[comparison.old_run.system_version_id, comparison.new_run.system_version_id],
            settlement__queue__rubric=audit.rubric,
        )
        .exclude(settlement__queue=audit.queue)
        .order_by("pk")
    )
    return dict(rows.values_list("artifact", "label"))


def reviewer_agreement(audit: Audit) -> Agreement:
    """Agreement of independent reviewers on the artifacts that two or more of them labelled; adjudications are
    no independent voices."""
    labels = Label.objects.filter(
        review__item__queue=audit.queue,
        review__kind=SlotKind.REVIEW,
        review__surplus=False,
        review__withdrawal=None,
        label__isnull=False,
    )
    latest: dict[int, dict[int, str]] = {}
    rows = labels.order_by("review__revision", "pk").values_list("artifact", "review__author", "label")
    for artifact, author, label in rows.iterator():
        latest.setdefault(artifact, {})[author] = str(label)
    return agreement([list(by_author.values()) for by_author in latest.values()])


def looks_of(audit: Audit) -> QuerySet[Look]:
    """The width curve, oldest first."""
    return audit.looks.select_related("registration").order_by("watermark", "registration__n")


def last_look(audit: Audit) -> Look | None:
    return looks_of(audit).last()


def is_closed(look: Look | None) -> bool:
    """Whether this look ended its audit: `monitored` is final once, and what comes later needs a new plan."""
    return look is not None and look.final and look.result["policy"] == "monitored"


def require_registered(audit: Audit) -> Audit:
    if audit.state != AuditState.REGISTERED:
        raise Refused(Problem(f"the plan of {audit} is still a draft", allowed=f"register {audit} first"))
    return audit
