"""What webhooks are told of audits, each in the transaction that makes it so.

No message holds a number or a word of anybody's: it says where whoever may read them finds them.
"""

from datetime import datetime

from django.db.models import Exists, OuterRef
from django.urls import reverse

from adjudication.models import Settlement
from audits.models import Job, JobKind, Look
from audits.plans import target_reached
from core.models import WebhookKind
from core.webhooks import is_anybody_told, message_write

IMPORTS = (JobKind.INTAKE, JobKind.TAKE_ANCHORS)


def look_tell(*, look: Look, now: datetime) -> None:
    """The look, and what it is the first of its registration to see. After the final look of a `monitored` audit there
    is none, and nothing more is told of it."""
    audit, registration = look.audit, look.registration
    if not is_anybody_told(audit.project):  # the draws are not read again for nobody
        return
    where = {
        "audit": audit.name,
        "registration": registration.n,
        "look": look.pk,
        "url": reverse("audits-api:look", args=[audit.project.name, audit.name, look.pk]),
    }
    sample = f"registration {registration.n} of audit {audit.pk}"
    told = [(WebhookKind.LOOK_COMPUTED, f"look {look.pk}")]
    if target_reached(audit.plan, look.result):
        told.append((WebhookKind.TARGET_REACHED, sample))
    if _has_seen_all(look):
        told.append((WebhookKind.AUDIT_SETTLED, sample))
    for kind, thing in told:
        message_write(project=audit.project, kind=kind, thing=thing, data=where, now=now)


def _has_seen_all(look: Look) -> bool:
    """Whether every case drawn until its registration was settled by its watermark."""
    if look.watermark < sum(look.registration.labels.values()):
        return False
    settled = Settlement.objects.filter(item=OuterRef("item"), number__lte=look.watermark)
    drawn = look.audit.draws.filter(registration__n__lte=look.registration.n)
    return not drawn.filter(~Exists(settled)).exists()


def import_tell(*, job: Job, now: datetime) -> None:
    """How an import has ended; all other work is told of by what it brings."""
    if job.kind not in IMPORTS:
        return
    data = {
        "job": job.pk,
        "kind": job.kind,
        "state": job.state,
        "audit": job.audit.name if job.audit else None,
        "url": reverse("audits-api:job", args=[job.project.name, job.pk]),
    }
    message_write(project=job.project, kind=WebhookKind.IMPORT_FINISHED, thing=f"job {job.pk}", data=data, now=now)
