"""What the page about the retention of texts shows."""

from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from adjudication.services.retention import TEXTS_DROPPED
from audits.models import Job, JobKind, JobState
from core.models import Event, Project

SHOWN = 20


def retention_context(project: Project) -> dict[str, Any]:
    """The last dry runs, and every time that texts were dropped, by whomever."""
    jobs = Job.objects.filter(project=project, kind=JobKind.RETENTION, state=JobState.DONE, asked__drop=False)
    return {
        "dry_runs": list(jobs.select_related("actor").order_by("-pk")[:SHOWN]),
        "log": list(texts_dropped(project)[:SHOWN]),
        "shown": SHOWN,
        "here": reverse("audits:retention", args=[project.name]),
    }


def texts_dropped(project: Project) -> QuerySet[Event]:
    """The latest first."""
    return Event.objects.filter(project=project, name=TEXTS_DROPPED).select_related("actor").order_by("-pk")
