"""An owner sees what would go, then lets it go: by a worker, with a log."""

import pytest
from django.test import Client

from adjudication.services.retention import TEXTS_DROPPED
from audits.models import Audit, Job, JobState
from audits.services.working import job_run
from core.models import Event, Project
from judges.models import Blob
from tests.audits.views.conftest import NOW, People, client_of

pytestmark = pytest.mark.django_db
HERE, ALL = "/p/alpha/retention", "2100-01-01"


@pytest.fixture
def owner(people: People) -> Client:
    return client_of(people["owner"])


def asked(owner: Client, do: str, **more: str) -> Job:
    """What the form asks for, done."""
    answer = owner.post(HERE, {"before": ALL, "do": do, **more})
    job = Job.objects.latest("pk")
    assert answer["Location"] == f"/p/alpha/jobs/{job.pk}"
    job_run(job=job.pk, clock=lambda: NOW)
    job.refresh_from_db()
    return job


def page(owner: Client, path: str = HERE) -> str:
    return " ".join(owner.get(path).content.decode().split())


def test_owner_sees_what_would_go_before_anything_goes(owner: Client, registered: Audit, people: People) -> None:
    assert "Nothing yet." in page(owner)
    there = Blob.objects.count()
    refused = owner.post(HERE, {"before": ALL, "do": "drop"})
    assert (refused.status_code, "nobody has seen yet what would go" in refused.content.decode()) == (409, True)
    job = asked(owner, "look")
    waiting = registered.queue.items.count()
    says = f"bytes) loaded before {ALL} would be dropped; undecided items that lose one: {waiting} in swap-1"
    assert (job.outcome.startswith(f"{there:,} texts ("), job.outcome.endswith(says)) == (True, True)
    assert job.outcome in page(owner, f"/p/alpha/jobs/{job.pk}")
    assert job.outcome in page(owner)
    assert (Blob.objects.count(), Event.objects.filter(name=TEXTS_DROPPED).exists()) == (there, False)
    kept = asked(owner, "drop")
    assert (kept.state, Blob.objects.count()) == (JobState.REFUSED, there)
    shown = page(owner, f"/p/alpha/jobs/{kept.pk}")
    assert f"people still have to read some of these texts: undecided items, {waiting} in swap-1" in shown
    assert "No text was dropped." in shown
    gone = asked(owner, "drop", despite_undecided="on")
    assert (gone.state, Blob.objects.count()) == (JobState.DONE, 0)
    entry = Event.objects.get(name=TEXTS_DROPPED)
    assert (entry.actor, entry.payload["texts"]) == (people["owner"], there)
    row = f'<td><bdi>owner-1</bdi></td><td class="time">{ALL}</td><td class="number">{there:,}</td>'
    assert row in page(owner)


def test_day_that_is_none_is_refused_in_words(owner: Client, project: Project) -> None:
    answer = owner.post(HERE, {"before": "soon", "do": "look"})
    assert (answer.status_code, "before: no day" in answer.content.decode(), Job.objects.exists()) == (422, True, False)
