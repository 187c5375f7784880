"""Small worlds for tests: plain functions that make rows through the services, with data of our own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from adjudication.models import Item, Lease, Queue, QueuePurpose, Review, SettlementHow
from adjudication.services.calibrating import KnownCase, calibration_fix, known_cases_add
from adjudication.services.leases import slot_claim
from adjudication.services.queues import NewItem, items_add, queue_open
from adjudication.services.reviews import review_submit
from adjudication.services.settlements import item_settle
from audits.manifest.specs import PlanSpec, ReviewSpec
from audits.models import Audit
from audits.services.registering import audit_register
from core.identity import text_hash
from core.models import ApiToken, Author, Project, Role, Scope
from core.services import member_add, operator_of, project_ensure
from core.tokens import PIPELINE_SCOPES, person_token_make, pipeline_token_make
from judges.intake.rows import NOTHING_RECORDED, ArtifactRow, CaseRow, JudgmentRow, Recorded
from judges.intake.specs import GeneratorSpec, MappingSpec, ReaderSpec, RubricSpec, ScaleLabel, SideSpec
from judges.models import CaseSet, Comparison, Reader, Rubric, Run, RunRole, SystemVersion
from judges.services.cases import artifacts_load, case_set_load
from judges.services.comparisons import Further, comparison_open
from judges.services.publishing import generator_ensure, mapping_publish, reader_ensure, rubric_publish
from judges.services.runs import run_load

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
YES_NO = {"Yes": "pass", "No": "fail"}
RULES = {
    "require_equal_output_hash": True,
    "require_equal_evidence_hash": True,
    "fail_on_missing_pair": False,
    "fail_on_unmapped_label": True,
    "accept_unverified_provenance": False,
}

FurtherLabels = tuple[str, str, Mapping[str, str | None]]  # side, role, raw labels
Verdicts = Mapping[str, tuple[str | None, str | None]]  # case id -> raw label of each side; None: not judged


def make_project(name: str = "p") -> Project:
    return project_ensure(name=name, now=NOW)


def make_person(project: Project, name: str, role: Role = Role.REVIEWER) -> Author:
    return member_add(project=project, username=f"{project.name}-{name}", role=role)


@dataclass(frozen=True)
class Token:
    key: str
    author: Author
    role: Role
    token: ApiToken


def make_token(project: Project, *scopes: Scope, now: datetime | None = None) -> Token:
    """Of a pipeline where it may have the scopes, of a person's own programs otherwise."""
    given: dict[str, Any] = {"scopes": scopes, "days": 30, "now": now or timezone.now(), "actor": operator_of(project)}
    if set(scopes) <= set(PIPELINE_SCOPES):
        token, key = pipeline_token_make(name="nightly", **given)
        return Token(key, token.author, Role.LEAD, token)
    role = Role.REVIEWER if Scope.REVIEW in scopes else Role.OWNER
    token, key = person_token_make(author=make_person(project, f"with-{role}-token", role), **given)
    return Token(key, token.author, role, token)


def make_rubric(project: Project, labels: Sequence[str] = ("fail", "pass"), name: str = "right") -> Rubric:
    scale = tuple(ScaleLabel(label, float(value)) for value, label in enumerate(labels))
    return rubric_publish(project=project, spec=RubricSpec(name, "1", "Is it right?", scale))


def make_reader(
    project: Project,
    parser: str = "exact-label@1",
    table: Mapping[str, str] = YES_NO,
    name: str = "yes-no",
    setting: str = "",
) -> Reader:
    mapping_publish(project=project, spec=MappingSpec(name, "1", "owner", table))
    return reader_ensure(project=project, spec=ReaderSpec(parser, f"{name}@1", setting))


def case_row(case_id: str, number: int = 1, **changes: Any) -> CaseRow:
    fields: dict[str, Any] = {"input": f"question {case_id}", "slices": {}, "partition": "", "cluster": ""}
    return CaseRow(number=number, case_id=case_id, **(fields | changes))


def artifact_row(case_id: str, number: int = 1, output: str = "", evidence: tuple[str, ...] = ()) -> ArtifactRow:
    return ArtifactRow(number, case_id, output or f"answer {case_id}", evidence)


def judgment_row(case_id: str, label: str | None, number: int = 1, **changes: Any) -> JudgmentRow:
    raw = changes.pop("raw", label or "")
    return JudgmentRow(number, case_id, label, raw, Recorded(**changes) if changes else NOTHING_RECORDED)


def load_cases(
    project: Project, cases: Iterable[str | CaseRow], name: str = "cases", version: str = "1", now: datetime = NOW
) -> CaseSet:
    rows = [case_row(case, n) if isinstance(case, str) else case for n, case in enumerate(cases, 1)]
    return case_set_load(
        project=project, name=name, version=version, rows=rows, partition="development", file="cases.csv", now=now
    )[0]


def load_artifacts(
    case_set: CaseSet, system: str = "v1", rows: Iterable[ArtifactRow] | None = None, now: datetime = NOW
) -> SystemVersion:
    ids = case_set.cases.order_by("pk").values_list("case_id", flat=True)
    given = [artifact_row(case, n) for n, case in enumerate(ids, 1)] if rows is None else rows
    return artifacts_load(case_set=case_set, system_version=system, rows=given, file="answers.csv", now=now)[0]


def side_spec(model: str = "old-judge", run: int = 1, **changes: Any) -> SideSpec:
    return SideSpec("v1", GeneratorSpec(model=model), ReaderSpec("exact-label@1", "yes-no@1"), run, **changes)


def load_run(
    system: SystemVersion,
    rows: Iterable[JudgmentRow],
    model: str = "old-judge",
    run: int = 1,
    now: datetime = NOW,
    *,
    file_hash: str = "",
    **shown: Any,
) -> Run:
    spec = side_spec(model, run, **shown)
    generator = generator_ensure(project=system.case_set.project, spec=spec.generator)
    return run_load(
        generator=generator,
        system=system,
        spec=spec,
        rows=rows,
        file="labels.csv",
        now=now,
        file_hash=file_hash,
        reading_hash="0" * 64,
    )[0]


def judged(labels: Mapping[str, str | None], scores: Mapping[str, float] | None = None) -> list[JudgmentRow]:
    given = {case: repr(score) for case, score in (scores or {}).items()}
    return [
        judgment_row(case, label, n, score=given.get(case, ""))
        for n, (case, label) in enumerate(labels.items(), 1)
        if label is not None
    ]


def make_swap(
    project: Project,
    verdicts: Verdicts,
    *,
    name: str = "swap-1",
    slices: Mapping[str, Mapping[str, str]] | None = None,
    blocking: Sequence[str] = (),
    rules: Mapping[str, bool] | None = None,
    labels: Sequence[str] = ("fail", "pass"),
    table: Mapping[str, str] = YES_NO,
    case_set: str = "cases",
    scores: Mapping[str, float] | None = None,
    partition: str = "development",
    further: Sequence[FurtherLabels] = (),
    repeat_summary: str = "majority",
) -> Comparison:
    """A judge swap over cases whose raw labels are given by side; `scores` are those of the new judge, `further` runs
    are numbered from 2."""
    slices = slices or {}
    rows = [
        case_row(case, n, slices=dict(slices.get(case, {})), partition=partition) for n, case in enumerate(verdicts, 1)
    ]
    system = load_artifacts(load_cases(project, rows, case_set))
    reader = make_reader(project, table=table, name=f"table-{len(table)}")
    old = load_run(system, judged({case: pair[0] for case, pair in verdicts.items()}), "old-judge")
    new = load_run(system, judged({case: pair[1] for case, pair in verdicts.items()}, scores), "new-judge")
    return comparison_open(
        project=project,
        name=name,
        kind="judge_swap",
        partition=partition,
        old=(old, reader),
        new=(new, reader),
        labels=list(labels),
        rules=RULES | dict(rules or {}),
        slices=sorted({one for given in slices.values() for one in given}),
        blocking_slices=list(blocking),
        further=[make_further(system, reader, number, *one) for number, one in enumerate(further, 2)],
        repeat_summary=repeat_summary,
    )


def compare(project: Project, reader: Reader, runs: Sequence[Run], **more: Any) -> Comparison:
    """A comparison of two runs, old and new, by one reader; a swap in development with nothing sliced, unless said."""
    old, new = ((run, reader) for run in runs)
    usual: dict[str, Any] = {"kind": "judge_swap", "partition": "development", "labels": ["fail", "pass"]}
    usual |= {"rules": RULES, "slices": [], "blocking_slices": []}
    return comparison_open(**{"project": project, "old": old, "new": new} | usual | more)


def make_further(
    system: SystemVersion,
    reader: Reader,
    number: int,
    side: str,
    role: str,
    labels: Mapping[str, str | None],
) -> Further:
    """A further run of a side; in an order probe positions are swapped, so that Yes means fail."""
    shown: dict[str, Any] = {}
    if role == RunRole.ORDER_PROBE:
        shown = {"presentation_order": "swapped"}
        reader = make_reader(system.case_set.project, table={"Yes": "fail", "No": "pass"}, name="swapped")
    elif role == RunRole.EVIDENCE_PROBE:
        shown = {"packaging": "without the final message"}
    return Further(side, role, load_run(system, judged(labels), f"{side}-judge", number, **shown), reader)


def make_upgrade(
    project: Project,
    verdicts: Verdicts,
    *,
    name: str = "upgrade-1",
    same: Iterable[str] = (),
    rules: Mapping[str, bool] | None = None,
) -> Comparison:
    """A version upgrade; the outputs of the cases in `same` are byte-identical on both sides."""
    alike = set(same)
    case_set = load_cases(project, list(verdicts), "questions")
    old = load_artifacts(case_set, "v1")
    changed = [
        artifact_row(case, n, "" if case in alike else f"better answer {case}") for n, case in enumerate(verdicts, 1)
    ]
    new = load_artifacts(case_set, "v2", changed)
    reader = make_reader(project)
    return comparison_open(
        project=project,
        name=name,
        kind="version_upgrade",
        partition="development",
        old=(load_run(old, judged({case: pair[0] for case, pair in verdicts.items()})), reader),
        new=(load_run(new, judged({case: pair[1] for case, pair in verdicts.items()})), reader),
        labels=["fail", "pass"],
        rules=RULES | dict(rules or {}),
        slices=[],
        blocking_slices=[],
    )


def make_plan(comparison: Comparison, **changes: Any) -> dict[str, Any]:
    """A plan that draws everything unless told otherwise."""
    plan = PlanSpec(
        estimand="accuracy_difference" if comparison.is_swap else "success_difference",
        target="pool",
        level=0.95,
        policy="planned",
        seed="7",
        merge_below=0,
        allocation={"agree": "all", "disagree": "all"},
    )
    return asdict(plan) | changes


def make_audit(
    comparison: Comparison,
    *,
    plan: Mapping[str, Any] | None = None,
    review: Mapping[str, Any] | None = None,
    labels: Sequence[str] = ("fail", "pass"),
) -> Audit:
    """A draft audit over a comparison, with one answer for each item."""
    project = comparison.project
    rubric = make_rubric(project, labels)
    spec = asdict(ReviewSpec(double_review_share=0.0)) | {"sources": []} | dict(review or {})
    return Audit.objects.create(
        project=project,
        name=comparison.name,
        comparison=comparison,
        rubric=rubric,
        queue=queue_open(project=project, name=comparison.name, rubric=rubric),
        manifest="",
        manifest_hash=text_hash(""),
        plan=make_plan(comparison, **(plan or {})),
        review=spec,
        opened_at=NOW,
    )


def registered(project: Project, cases: Iterable[str], name: str = "swap-1", **review: Any) -> Audit:
    """A registered audit of a swap whose judges differ on each of these cases."""
    swap = make_swap(project, dict.fromkeys(cases, ("Yes", "No")), name=name, case_set=f"set of {name}")
    audit = make_audit(swap, review=review)
    audit_register(audit=audit, actor=operator_of(project), now=NOW)
    audit.refresh_from_db()
    return audit


def operator(audit: Audit) -> Author:
    return operator_of(audit.project)


def make_queue(
    project: Project,
    items: int,
    answers: int = 1,
    name: str = "queue",
    upgrade: bool = False,
    rubric: Rubric | None = None,
) -> Queue:
    """A queue of items with one artifact each (two for an upgrade), served in the order of their cases."""
    case_set = load_cases(project, [f"c{n:03d}" for n in range(1, items + 1)], name)
    systems = [load_artifacts(case_set, version) for version in (["v1", "v2"] if upgrade else ["v1"])]
    queue = queue_open(project=project, name=name, rubric=rubric or make_rubric(project))
    shown: dict[int, list[int]] = {}
    for system in systems:
        for case, artifact in system.artifacts.order_by("case").values_list("case", "pk"):
            shown.setdefault(case, []).append(artifact)
    new = [NewItem(case, tuple(found), rank, answers) for rank, (case, found) in enumerate(shown.items(), 1)]
    items_add(queue=queue, items=new)
    return queue


def item_of(queue: Queue, case_id: str) -> Item:
    return queue.items.get(case__case_id=case_id)


def claim(queue: Queue, person: Author, now: datetime = NOW) -> Lease:
    lease = slot_claim(queue=queue, actor=person, now=now)
    assert lease is not None, "nothing is waiting"
    return lease


def submit(lease: Lease, label: str | None = "pass", now: datetime = NOW, **more: Any) -> Review:
    """Answer the same for every artifact that the item shows; None: cannot judge."""
    answers = dict.fromkeys(lease.item.shown.values_list("artifact", flat=True), label)
    return review_submit(lease=lease, actor=lease.author, answers=answers, now=now, **more)


def answer(queue: Queue, person: Author, label: str | None = "pass", now: datetime = NOW) -> Review:
    return submit(claim(queue, person, now), label, now)


def make_known_set(
    project: Project,
    purpose: QueuePurpose,
    items: int,
    *,
    name: str = "known",
    label: str = "pass",
    rationale: str = "",
    upgrade: bool = False,
    prefix: str = "k",
) -> Queue:
    """A set of cases k001, k002, …, all of whose outputs have this label on record."""
    case_set = load_cases(project, [f"{prefix}{n:03d}" for n in range(1, items + 1)], name)
    labels: dict[int, dict[int, str]] = {}
    for version in ["v1", "v2"] if upgrade else ["v1"]:
        artifacts = load_artifacts(case_set, version).artifacts
        for case, artifact in artifacts.order_by("case").values_list("case", "pk"):
            labels.setdefault(case, {})[artifact] = label
    return known_cases_add(
        rubric=make_rubric(project),
        name=name,
        purpose=purpose,
        cases=[KnownCase(case, found, rationale, row) for row, (case, found) in enumerate(labels.items(), 1)],
        source="a test",
        actor=operator_of(project),
        now=NOW,
    ).queue


def calibrate(queue: Queue, *, practice: str = "", anchors: str = "", every: int | None = None) -> None:
    calibration_fix(queue=queue, practice=practice, anchors=anchors, every=every, now=NOW)


def settle(queue: Queue, case_id: str, *labels: str | None) -> None:
    """Decide on a case without a reviewer: one label for every artifact, or one each, the old version's first."""
    item = item_of(queue, case_id)
    artifacts = list(item.shown.order_by("artifact").values_list("artifact", flat=True))
    given = labels if len(labels) > 1 else (labels or ("pass",)) * len(artifacts)
    decision = dict(zip(artifacts, given, strict=True))
    item_settle(item=item, how=SettlementHow.SINGLE, decision=decision, actor=operator_of(queue.project), now=NOW)


def add_outside_sample(audit: Audit, case_id: str) -> None:
    """An item of the audit's queue that nobody drew, as an import with labels for all cases makes it."""
    case = audit.comparison.case_set.cases.get(case_id=case_id)
    artifacts = tuple(case.artifacts.order_by("pk").values_list("pk", flat=True))
    items_add(queue=audit.queue, items=[NewItem(case.pk, artifacts, None)])
