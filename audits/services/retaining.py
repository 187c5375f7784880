"""Retention as work that owners ask for on a page: first what would go, then that it goes."""

from datetime import datetime

from adjudication.services.retention import day_of
from audits.models import Job, JobKind, JobState
from audits.services.jobs import job_ask
from core.access import require_role
from core.errors import Problem, Refused
from core.models import Author, Role


def retention_ask(*, before: str, drop: bool, despite_undecided: bool, actor: Author, now: datetime) -> Job:
    """Ask a worker what dropping the texts of loads before a day would do; or, once that was seen, to drop them."""
    require_role(actor, Role.OWNER)
    day = day_of(before).date().isoformat()
    asked = {"before": day, "drop": drop, "despite_undecided": drop and despite_undecided}
    seen = Job.objects.filter(project=actor.project, kind=JobKind.RETENTION, state=JobState.DONE)
    if drop and not seen.filter(asked__before=day, asked__drop=False).exists():
        raise Refused(Problem("nobody has seen yet what would go", key="before", value=day, allowed="a dry run first"))
    return job_ask(kind=JobKind.RETENTION, actor=actor, now=now, asked=asked)
