"""Making a plan binding, and drawing its sample."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import fsum

from django.db import transaction
from django.db.models import Max

from adjudication.models import Item, ItemState, SettlementHow
from adjudication.services.calibrating import calibration_fix
from adjudication.services.queues import NewItem, items_add
from adjudication.services.settlements import item_settle
from audits.allocation import first_allocation
from audits.frames import FrameRow, frame_bytes, frame_of, frame_rows, identity_of, pool_of, sizes_of
from audits.models import Audit, AuditState, Cell, Draw, Frame, Registration, Reuse, Stratum, StratumKind
from audits.plans import estimate_arguments, frame_plan, target_half_width
from audits.reuse import known_labels
from audits.samples import extended_sample
from audits.selectors import known_references, require_registered
from audits.stats.design import FORCED, double_reviewed, serving_order
from audits.stats.estimate import MIN_LABELS
from audits.stats.remaining import remaining_audit
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.models import Author
from core.version import VERSION
from judges.integrity import integrity_of
from judges.models import Artifact, Case
from judges.selectors import pairs_of

BATCH = 500
LONGEST_SOURCE, LONGEST_PEOPLE = (Reuse._meta.get_field(name).max_length or 0 for name in ("source", "labelled_by"))


@dataclass(frozen=True)
class Drawn:
    """A registration, and how many cases it drew from each stratum. `reused` items were settled at once
    by references that were there already."""

    registration: Registration
    added: Mapping[str, int]
    reused: int


def audit_register(*, audit: Audit, actor: Author, now: datetime) -> Drawn:
    """Freeze the plan and the frame, then draw. Refused where the integrity rules of the manifest fail."""
    # The pairs of a comparison never change, so the frame is made before the one short transaction.
    pairs = list(pairs_of(audit.comparison))
    integrity = integrity_of(audit.comparison, pairs)
    if not integrity.passed:
        raise Refused(Problem(failure, key="integrity") for failure in integrity.failures)
    plan = frame_plan(audit)
    rows = frame_rows(audit.comparison, pairs, plan)
    sha256, compressed = frame_bytes(rows)
    labels = first_allocation(audit, sizes_of(rows, plan))
    with transaction.atomic():
        if Audit.objects.filter(pk=audit.pk, state=AuditState.DRAFT).update(state=AuditState.REGISTERED) != 1:
            raise Refused(Problem(f"{audit} is registered already", allowed=f"extend {audit}"))
        frame = Frame.objects.create(audit=audit, sha256=sha256, rows=compressed)
        _strata_create(audit, rows)
        drawn = _draw(audit, frame, rows, labels, actor, now)
        _calibrate(audit, now)
    audit.state = AuditState.REGISTERED
    return drawn


def _calibrate(audit: Audit, now: datetime) -> None:
    calibration_fix(
        queue=audit.queue,
        practice=audit.review.get("practice_set", ""),
        anchors=audit.review.get("hidden_anchors", ""),
        every=audit.review.get("hidden_anchor_every"),
        now=now,
    )


def _strata_create(audit: Audit, rows: Sequence[FrameRow]) -> None:
    cells: dict[tuple[str, str, str, bool], list[float | None]] = {}
    for row in rows:
        cells.setdefault((row.stratum, row.old, row.new, row.same_content), []).append(row.score)
    sizes = Counter(row.stratum for row in rows)
    strata = {
        name: Stratum.objects.create(
            audit=audit,
            name=name,
            kind=StratumKind.TAKE_ALL if name == FORCED else StratumKind.SAMPLED,
            size=sizes[name],
        )
        for name in sorted(sizes)
    }
    Cell.objects.bulk_create(
        Cell(stratum=strata[stratum], old=old, new=new, same_content=same, size=len(scores), **_score_sums(scores))
        for (stratum, old, new, same), scores in sorted(cells.items())
    )


def _score_sums(scores: Sequence[float | None]) -> dict[str, float]:
    given = [score for score in scores if score is not None]
    if not given:
        return {}
    return {"score_sum": fsum(given), "score_squares": fsum(score * score for score in given)}


def _draw(
    audit: Audit, frame: Frame, rows: Sequence[FrameRow], labels: Mapping[str, int], actor: Author, now: datetime
) -> Drawn:
    """Draw up to `labels` of each stratum's order, and open the cases drawn for review.

    The registration with its sizes is logged before any of its items shows.
    """
    earlier = [registration.labels for registration in audit.registrations.order_by("n")]
    registration = Registration.objects.create(
        audit=audit,
        n=len(earlier) + 1,
        plan=audit.plan,
        frame_hash=frame.sha256,
        seed=audit.plan["seed"],
        code_version=VERSION,
        labels=dict(labels),
        actor=actor,
        at=now,
    )
    before = earlier[-1] if earlier else {}
    added = {name: number - before.get(name, 0) for name, number in labels.items()}
    payload = {"audit": audit.pk, "registration": registration.n, "frame": frame.sha256, "added": added}
    event_record(name="audits.plan-registered", actor=actor, now=now, payload=payload)
    sequence = serving_order(serving_stages([*earlier, labels]))[sum(before.values()) :]
    by_place = {(row.stratum, row.position - 1): row for row in rows}
    chosen = [by_place[place] for place in sequence]
    cases = _cases(audit, chosen)
    artifacts = artifacts_of(audit, cases)
    items = _open_items(audit, chosen, cases, artifacts)
    strata = dict(audit.strata.values_list("name", "pk"))
    Draw.objects.bulk_create(
        (
            Draw(
                audit=audit,
                registration=registration,
                stratum_id=strata[row.stratum],
                position=row.position,
                case_id=case,
                item=items[case],
                old=row.old,
                new=row.new,
                same_content=row.same_content,
                score=row.score,
            )
            for case, row in zip(cases, chosen, strict=True)
        ),
        batch_size=BATCH,
    )
    reused = _reuse_references(audit, items, artifacts, actor, now)
    return Drawn(registration, added, reused)


def serving_stages(registrations: Sequence[Mapping[str, int]]) -> list[Mapping[str, int]]:
    """The allocations to serve one after another: first what every stratum needs before an interval may be
    shown at all, so that watching can start early, then each registration."""
    start = {name: min(number, MIN_LABELS) for name, number in registrations[0].items()}
    return [start, *registrations]


def _cases(audit: Audit, rows: Sequence[FrameRow]) -> list[int]:
    found = Case.objects.filter(case_set=audit.comparison.case_set).values_list("case_id", "version", "pk")
    keys = {(case_id, version): pk for case_id, version, pk in found.iterator()}
    return [keys[row.case_id, row.case_version] for row in rows]


def _open_items(
    audit: Audit, chosen: Sequence[FrameRow], cases: Sequence[int], artifacts: Mapping[int, tuple[int, ...]]
) -> dict[int, Item]:
    last = audit.queue.items.aggregate(last=Max("rank"))["last"] or 0
    seed, shares = audit.plan["seed"], _double_review_shares(audit, cases)
    case_set = audit.comparison.case_set
    return items_add(
        queue=audit.queue,
        items=[
            NewItem(
                case=case,
                artifacts=artifacts[case],
                rank=rank,
                answers=2 if double_reviewed(seed, identity_of(case_set, row), shares[case]) else 1,
            )
            for rank, (case, row) in enumerate(zip(cases, chosen, strict=True), last + 1)
        ],
    )


def _double_review_shares(audit: Audit, cases: Sequence[int]) -> dict[int, float]:
    """For each case the largest share that is asked for: of all, or of a slice that it is in."""
    everywhere = audit.review["double_review_share"]
    by_slice = audit.review.get("double_review_slices", {})  # drafts opened by earlier versions have none
    if not by_slice:
        return dict.fromkeys(cases, everywhere)
    slices = dict(Case.objects.filter(case_set=audit.comparison.case_set).values_list("pk", "slices"))
    return {
        case: max([everywhere, *(by_slice.get(f"{name}={value}", 0.0) for name, value in slices[case].items())])
        for case in cases
    }


def artifacts_of(audit: Audit, cases: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The artifacts that an item of each case shows: one in a swap, the old and the new in an upgrade.

    A case of which a side has no artifact is left out; it is never eligible.
    """
    systems = list(
        dict.fromkeys([audit.comparison.old_run.system_version_id, audit.comparison.new_run.system_version_id])
    )
    found: dict[int, dict[int, int]] = {}
    for start in range(0, len(cases), BATCH):
        rows = Artifact.objects.filter(case__in=cases[start : start + BATCH], system_version__in=systems)
        for case, system, pk in rows.values_list("case", "system_version", "pk"):
            found.setdefault(case, {})[system] = pk
    whole = [case for case in cases if len(found.get(case, {})) == len(systems)]
    return {case: tuple(found[case][system] for system in systems) for case in whole}


def known_elsewhere(audit: Audit) -> bool:
    """Whether any label may be there that nobody would have to be asked for."""
    return bool(audit.review.get("reuse_anchors") or known_references(audit))


def settled_elsewhere(audit: Audit, rows: Sequence[FrameRow]) -> list[FrameRow]:
    """The cases of these that labels settle which the plan reuses, or would if it took references of other audits."""
    cases = _cases(audit, rows)
    artifacts = artifacts_of(audit, cases)
    wanted = [artifact for case in cases for artifact in artifacts[case]]
    reuses = audit.review["reuse_references"] or audit.review.get("reuse_anchors")
    known = known_labels(audit, wanted) if reuses else known_references(audit)
    return [row for case, row in zip(cases, rows, strict=True) if all(one in known for one in artifacts[case])]


def _reuse_references(
    audit: Audit, items: Mapping[int, Item], artifacts: Mapping[int, tuple[int, ...]], actor: Author, now: datetime
) -> int:
    """Settle drawn cases all of whose artifacts have a label already, where the plan says so; each with its source."""
    open_items = {case: item for case, item in items.items() if item.state != ItemState.SETTLED}
    known = known_labels(audit, [artifact for case in open_items for artifact in artifacts[case]])
    reuses = []
    for case, item in open_items.items():
        labels = {artifact: known[artifact] for artifact in artifacts[case] if artifact in known}
        if len(labels) < len(artifacts[case]):
            continue
        decision = {artifact: one.label for artifact, one in labels.items()}
        settlement = item_settle(item=item, how=SettlementHow.REUSED, decision=decision, actor=actor, now=now)
        sources, people = ({getattr(one, name) for one in labels.values()} for name in ("source", "labelled_by"))
        reuses.append(
            Reuse(
                audit=audit,
                settlement=settlement,
                source="; ".join(sorted(sources))[:LONGEST_SOURCE],
                labelled_by="; ".join(sorted(people))[:LONGEST_PEOPLE],
            )
        )
    Reuse.objects.bulk_create(reuses, batch_size=BATCH)
    return len(reuses)


@transaction.atomic
def audit_extend(*, audit: Audit, labels: Mapping[str, int], actor: Author, now: datetime) -> Drawn:
    """A new, dated registration of a larger sample: totals by stratum, those not named as they are.

    What was drawn and served stays as it is, in its order.
    """
    require_registered(audit)
    Audit.objects.select_for_update(no_key=True).get(pk=audit.pk)
    wanted = extended_sample(audit, labels)
    rows = frame_of(audit.frame)
    return _draw(audit, audit.frame, rows, wanted, actor, now)


def labels_to_target(audit: Audit) -> dict[str, int]:
    """Totals by stratum that reach the plan's target, from the labels in hand; never below what is drawn."""
    half_width = target_half_width(audit.plan)
    if half_width is None:
        raise InputError(Problem("the plan has no target width", key="plan.half_width", allowed="--add STRATUM=LABELS"))
    latest = audit.registrations.latest("n")
    pool = pool_of(audit, watermark=audit.queue.settled, registration=latest.n)
    sizing = remaining_audit(pool, **estimate_arguments(audit.plan), half_width=half_width)
    return {name: max(number, latest.labels.get(name, 0)) for name, number in sizing.n.items()}
