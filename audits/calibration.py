"""How reviewers answer cases whose label is known: for leads alone, and in no estimate."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Q
from django.db.models.functions import TruncMonth
from django.urls import reverse

from adjudication.calibration import known_case_answers
from adjudication.models import Calibration, LabelDispute, Queue, QueuePurpose, SlotKind
from audits.stats.proportions import proportion_limits
from core.models import Project

LEVEL = 0.95
METHOD = "Wilson"
SHOWN_MONTHS = 12
SHOWN_DISPUTES = 50


@dataclass(frozen=True)
class KnownShare:
    """`right` of `n` answers were as on record, with the limits of the share; `period` is a month, or empty for all."""

    person: str
    period: str
    n: int
    right: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.right / self.n


@dataclass(frozen=True)
class KnownSet:
    name: str
    rubric: str
    cases: int
    used_by: tuple[str, ...]
    people: tuple[KnownShare, ...]


def hidden_anchor_shares(project: Project) -> list[KnownShare]:
    """Each reviewer's answers to hidden anchors: in all, then month by month (UTC), the latest first."""
    answers = known_case_answers(SlotKind.ANCHOR).filter(item__queue__project=project)
    months: dict[str, list[tuple[datetime, int, int]]] = {}
    rows = _counted(answers.annotate(month=TruncMonth("at")), "author__pseudonym", "month")
    for person, month, n, right in rows:
        months.setdefault(person, []).append((month, n, right))
    shares = []
    for person, found in months.items():
        shares.append(_share(person, "", sum(n for _, n, _ in found), sum(right for _, _, right in found)))
        shares += [
            _share(person, month.strftime("%Y-%m"), n, right) for month, n, right in found[: -SHOWN_MONTHS - 1 : -1]
        ]
    return shares


def sets_of(project: Project, purpose: QueuePurpose) -> list[KnownSet]:
    """The sets of a project, with the audits that ask for each, and for a practice set how people fared."""
    queues = Queue.objects.filter(project=project, purpose=purpose).select_related("rubric")
    return [
        KnownSet(
            name=queue.name,
            rubric=str(queue.rubric),
            cases=queue.items.count(),
            used_by=tuple(
                Calibration.objects.filter(Q(practice=queue) | Q(anchors=queue))
                .order_by("pk")
                .values_list("queue__name", flat=True)
            ),
            people=tuple(_practised(queue)) if purpose == QueuePurpose.PRACTICE else (),
        )
        for queue in queues.order_by("name")
    ]


def _practised(queue: Queue) -> Iterable[KnownShare]:
    answers = known_case_answers(SlotKind.PRACTICE).filter(item__queue=queue)
    for person, n, right in _counted(answers, "author__pseudonym"):
        yield _share(person, "", n, right)


def _counted(answers: Any, *by: str) -> Any:
    counts = answers.values_list(*by).annotate(n=Count("pk"), right=Count("pk", filter=Q(wrong=False)))
    return counts.order_by(*by)


def _share(person: str, period: str, n: int, right: int) -> KnownShare:
    return KnownShare(person, period, n, right, *proportion_limits(right, n, LEVEL))


def disputes_of(project: Project) -> list[LabelDispute]:
    disputes = LabelDispute.objects.filter(review__item__queue__project=project)
    related = ("review__author", "review__item__case", "review__item__queue")
    return list(disputes.select_related(*related).order_by("-at", "-pk")[:SHOWN_DISPUTES])


def calibration_context(project: Project) -> dict[str, Any]:
    return {
        "practice": sets_of(project, QueuePurpose.PRACTICE),
        "anchors": sets_of(project, QueuePurpose.ANCHORS),
        "shares": hidden_anchor_shares(project),
        "disputes": disputes_of(project),
        "anchor_sets_url": reverse("audits:anchor-sets", args=[project.name]),
        "level": LEVEL,
        "method": METHOD,
    }


def share_dict(share: KnownShare) -> dict[str, Any]:
    return asdict(share) | {"share": share.share, "level": LEVEL, "method": METHOD}
