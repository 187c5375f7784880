"""Anchor sets and packets by the API: made, listed, fetched, taken in elsewhere, as the pages have them."""

import hashlib
import io
import json
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from adjudication.models import Queue
from audits.models import AnchorSet, Audit, Job
from audits.services.working import job_run
from core.models import Project, Scope
from tests import factories

pytestmark = pytest.mark.django_db

SCOPES = (Scope.INTAKE, Scope.AUDITS_READ, Scope.AUDITS_WRITE, Scope.EXPORTS_READ)


def client_of(project: Project) -> Client:
    return Client(headers={"Authorization": f"Bearer {factories.make_token(project, *SCOPES).key}"})


@pytest.fixture
def audit(settings: Any, tmp_path: Any) -> Audit:
    settings.VAR_DIR = tmp_path / "var"
    audit = factories.registered(factories.make_project(), ["a", "b"])
    for case in ("a", "b"):
        factories.settle(audit.queue, case)
    return audit


def done(answer: Any) -> Job:
    """The job of a 202, after a worker had it."""
    assert answer.status_code == 202, answer.json()
    job_run(job=answer.json()["number"], clock=timezone.now)
    return Job.objects.get(pk=answer.json()["number"])


def test_set_is_made_listed_fetched_and_taken_in_unchanged_elsewhere(audit: Audit) -> None:
    here, there = "/api/v1/projects/p", "/api/v1/projects/other"
    client = client_of(audit.project)
    asked = {"name": "gold", "licence": "CC0-1.0"}
    job = done(client.post(f"{here}/audits/{audit.name}/anchor-sets", asked, content_type="application/json"))
    assert job.state == "done", job.problems
    (listed,) = client.get(f"{here}/anchor-sets").json()["results"]
    made = AnchorSet.objects.get()
    assert (listed["name"], listed["version"], listed["anchors"], listed["audit"]) == ("gold", 1, 2, audit.name)
    whole = client.get(f"{here}/anchor-sets/{made.pk}").json()
    assert whole["anchor_set"] == listed
    assert whole["card"] == json.loads(made.card_text)
    assert whole["monitored"]["anchors"] == 2

    asked = {"name": "first", "purpose": "practice"}
    job = done(client.post(f"{here}/anchor-sets/{made.pk}/known-set", asked, content_type="application/json"))
    assert client.get(f"{here}/jobs/{job.pk}").json()["outcome"] == (
        "first: 2 cases added from anchor set gold version 1, 0 there already."
    )
    assert Queue.objects.get(name="first").purpose == "practice"

    files = {kind: client.get(f"{here}/anchor-sets/{made.pk}/{kind}") for kind in ("anchors.jsonl", "card.json")}
    sent = {name: SimpleUploadedFile(f"gold.{name}", answer.getvalue()) for name, answer in files.items()}
    other = client_of(factories.make_project("other"))
    taken = done(other.post(f"{there}/anchor-sets", {"file": sent["anchors.jsonl"], "card": sent["card.json"]}))
    assert taken.state == "done", taken.problems
    assert set(AnchorSet.objects.values_list("content_hash", flat=True)) == {made.content_hash}
    assert AnchorSet.objects.count() == 2
    again = client.post(
        f"{here}/audits/{audit.name}/anchor-sets", {"name": "a@b", "licence": " "}, content_type="application/json"
    )
    assert (again.status_code, {one["key"] for one in again.json()["errors"]}) == (422, {"name", "licence"})
    assert client.get(f"{here}/anchor-sets/{made.pk}/anchors.xls").status_code == 404
    assert other.post(f"{there}/anchor-sets", {}).status_code == 422


def test_packet_is_asked_for_and_fetched(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*, path: Any, **_: object) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("README.md", "a packet")

    monkeypatch.setattr("audits.services.working.packet_write", write)
    client, here = client_of(audit.project), "/api/v1/projects/p"
    job = done(client.post(f"{here}/audits/{audit.name}/packet", {}, content_type="application/json"))
    assert client.get(f"{here}/jobs/{job.pk}").json()["packet"] is True
    answer = client.get(f"{here}/jobs/{job.pk}/packet.zip")
    content = answer.getvalue()
    assert answer["Content-Disposition"] == 'attachment; filename="swap-1-packet.zip"'
    assert zipfile.ZipFile(io.BytesIO(content)).namelist() == ["README.md"]
    page = client_on_pages(audit).get(f"/p/p/jobs/{job.pk}/packet.zip")
    assert hashlib.sha256(page.getvalue()).digest() == hashlib.sha256(content).digest()


def client_on_pages(audit: Audit) -> Client:
    client = Client()
    client.force_login(factories.make_person(audit.project, "lea", "lead").user)
    return client
