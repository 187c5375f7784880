"""What webhooks are told of audits, each in the transaction that makes it so.

No message holds a number or a word of anybody's: it says where whoever may read them finds them.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from adjudication.models import Settlement
from audits.models import AnchorSet, Audit, AuditState, Job, JobKind, JobState, Look, Registration
from audits.plans import target_reached
from audits.selectors import is_closed, last_look, settled_number
from core.addresses import address_of
from core.models import Project, WebhookEndpoint, WebhookKind, WebhookMessage
from core.webhooks import is_anybody_told, message_write

IMPORTS = (JobKind.INTAKE, JobKind.TAKE_ANCHORS, JobKind.LABELS)


def look_tell(*, look: Look, now: datetime) -> None:
    """The look, and what it is the first of its registration to see."""
    audit, registration = look.audit, look.registration
    if not is_anybody_told(audit.project):  # the draws are not read again for nobody
        return
    told = [(WebhookKind.LOOK_COMPUTED, f"look {look.pk}")]
    if target_reached(audit.plan, look.result):
        told.append((WebhookKind.TARGET_REACHED, _sample(registration)))
    if _is_all_settled(registration, look.watermark):
        told.append((WebhookKind.AUDIT_SETTLED, _sample(registration)))
    for kind, thing in told:
        message_write(project=audit.project, kind=kind, thing=thing, data=_where(look, registration), now=now)


@transaction.atomic
def settled_tell(*, audit: Audit, now: datetime) -> WebhookMessage | None:
    """That every drawn case is settled, where that came after the final look of a `monitored` audit: no look sees it,
    and the final one is what is pointed at."""
    look = last_look(audit)
    if look is None or not is_closed(look):
        return None
    registration, watermark = audit.registrations.latest("n"), settled_number(audit)
    since = Settlement.objects.get(queue=audit.queue_id, number=watermark).at
    if not is_anybody_told(audit.project, since):
        return None
    this = {"project": audit.project, "kind": WebhookKind.AUDIT_SETTLED, "thing": _sample(registration)}
    if WebhookMessage.objects.filter(**this).exists() or not _is_all_settled(registration, watermark):
        return None
    return message_write(**this, data=_where(look, registration), now=now, at=since)


def audits_that_settle_unseen() -> list[Audit]:
    """What the sweeper asks: audits whose last settlements may have had no look, where somebody is told of that."""
    live = WebhookEndpoint.objects.filter(ended_at=None).values_list("project", "kinds")
    told = {project for project, kinds in live if WebhookKind.AUDIT_SETTLED in kinds}
    monitored = Audit.objects.filter(project__in=told, state=AuditState.REGISTERED, plan__policy="monitored")
    return list(monitored.select_related("project"))


def _sample(registration: Registration) -> str:
    return f"registration {registration.n} of audit {registration.audit_id}"


def _where(look: Look, registration: Registration) -> dict[str, object]:
    audit = look.audit
    return {
        "audit": audit.name,
        "registration": registration.n,
        "look": look.pk,
        "url": address_of("audits-api:look", audit.project.name, audit.name, look.pk),
    }


def _is_all_settled(registration: Registration, watermark: int) -> bool:
    """Whether every case drawn until this registration was settled by the watermark."""
    if watermark < sum(registration.labels.values()):
        return False
    settled = Settlement.objects.filter(item=OuterRef("item"), number__lte=watermark)
    drawn = registration.audit.draws.filter(registration__n__lte=registration.n)
    return not drawn.filter(~Exists(settled)).exists()


def import_tell(*, job: Job, now: datetime) -> None:
    """How an import has ended; all other work is told of by what it brings."""
    if job.kind in IMPORTS:
        _import_tell(
            project=job.project,
            thing=f"job {job.pk}",
            job=job.pk,
            kind=job.kind,
            state=job.state,
            audit=job.audit.name if job.audit else None,
            url=address_of("audits-api:job", job.project.name, job.pk),
            now=now,
        )


def import_without_job_tell(*, kind: JobKind, brought: Audit | AnchorSet, now: datetime) -> None:
    """What a command, or a request that waits for it, has taken in; what that refuses, it says to who asked."""
    audit = brought if isinstance(brought, Audit) else None
    route, name = ("audits-api:audit", audit.name) if audit else ("audits-api:anchor-set", brought.pk)
    _import_tell(
        project=brought.project,
        thing=f"{kind}: {brought.pk} at {now.isoformat()}",
        job=None,
        kind=kind,
        state=JobState.DONE,
        audit=audit.name if audit else None,
        url=address_of(route, brought.project.name, name),
        now=now,
    )


def _import_tell(*, project: Project, thing: str, now: datetime, **data: object) -> None:
    message_write(project=project, kind=WebhookKind.IMPORT_FINISHED, thing=thing, data=data, now=now)
