"""What the API says of audits and jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from audits.exports.comparison import integrity_state
from audits.exports.wording import official_words
from audits.gate import RuleFinding, gate_is_met
from audits.models import Audit, Job, Look, Registration
from audits.overview import Standing
from audits.plans import sizing_of
from audits.services.jobs import may_cancel
from audits.services.uploads import packet_path, refused_path
from audits.verdicts import gate_now, inventory_dict, official_change, sign_off_dicts, unapproved_changes


@dataclass(frozen=True)
class AuditAnswer:
    """Where one audit stands. `drawn` and `settled` are of the sample; `next` is what to do, in words."""

    name: str
    kind: str
    state: str
    comparison: str
    rubric: str
    manifest_hash: str
    opened_at: datetime
    drawn: int
    settled: int
    integrity_passed: bool
    integrity: str
    interval: str
    official: str
    next: str
    job: int | None

    @classmethod
    def of(cls, standing: Standing) -> "AuditAnswer":
        audit = standing.audit
        return cls(
            name=audit.name,
            kind=audit.comparison.kind,
            state=standing.state_words,
            comparison=audit.comparison.name,
            rubric=str(audit.rubric),
            manifest_hash=audit.manifest_hash,
            opened_at=audit.opened_at,
            drawn=standing.drawn,
            settled=standing.settled,
            integrity_passed=standing.integrity["passed"],
            integrity=standing.integrity_words,
            interval=standing.interval_words,
            official=standing.official_words,
            next=standing.next.words,
            job=standing.job.pk if standing.job else None,
        )


@dataclass(frozen=True)
class JobAnswer:
    """Work that a worker does. `state`: waiting, running, done, refused (`problems` says why), broken or cancelled.
    `done` of `expected` rows, or bytes, is how far it is; `outcome` says what came of it, where nothing else does;
    `refused_rows` and `packet`: a list of rows left out, and the packet, can be fetched."""

    number: int
    kind: str
    state: str
    audit: str | None
    progress: str
    done: int | None
    expected: int | None
    problems: list[dict[str, Any]]
    outcome: str
    asked_by: str
    asked_at: datetime
    ended_at: datetime | None
    may_cancel: bool
    refused_rows: bool
    packet: bool

    @classmethod
    def of(cls, job: Job) -> "JobAnswer":
        return cls(
            number=job.pk,
            kind=job.kind,
            state=job.state,
            audit=job.audit.name if job.audit else None,
            progress=job.progress,
            done=job.done,
            expected=job.expected,
            problems=job.problems,
            outcome=job.outcome,
            asked_by=job.actor.pseudonym,
            asked_at=job.asked_at,
            ended_at=job.ended_at,
            may_cancel=may_cancel(job),
            refused_rows=refused_path(job).is_file(),
            packet=packet_path(job).is_file(),
        )


@dataclass(frozen=True)
class RegistrationAnswer:
    """A plan made binding, or an extension of its sample; `labels` are totals by stratum."""

    n: int
    plan: Mapping[str, Any]
    frame_hash: str
    seed: str
    code_version: str
    labels: Mapping[str, int]
    by: str
    at: datetime

    @classmethod
    def of(cls, one: Registration) -> "RegistrationAnswer":
        return cls(one.n, one.plan, one.frame_hash, one.seed, one.code_version, one.labels, one.actor.pseudonym, one.at)


@dataclass(frozen=True)
class SizingAnswer:
    """What a draft's plan needs. `problems` say why it cannot be drawn as it is."""

    strata: list[dict[str, Any]]
    problems: list[dict[str, Any]]
    half_width: float | None


@dataclass(frozen=True)
class PlanAnswer:
    """The plan as the manifest states it, what it needs, and every registration of it."""

    plan: Mapping[str, Any]
    review: Mapping[str, Any]
    sizing: SizingAnswer | None
    registrations: list[RegistrationAnswer]

    @classmethod
    def of(cls, audit: Audit) -> "PlanAnswer":
        sizing = sizing_of(audit)
        return cls(
            plan=audit.plan,
            review=audit.review,
            sizing=SizingAnswer(sizing.strata, sizing.problems, sizing.half_width) if sizing else None,
            registrations=[
                RegistrationAnswer.of(one) for one in audit.registrations.select_related("actor").order_by("n")
            ],
        )


@dataclass(frozen=True)
class LookAnswer:
    """One look: the interval over the settled prefix at its watermark. Without a number there is none to show yet."""

    number: int
    watermark: int
    integrity: str
    labels: int
    point: float | None
    low: float | None
    high: float | None
    final: bool
    at: datetime

    @classmethod
    def of(cls, look: Look, integrity: str) -> "LookAnswer":
        numbers = (look.labels, look.point, look.low, look.high)
        return cls(look.pk, look.watermark, integrity, *numbers, look.final, look.at)


@dataclass(frozen=True)
class WholeLookAnswer:
    """A look with all that was computed, and whether the verdicts could be compared at all. `remaining`: labels still
    needed; the last three at a look to stop at."""

    number: int
    watermark: int
    registration: int
    code_version: str
    at: datetime
    integrity: Mapping[str, Any]
    result: Mapping[str, Any]
    remaining: Mapping[str, Any] | None
    secondary: Any
    reruns: Any
    slices: Any

    @classmethod
    def of(cls, look: Look) -> "WholeLookAnswer":
        return cls(
            number=look.pk,
            watermark=look.watermark,
            registration=look.registration.n,
            code_version=look.code_version,
            at=look.at,
            integrity=integrity_state(look.audit),
            result=look.result,
            remaining=look.remaining,
            secondary=look.secondary,
            reruns=look.reruns,
            slices=look.slices,
        )


@dataclass(frozen=True)
class IntegrityAnswer:
    """What was compared, and whether it may be: counts by state of pair, rules, and warnings about label columns."""

    passed: bool
    integrity: Mapping[str, Any]
    stability: Mapping[str, Any]
    column_warnings: list[str]


@dataclass(frozen=True)
class SignOffAnswer:
    """A sign-off with the gate as it stood."""

    n: int
    kind: str
    words: str
    by: str
    at: str
    gate: list[dict[str, Any]]
    overridden: bool
    override: str


@dataclass(frozen=True)
class InventoryAnswer:
    """What the cutover touches outside, as it was stated last. Before a lead has, `n` is 0, `by` is blank, and the rest
    is the manifest's. `n` goes with the next statement, as `seen`."""

    n: int
    consumers: str
    thresholds: str
    rollback_to: str
    rollback: str
    by: str
    at: str


@dataclass(frozen=True)
class VerdictAnswer:
    """The cutover gate now, rule by rule with its evidence, and what was signed. `met`: every rule, and there is one.
    `seen` goes with a sign-off: of two at once, one is told. `unapproved` intended transitions wait for approval."""

    met: bool
    gate: list[RuleFinding]
    sign_offs: list[SignOffAnswer]
    seen: int
    official: str
    unapproved: int
    inventory: InventoryAnswer

    @classmethod
    def of(cls, audit: Audit) -> "VerdictAnswer":
        gate = gate_now(audit)
        signed = [SignOffAnswer(**one) for one in sign_off_dicts(audit)]
        official = official_words(official_change(audit))
        inventory, unapproved = InventoryAnswer(**inventory_dict(audit)), unapproved_changes(audit).count()
        return cls(gate_is_met(gate), gate, signed, len(signed), official, unapproved, inventory)


@dataclass(frozen=True)
class DiagnosisAnswer:
    """What was said of a case. `revision` goes with the next one."""

    code: str
    owner: str
    kind: str
    words: str
    revision: int
    by: str
    at: str


@dataclass(frozen=True)
class CaseAnswer:
    """A case that asks for a diagnosis: its verdicts, its labels (old, new) once settled, and what was said of it."""

    case_id: str
    case_version: int
    old: str | None
    new: str | None
    labels: tuple[str, ...] | None
    how_settled: str
    outcome: str
    blocking_slice: str
    diagnosis: DiagnosisAnswer | None


@dataclass(frozen=True)
class HoldoutAnswer:
    """Whether the cases of a holdout may be read one by one; null where there is no holdout."""

    case_set: str
    sealed: bool
    opened_at: datetime | None
    opened_by: str
    reason: str


@dataclass(frozen=True)
class LabelsAnswer:
    """What became of the rows of a label file."""

    file: str
    rows: int
    taken: int
    missing: int
    duplicates: int
    absent: int
    unknown: int
    left_out: int
    not_drawn: int
    elsewhere: int
    reviews: int
    adjudications: int
    duplicate: int
    surplus: int
    waiting: int
    settled: Mapping[str, int]
