"""Where audits stand, many at a time, and what somebody has to do next with each."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.urls import reverse

from adjudication.models import Item, ItemState
from adjudication.selectors import skips_open
from audits.exports.comparison import INTEGRITY_FACTS, integrity_words
from audits.exports.wording import KINDS, interval_words, official_words, remaining_words, width_words
from audits.models import Audit, AuditState, DraftSizing, Job, JobKind, Look, Registration, SignOff, SignOffKind
from audits.plans import has_stopped
from audits.selectors import is_closed
from audits.services.jobs import OPEN
from audits.templatetags.figures import labels_used
from core.models import Project
from judges.models import ComparisonSummary

PAGE = 50
JOB_WORDS = {
    JobKind.REGISTER: "is being registered",
    JobKind.EXTEND: "is being extended",
    JobKind.MAKE_ANCHORS: "has its anchors made into a set",
    JobKind.PACKET: "is being packed",
}


@dataclass(frozen=True)
class Step:
    """What to do next, and where."""

    words: str
    label: str
    url: str
    yours: bool = False  # nobody but a lead can do it


@dataclass(frozen=True)
class Standing:
    """Where one audit stands. `drawn` and `settled` are of the sample; `half_width` is the target, `planned` the labels
    that the plan asked for before any was known."""

    audit: Audit
    drawn: int
    settled: int
    integrity: dict[str, Any]
    look: Look | None = None
    drawable: bool = True
    job: Job | None = None
    change: SignOff | None = None
    half_width: float | None = None
    planned: int | None = None

    @property
    def kind_words(self) -> str:
        return KINDS[self.audit.comparison.kind]

    @property
    def state_words(self) -> str:
        return "final" if is_closed(self.look) else str(self.audit.state)

    @property
    def integrity_words(self) -> str:
        return f"{integrity_words(self.integrity)}."

    @property
    def interval_words(self) -> str:
        return interval_words(self.look.result) if self.look else "no look yet"

    @property
    def width_words(self) -> str:
        return width_words(self.look.result if self.look else None, half_width=self.half_width)

    @property
    def labels_words(self) -> str:
        if self.look is None:
            needed = self.drawn or self.planned
            return f"0 labels done, {needed:,} planned." if needed else ""
        done = labels_used(self.look.result)
        needed = remaining_words(self.look.remaining, half_width=self.half_width)
        return f"{done:,} label{'' if done == 1 else 's'} done. {needed}"

    @property
    def official_words(self) -> str:
        return official_words(self.change)

    @property
    def url(self) -> str:
        return address("integrity", self.audit)

    @property
    def next(self) -> Step:
        return next_step(self)


def address(name: str, audit: Audit, *more: Any) -> str:
    return reverse(f"audits:{name}", args=[audit.project.name, audit.name, *more])


def next_step(standing: Standing) -> Step:
    """The one thing that brings this audit on."""
    audit, look = standing.audit, standing.look
    if standing.job is not None:
        words = f"It {JOB_WORDS[JobKind(standing.job.kind)]} now."
        return Step(words, "See how far it is", reverse("audits:job", args=[audit.project.name, standing.job.pk]))
    if audit.state == AuditState.DRAFT:
        return _draft_step(standing)
    if look is None:
        words = f"{standing.drawn:,} cases wait for the reviewers. The first settled one brings the first look."
        return Step(words, "Watch it", address("monitor", audit))
    if is_closed(look):
        words = "The final look is made. Take the report and the anchors; more labels need a new plan."
        return Step(words, "Read the report", address("results", audit))
    if has_stopped(audit.plan, look.result, standing.drawn):
        words = "This is a stop that the plan named. Take the report and the anchors."
        return Step(words, "Read the report", address("results", audit))
    if standing.settled < standing.drawn:
        words = f"{standing.drawn - standing.settled:,} of {standing.drawn:,} drawn cases are still to be settled."
        return Step(words, "Watch it", address("monitor", audit))
    words = "All drawn cases are settled, and the target is not reached. Draw more cases."
    return Step(words, "Extend the sample", address("extend", audit), yours=True)


def _draft_step(standing: Standing) -> Step:
    audit = standing.audit
    if not standing.integrity["passed"]:
        words = "A rule of the manifest does not hold. Mend the input, and open it under another migration_id."
        return Step(words, "See which", address("integrity", audit), yours=True)
    if not standing.drawable:
        words = "The plan cannot be drawn as it is. Mend the manifest, and open it under another migration_id."
        return Step(words, "See why", address("plan", audit), yours=True)
    words = "Read the integrity report. Then register the plan: only then is a sample drawn."
    return Step(words, "Go to the plan", address("plan", audit), yours=True)


def audits_of(project: Project) -> QuerySet[Audit]:
    """Newest first, without the manifests' texts."""
    related = ("project", "comparison", "queue", "rubric")
    return Audit.objects.filter(project=project).select_related(*related).defer("manifest").order_by("-pk")


def audit_named(project: Project, name: str) -> Audit | None:
    """An audit of this project, with what is named of its comparison."""
    sides = [f"comparison__{side}_{one}" for side in ("old", "new") for one in _OF_A_SIDE]
    return audits_of(project).select_related("comparison__case_set", *sides).filter(name=name).first()


_OF_A_SIDE = ("run__generator", "run__system_version", "reader")


def standings_page(project: Project, before: int | None) -> tuple[list[Standing], int | None]:
    """One page of a project's audits, and where the next one begins."""
    audits = audits_of(project)
    if before is not None:
        audits = audits.filter(pk__lt=before)
    page = list(audits[: PAGE + 1])
    return standings_of(page[:PAGE]), page[PAGE - 1].pk if len(page) > PAGE else None


def standing_of(audit: Audit) -> Standing:
    return standings_of([audit])[0]


def standings_of(audits: Sequence[Audit]) -> list[Standing]:
    """Where each stands, in as many queries for fifty as for one."""
    drawn = _drawn(audits)
    looks = _last_looks(audits)
    jobs = {job.audit_id: job for job in Job.objects.filter(audit__in=audits, state__in=OPEN)}
    integrity, sizings = _integrity(audits), _sizings(audits)
    changed = SignOff.objects.filter(audit__in=audits, kind__in=[SignOffKind.CUTOVER, SignOffKind.ROLLBACK])
    changes = {one.audit_id: one for one in changed.select_related("actor").order_by("n")}
    settled = dict(
        Item.objects.filter(queue__audit__in=audits, state=ItemState.SETTLED, rank__isnull=False)
        .values_list("queue__audit")
        .annotate(Count("pk"))
    )
    return [
        Standing(
            audit=audit,
            drawn=drawn[audit.pk],
            settled=settled.get(audit.pk, 0),
            look=looks.get(audit.pk),
            integrity=integrity[audit.pk],
            drawable=not (audit.pk in sizings and sizings[audit.pk].problems),
            job=jobs.get(audit.pk),
            change=changes.get(audit.pk),
            half_width=sizings[audit.pk].half_width if audit.pk in sizings else audit.plan["half_width"],
            planned=sum(row["labels"] for row in sizings[audit.pk].strata) if audit.pk in sizings else None,
        )
        for audit in audits
    ]


def _drawn(audits: Sequence[Audit]) -> dict[int, int]:
    totals: dict[int, int] = defaultdict(int)
    for audit, labels in Registration.objects.filter(audit__in=audits).order_by("n").values_list("audit", "labels"):
        totals[audit] = sum(labels.values())
    return totals


def _last_looks(audits: Sequence[Audit]) -> dict[int, Look]:
    latest = Look.objects.filter(audit=OuterRef("pk")).order_by("-watermark", "-registration__n").values("pk")[:1]
    ids = Audit.objects.filter(pk__in=[audit.pk for audit in audits]).values_list(Subquery(latest), flat=True)
    return {look.audit_id: look for look in Look.objects.filter(pk__in=[pk for pk in ids if pk is not None])}


def _integrity(audits: Sequence[Audit]) -> dict[int, dict[str, Any]]:
    """What stands before every rate of an audit."""
    summaries = ComparisonSummary.objects.filter(comparison__audit__in=audits).select_related("comparison__audit")
    read = summaries.only("integrity_text", "comparison__audit__id")
    reports = ((one.comparison.audit.pk, one.integrity) for one in read)
    return {audit: {name: report[name] for name in INTEGRITY_FACTS} for audit, report in reports}


def _sizings(audits: Sequence[Audit]) -> dict[int, DraftSizing]:
    sizings = DraftSizing.objects.filter(audit__in=audits, manifest_hash=F("audit__manifest_hash"))
    return {one.audit_id: one for one in sizings.only("audit", "half_width", "problems", "strata")}


def waits_for_lead(project: Project, standings: Sequence[Standing]) -> list[tuple[str, Step]]:
    """What nobody but a lead can bring on: (audit, step), and what hangs in the project's queues."""
    waiting = [(one.audit.name, one.next) for one in standings if one.next.yours]
    passed_on = skips_open(project).values("item").distinct().count()
    if passed_on:
        words = f"{passed_on:,} open case{'' if passed_on == 1 else 's'} somebody has passed on."
        where = reverse("adjudication:skipped", args=[project.name])
        waiting.append(("", Step(words, "See who and why, or serve them again", where, yours=True)))
    return waiting
