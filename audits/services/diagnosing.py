"""Saying why people and judge differ on a case, and who mends it."""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Max

from adjudication.models import ReasonStage
from adjudication.selectors import reasons_of
from audits.diagnoses import cases_asking, cases_known
from audits.models import Audit, Diagnosis, DiagnosisKind
from audits.selectors import require_registered
from core.access import LEADING, require_role
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.models import Author
from core.texts import require_storable
from judges.holdouts import require_open
from judges.models import Case

LONGEST_WORDS = 2000


@transaction.atomic
def case_diagnose(
    *, audit: Audit, case: Case, revision: int, code: str, kind: str, words: str, actor: Author, now: datetime
) -> Diagnosis:
    """From now on this is the case's diagnosis. `revision` is that of the one which the actor saw, 0 for none: of two
    who diagnose a case at once, one is told."""
    require_role(actor, *LEADING)
    require_open(require_registered(audit).comparison)
    offered = {reason.code: reason for reason in reasons_of(audit.project, ReasonStage.DIAGNOSIS)}
    words = words.strip()
    require_storable("words", words, LONGEST_WORDS)
    problems = []
    if code not in offered:
        problems.append(Problem("not a diagnosis", key="code", value=code, allowed=", ".join(offered)))
    if kind not in DiagnosisKind.values:
        problems.append(Problem("not a kind", key="kind", value=kind, allowed=", ".join(DiagnosisKind.values)))
    if not words:
        allowed = "the policy decision behind the transition, or the component to repair"
        problems.append(Problem("missing", key="words", allowed=allowed))
    if problems:
        raise InputError(problems)
    _require_asking(audit, case, kind)
    changed = Refused(Problem("somebody else has diagnosed this case meanwhile", value=case.case_id))
    if (_revisions(audit, case) or 0) != revision:
        raise changed
    try:
        with transaction.atomic():
            diagnosis = Diagnosis.objects.create(
                audit=audit,
                case=case,
                revision=revision + 1,
                code=code,
                owner=offered[code].owner,
                kind=kind,
                words=words,
                actor=actor,
                at=now,
            )
    except IntegrityError as error:  # one_diagnosis_per_revision
        raise changed from error
    payload = {"audit": audit.pk, "case": case.pk, "code": code, "owner": diagnosis.owner, "kind": kind}
    event_record(name="audits.case-diagnosed", actor=actor, now=now, payload=payload)
    return diagnosis


def _revisions(audit: Audit, case: Case) -> int | None:
    last: int | None = audit.diagnoses.filter(case=case).aggregate(last=Max("revision"))["last"]
    return last


def _require_asking(audit: Audit, case: Case, kind: str) -> None:
    if case.pk not in cases_asking(audit):
        what = "nothing to diagnose: no settled label differs from a verdict, and no blocking decision changed"
        raise Refused(Problem(what, value=case.case_id))
    (known,) = cases_known(audit, [case.pk])
    if kind == DiagnosisKind.INTENDED and not known.moved:
        what = "no verdict changed here, so no transition can be intended"
        raise Refused(Problem(what, key="kind", value=case.case_id, allowed="name the component to repair"))
