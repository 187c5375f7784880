"""An owner sees what would go, then lets it go: by a worker, with a log."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from adjudication.services.retention import TEXTS_DROPPED
from audits.api.shapes import JobAnswer
from audits.models import Audit, Job, JobState
from audits.services.working import job_run
from core.models import Event, Project
from core.services import operator_of
from core.tokens import person_token_make
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


def test_program_sees_and_drops_by_the_api_with_its_owners_token(registered: Audit, people: People) -> None:
    owner, now = people["owner"], timezone.now()
    key = person_token_make(author=owner, scopes=["decide"], days=1, actor=operator_of(registered.project), now=now)[1]
    program, here = Client(headers={"Authorization": f"Bearer {key}"}), "/api/v1/projects/alpha"
    there = Blob.objects.count()

    def asked(**given: object) -> tuple[int, dict[str, Any]]:
        answer = program.post(f"{here}/retention", {"before": ALL, **given}, content_type="application/json")
        if answer.status_code != 202:
            return answer.status_code, answer.json()
        job_run(job=answer.json()["number"], clock=lambda: NOW)
        return 202, JobAnswer.of(Job.objects.latest("pk")).__dict__

    assert asked(drop=True)[0] == 409
    assert asked()[1]["outcome"].startswith(f"{there:,} texts (")
    assert asked(drop=True)[1]["state"] == "refused"
    assert (asked(drop=True, despite_undecided=True)[1]["state"], Blob.objects.count()) == ("done", 0)
    (row,) = program.get(f"{here}/retention").json()["results"]
    assert (row["by"], row["texts"], row["before"][:10]) == ("owner-1", there, ALL)
