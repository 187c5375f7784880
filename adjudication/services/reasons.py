"""The reason codes of a project: it begins with a list, adds its own, and retires what it wants no more."""

from collections.abc import Sequence
from datetime import datetime

from django.db import IntegrityError, transaction

from adjudication.models import ReasonCode, ReasonOwner, ReasonPlacement, ReasonStage
from adjudication.reasons import FIRST_REASONS
from adjudication.selectors import reasons_of
from core.access import require_role
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.models import Author, Project, Role
from core.services import operator_of
from core.texts import require_storable

LONGEST_CODE = 60
LONGEST_MEANING = 200


@transaction.atomic
def reason_codes_seed(*, project: Project, now: datetime) -> None:
    """What `config` has every project begin with; one that has codes keeps its own."""
    if ReasonCode.objects.filter(project=project).exists():
        return
    actor = operator_of(project)
    codes = ReasonCode.objects.bulk_create(
        ReasonCode(
            project=project, code=first.code, meaning=first.meaning, needs_text=first.needs_text, actor=actor, at=now
        )
        for first in FIRST_REASONS
    )
    ReasonPlacement.objects.bulk_create(
        ReasonPlacement(code=code, stage=first.stage, owner=first.owner, actor=actor, at=now)
        for code, first in zip(codes, FIRST_REASONS, strict=True)
    )


@transaction.atomic
def reason_code_add(
    *, code: str, meaning: str, needs_text: bool, stage: ReasonStage, owner: ReasonOwner, actor: Author, now: datetime
) -> ReasonCode:
    """A code of the project's own. A name that was ever used, in whatever case, is taken for good."""
    require_role(actor, Role.OWNER)
    code, meaning = " ".join(code.split()), " ".join(meaning.split())
    require_storable("code", code, longest=LONGEST_CODE)
    require_storable("meaning", meaning, longest=LONGEST_MEANING)
    if not code:
        raise InputError(Problem("empty", key="code", allowed="the reason in a few words"))
    try:
        with transaction.atomic():
            new = ReasonCode.objects.create(
                project_id=actor.project_id, code=code, meaning=meaning, needs_text=needs_text, actor=actor, at=now
            )
    except IntegrityError as error:  # one_reason_code_per_name
        taken = "another name, or the code that is there already: one that was retired can be brought back"
        raise Refused(Problem("there is a code of this name", key="code", value=code, allowed=taken)) from error
    _place(new, 1, stage, owner, actor, now)
    return new


@transaction.atomic
def reason_code_place(
    *, code: ReasonCode, revision: int, stage: ReasonStage, owner: ReasonOwner, actor: Author, now: datetime
) -> None:
    """Offer a code at another stage, give it another owner, or retire it. `revision` is the placement that the
    actor saw: of two who change a code at once, one is told."""
    require_role(actor, Role.OWNER)
    if code.project_id != actor.project_id:
        raise Refused(Problem(f"{actor} is no member of the project of this code"))
    latest = code.placements.latest("revision")
    changed = Refused(Problem("somebody else has changed this code meanwhile", value=code.code))
    if latest.revision != revision:
        raise changed
    if (latest.stage, latest.owner) == (stage, owner):
        return
    try:
        with transaction.atomic():
            _place(code, revision + 1, stage, owner, actor, now)
    except IntegrityError as error:  # one_placement_per_revision
        raise changed from error


def _place(
    code: ReasonCode, revision: int, stage: ReasonStage, owner: ReasonOwner, actor: Author, now: datetime
) -> None:
    ReasonPlacement.objects.create(code=code, revision=revision, stage=stage, owner=owner, actor=actor, at=now)
    payload = {"code": code.code, "stage": stage, "owner": owner}
    event_record(name="adjudication.reason-code-placed", actor=actor, now=now, payload=payload)


def check_reasons(project: Project, codes: Sequence[str], rationale: str) -> None:
    """Only what the desk offers now, and with words where the code asks for them."""
    if not codes:
        return
    offered = {reason.code: reason for reason in reasons_of(project, ReasonStage.DESK)}
    for code in codes:
        if code not in offered:
            raise InputError(Problem("not a reason that the desk offers", value=code, allowed=", ".join(offered)))
        if offered[code].needs_text and not rationale.strip():
            raise InputError(Problem(f"the reason “{code}” needs a rationale that says what it is"))
