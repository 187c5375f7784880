"""Reads of audits: where each stands, what is known by now."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT

from adjudication.models import ItemState, Label, Queue, Reference, Review, Settlement, SlotKind
from audits.models import Audit, AuditState, Look
from audits.outcomes import Labels, best_label
from audits.stats.agreement import Agreement, agreement
from core.errors import InputError, Problem, Refused
from judges.selectors import pairs_of

CELL_NAMES = ("both", "only old", "only new", "neither")


def audit_find(name: str) -> Audit:
    """An audit by `name`, or by `project/name` where two projects have one of that name."""
    project, _, short = name.rpartition("/")
    called = Q(name=short, project__name=project) if project else Q(name=short)
    audits = list(Audit.objects.filter(called).select_related("project", "comparison", "queue", "rubric")[:2])
    if len(audits) == 1:
        return audits[0]
    if audits:
        raise InputError(Problem("several projects have an audit of this name", value=name, allowed="project/name"))
    known = ", ".join(Audit.objects.order_by("name").values_list("name", flat=True)[:20])
    raise InputError(Problem("there is no audit of this name", value=name, allowed=known or "none is open yet"))


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
    comparison = audit.comparison
    old_system, new_system = comparison.old_run.system_version_id, comparison.new_run.system_version_id
    verdicts = verdicts_by_case(audit)
    known = (
        (verdicts[case], (labels[old_system], labels[new_system]))
        for case, labels in _labels_by_case(audit).items()
        if case in verdicts and old_system in labels and new_system in labels
    )
    eligible = sum(audit.strata.values_list("size", flat=True))
    return cells_of(known, is_swap=comparison.is_swap, scale=audit.rubric.values, eligible=eligible)


def cells_of(
    known: Iterable[tuple[tuple[str, str], Labels]], *, is_swap: bool, scale: Mapping[str, float | None], eligible: int
) -> KnownCells:
    """From the verdicts and the labels of both sides of each case."""
    best = best_label(scale)
    counts: Counter[str] = Counter()
    for (verdicts, labels), number in Counter(known).items():
        correct = verdicts if is_swap else (best, best)
        old, new = (label == right for label, right in zip(labels, correct, strict=True))
        counts[_cell_name(old, new)] += number
    return KnownCells({name: counts[name] for name in CELL_NAMES}, counts.total(), eligible)


def verdicts_by_case(audit: Audit) -> dict[int, tuple[str, str]]:
    """The verdicts of every eligible case that may have a label: those drawn, and those settled outside the sample."""
    drawn = {case: (old, new) for case, old, new in audit.draws.values_list("case", "old", "new")}
    outside = audit.queue.items.filter(state=ItemState.SETTLED).exclude(draws__audit=audit)
    if not outside.exists():
        return drawn
    pairs = pairs_of(audit.comparison, cases=outside.values("case"))
    return drawn | {pair.case_pk: pair.verdicts for pair in pairs if pair.eligible}


def _cell_name(old: bool, new: bool) -> str:
    return CELL_NAMES[0 if old and new else 1 if old else 2 if new else 3]


def standing_settlements(audit: Audit) -> QuerySet[Settlement]:
    """The decision in force of every settled item."""
    # Said by what is not there: a list of the latest would be searched once for each item.
    newer = Settlement.objects.filter(item=OuterRef("item"), pk__gt=OuterRef("pk"))
    return Settlement.objects.filter(~Exists(newer), queue=audit.queue)


def references_by_case(audit: Audit) -> dict[tuple[str, int], dict[int, str]]:
    """(case id, version) -> system version -> the reference in force."""
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


def _labels_by_case(audit: Audit) -> dict[int, dict[int, str]]:
    """Case -> system version -> the reference in force."""
    rows = Reference.objects.filter(settlement__in=standing_settlements(audit)).values_list(
        "settlement__item__case", "artifact__system_version", "label"
    )
    found: dict[int, dict[int, str]] = {}
    for case, system, label in rows.iterator():
        found.setdefault(case, {})[system] = label
    return found


def known_references(audit: Audit) -> dict[int, int]:
    """Artifact -> the key of a reference in force that another queue of the project settled under the same rubric, the
    latest of several."""
    comparison = audit.comparison
    newer = Settlement.objects.filter(item=OuterRef("settlement__item"), pk__gt=OuterRef("settlement"))
    rows = (
        Reference.objects.filter(
            ~Exists(newer),
            artifact__system_version__in=[comparison.old_run.system_version_id, comparison.new_run.system_version_id],
            settlement__queue__rubric=audit.rubric,
        )
        .exclude(settlement__queue=audit.queue)
        .order_by("pk")
    )
    return dict(rows.values_list("artifact", "pk"))


def reviewer_agreement(audit: Audit) -> Agreement:
    """Agreement of independent reviewers on the artifacts that two or more of them labelled; adjudications are
    no independent voices."""
    answers = Review.objects.filter(item__queue=audit.queue, kind=SlotKind.REVIEW)
    twice = answers.values("item").annotate(people=Count("author", distinct=True)).filter(people__gte=2)
    labels = Label.objects.filter(
        review__item__in=twice.values("item"),
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


def looks_listed(audit: Audit) -> QuerySet[Look]:
    """Newest first, for lists and curves: with its `state`, without the whole result."""
    columns = ("audit", "watermark", "labels", "point", "low", "high", "final", "at")
    return audit.looks.only(*columns).annotate(state=KT("result__state")).order_by("-pk")


def last_look(audit: Audit) -> Look | None:
    # Sorted by keys alone: a sort of whole looks would read every result there is.
    last = looks_of(audit).values_list("pk", flat=True).last()
    return None if last is None else Look.objects.select_related("registration").get(pk=last)


def is_closed(look: Look | None) -> bool:
    """Whether this look ended its audit: `monitored` is final once, and what comes later needs a new plan."""
    return look is not None and look.final and look.result["policy"] == "monitored"


def look_is_due(audit: Audit) -> bool:
    """Whether something was settled, or drawn, since the last look. A final look closes a monitored audit."""
    last = last_look(audit)
    if is_closed(last):
        return False
    registered = audit.registrations.aggregate(last=Max("n"))["last"]
    settled = settled_number(audit)
    if not registered or not settled:
        return False
    return last is None or settled > last.watermark or registered > last.registration.n


def settled_number(audit: Audit) -> int:
    """The number of the last settlement, as committed now."""
    return Queue.objects.values_list("settled", flat=True).get(pk=audit.queue_id)


def audits_with_due_looks() -> list[Audit]:
    """What the sweeper asks: audits whose message was lost."""
    return [audit for audit in Audit.objects.filter(state=AuditState.REGISTERED) if look_is_due(audit)]


def column_warnings_of(audit: Audit) -> list[str]:
    """Columns of the label files that looked wrong when this manifest was opened."""
    checks = audit.column_checks.filter(manifest_hash=audit.manifest_hash)
    return [warning for warnings in checks.values_list("warnings", flat=True) for warning in warnings]


def require_registered(audit: Audit) -> Audit:
    if audit.state != AuditState.REGISTERED:
        raise Refused(Problem(f"the plan of {audit} is still a draft", allowed=f"register {audit} first"))
    return audit
