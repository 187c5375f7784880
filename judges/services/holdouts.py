"""Opening a holdout, once, for a reason; and refusing it as a holdout from then on."""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Value
from django.db.models.functions import Concat

from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.identity import text_hash
from core.models import Author, Project
from core.texts import require_storable
from judges.holdouts import opening_of
from judges.models import Case, CaseSet, HoldoutOpening, LoadState, Partition

LONGEST_REASON = 2000


@transaction.atomic
def holdout_open(*, case_set: CaseSet, reason: str, actor: Author, now: datetime) -> HoldoutOpening:
    """From now on the holdout of this case set may be read case by case, and is no holdout any more."""
    reason = reason.strip()
    require_storable("reason", reason, LONGEST_REASON)
    if not reason:
        raise InputError(Problem("missing; opening retires the holdout", key="reason", allowed="why it must be read"))
    if not case_set.cases.filter(partition=Partition.HOLDOUT).exists():
        raise Refused(Problem(f"case set {case_set} has no holdout"))
    try:
        with transaction.atomic():
            opening = HoldoutOpening.objects.create(case_set=case_set, reason=reason, actor=actor, at=now)
    except IntegrityError as error:  # one opening per case set
        raise Refused(Problem(f"{opening_of(case_set)}, is open already")) from error
    payload = {"case_set": case_set.pk, "name": str(case_set), "reason": reason}
    event_record(name="judges.holdout-opened", actor=actor, now=now, payload=payload)
    return opening


def refuse_retired(case_set: CaseSet, key: str) -> None:
    """Refuse a holdout that was opened, under its own name or, in part, under another."""
    opening = opening_of(case_set) or _opening_of_same_cases(case_set)
    if opening is not None:
        raise Refused(
            Problem(
                f"{opening}, is retired: {opening.reason}",
                key=key,
                value=str(case_set),
                allowed="a holdout of which nobody has read a case",
            )
        )


def refuse_retired_named(project: Project, written: str, key: str) -> None:
    """The same for a case set by its name and version, as a manifest writes it; one that is not there is no fault."""
    sets = CaseSet.objects.filter(project=project, state=LoadState.COMPLETE)
    for case_set in sets.annotate(written=Concat("name", Value("-"), "version")).filter(written=written):
        refuse_retired(case_set, key)


def _opening_of_same_cases(case_set: CaseSet) -> HoldoutOpening | None:
    """Cases that were read stay read, whatever their set is called now. A case is known by its id and its input."""
    given = Case.objects.filter(case_set=case_set, partition=Partition.HOLDOUT).exclude(input_hash=text_hash(""))
    same = given.filter(case_id=OuterRef("case_id"), input_hash=OuterRef("input_hash"))
    read = Case.objects.filter(Exists(same), partition=Partition.HOLDOUT, case_set__project=case_set.project)
    found = read.filter(case_set__holdout_opening__isnull=False).select_related("case_set").first()
    return None if found is None else opening_of(found.case_set)
