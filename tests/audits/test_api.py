"""A pipeline's way through the API, from the manifest to the anchors, and a lead's decisions."""

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from audits.models import Audit, Job
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from audits.services.working import job_run
from audits.synthetic import synthetic_project
from core.models import Event, Project, Role, Scope, WebhookMessage
from core.webhooks import webhook_make
from judges.intake.specs import Join, ReviewColumns, ReviewSource
from tests import factories

pytestmark = pytest.mark.django_db
HERE = "/api/v1/projects/p"
SCOPES = (Scope.INTAKE, Scope.AUDITS_READ, Scope.AUDITS_WRITE, Scope.EXPORTS_READ)


@pytest.fixture(autouse=True)
def _own_uploads(tmp_path: Path, settings: Any) -> None:
    settings.VAR_DIR = tmp_path / "var"


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def pipeline(project: Project) -> Client:
    return Client(headers={"Authorization": f"Bearer {factories.make_token(project, *SCOPES).key}"})


@pytest.fixture
def lead(project: Project) -> Client:
    client = Client()
    client.force_login(factories.make_person(project, "lea", Role.LEAD).user)
    return client


@pytest.fixture
def audit(project: Project) -> Audit:
    verdicts = {f"c{n}": ("Yes", "No" if n % 2 else "Yes") for n in range(8)}
    audit = factories.make_audit(factories.make_swap(project, verdicts))
    audit_register(audit=audit, actor=factories.operator(audit), now=factories.NOW)
    return audit


def send(client: Client, path: str, body: Any) -> HttpResponse:
    answer: HttpResponse = client.post(f"{HERE}{path}", body, content_type="application/json")
    return answer


def sent_files(folder: Path) -> dict[str, Any]:
    """A manifest and its files, as a client sends them."""
    files = sorted(path for path in folder.iterdir() if path.suffix != ".yaml")
    (manifest,) = folder.glob("*.yaml")
    uploads = [SimpleUploadedFile(path.name, path.read_bytes()) for path in files]
    return {"manifest": SimpleUploadedFile(manifest.name, manifest.read_bytes()), "files": uploads}


def work(answer: HttpResponse) -> dict[str, Any]:
    """Do what was asked for, as a worker does, and say how it ended."""
    assert answer.status_code == 202, answer.content
    job_run(job=answer.json()["number"], clock=timezone.now)
    ended: dict[str, Any] = answer.client.get(answer["Location"]).json()
    return ended


def test_pipeline_goes_from_manifest_to_anchors(pipeline: Client, project: Project, tmp_path: Path) -> None:
    path = synthetic_project(tmp_path / "swap-1", name="swap-1", project="p", seed="5", number=40)
    job = work(pipeline.post(f"{HERE}/intakes", sent_files(path.parent)))
    assert (job["state"], job["audit"], job["problems"], job["asked_by"]) == (
        "done",
        "swap-1",
        [],
        "pipeline: nightly",
    )
    assert pipeline.get(f"{HERE}/audits/swap-1/manifest").content == path.read_bytes()
    assert pipeline.get(f"{HERE}/audits/swap-1/integrity").json()["passed"] is True
    assert pipeline.get(f"{HERE}/audits/swap-1/transitions").json()["labels"]
    assert pipeline.get(f"{HERE}/audits/swap-1/plan").json()["registrations"] == []
    assert work(send(pipeline, "/audits/swap-1/register", {}))["state"] == "done"
    audit = Audit.objects.get()
    for item in audit.queue.items.values_list("case__case_id", flat=True):
        factories.settle(audit.queue, item)
    looks_bring_up_to_date(audit=audit, clock=timezone.now)
    (look,) = pipeline.get(f"{HERE}/audits/swap-1/looks").json()["results"]
    whole = pipeline.get(f"{HERE}/audits/swap-1/looks/{look['number']}").json()
    assert (whole["result"]["n"], look["watermark"]) == (look["labels"], whole["watermark"])
    assert look["integrity"].startswith("Integrity: ")
    assert whole["integrity"]["passed"] is True
    standing = pipeline.get(f"{HERE}/audits/swap-1").json()
    assert standing["integrity"].startswith("Integrity: ")
    assert standing["settled"] == standing["drawn"] == look["watermark"]
    anchors = b"".join(pipeline.get(f"{HERE}/audits/swap-1/anchors.csv").streaming_content).decode()
    assert len(list(csv.DictReader(io.StringIO(anchors)))) == look["watermark"]
    assert pipeline.get(f"{HERE}/audits/swap-1/report").json()["result"] == whole["result"]
    assert pipeline.get(f"{HERE}/audits/swap-1/verdict").json()["met"] is False
    named = Event.objects.filter(name="audits.job-asked").values_list("actor__pseudonym", flat=True)
    assert set(named) == {"pipeline: nightly"}


def test_refused_intake_says_where_and_what_is_allowed(pipeline: Client, tmp_path: Path) -> None:
    path = synthetic_project(tmp_path / "swap-1", name="swap-1", project="p", seed="5", number=4)
    path.write_text(path.read_text().replace("judge_swap", "judge_swop"))
    job = work(pipeline.post(f"{HERE}/intakes", sent_files(path.parent)))
    assert (job["state"], job["audit"]) == ("refused", None)
    assert {"key", "what"} <= set(job["problems"][0])


def test_same_upload_packed_otherwise_is_done_once(pipeline: Client, tmp_path: Path) -> None:
    path = synthetic_project(tmp_path / "swap-1", name="swap-1", project="p", seed="5", number=4)
    for _ in range(2):
        headers = {"Idempotency-Key": "night 1"}
        assert pipeline.post(f"{HERE}/intakes", sent_files(path.parent), headers=headers).status_code == 202
    assert Job.objects.count() == 1
    other = sent_files(path.parent) | {"good_rows": "true"}
    assert pipeline.post(f"{HERE}/intakes", other, headers=headers).status_code == 422


def test_intake_is_cancelled_until_it_has_opened_its_audit(pipeline: Client, tmp_path: Path) -> None:
    path = synthetic_project(tmp_path / "swap-1", name="swap-1", project="p", seed="5", number=4)
    job = pipeline.post(f"{HERE}/intakes", sent_files(path.parent)).json()["number"]
    assert send(pipeline, f"/jobs/{job}/cancel", None).json()["state"] == "cancelled"
    assert send(pipeline, f"/jobs/{job}/cancel", None).status_code == 409


def test_good_rows_are_taken_and_the_others_fetched(pipeline: Client, tmp_path: Path) -> None:
    path = synthetic_project(tmp_path / "swap-1", name="swap-1", project="p", seed="5", number=20)
    labels = path.with_name("baseline.csv")
    labels.write_text(labels.read_text() + "no-such-case,Yes\n")
    job = work(pipeline.post(f"{HERE}/intakes", sent_files(path.parent) | {"good_rows": "true"}))
    assert (job["state"], job["refused_rows"]) == ("done", True)
    refused = b"".join(pipeline.get(f"{HERE}/jobs/{job['number']}/refused.csv").streaming_content).decode()
    assert "baseline.csv" in refused


def test_sample_is_extended_as_on_the_page(pipeline: Client, project: Project) -> None:
    verdicts = {f"c{n}": ("Yes", "No" if n % 2 else "Yes") for n in range(200)}
    plan = {"allocation": {"agree": 30, "disagree": 30}}
    audit = factories.make_audit(factories.make_swap(project, verdicts), plan=plan)
    assert send(pipeline, "/audits/swap-1/extend", {"labels": {"agree": 31}}).status_code == 409
    audit_register(audit=audit, actor=factories.operator(audit), now=factories.NOW)
    (wrong,) = send(pipeline, "/audits/swap-1/extend", {"labels": {"agree": 101}}).json()["errors"]
    assert wrong["allowed"] == "a whole number from 30 (drawn already) to 100"
    assert work(send(pipeline, "/audits/swap-1/extend", {"labels": {"agree": 32}}))["state"] == "done"
    drawn = [one["labels"] for one in pipeline.get(f"{HERE}/audits/swap-1/plan").json()["registrations"]]
    assert drawn == [{"agree": 30, "disagree": 30}, {"agree": 32, "disagree": 30}]


def test_lists_are_filtered(pipeline: Client, audit: Audit) -> None:
    found = [pipeline.get(f"{HERE}/audits?{query}") for query in ("state=registered", "state=draft", "kind=x")]
    assert [len(answer.json().get("results", [])) for answer in found] == [1, 0, 0]
    assert found[2].status_code == 422
    pairs = pipeline.get(f"{HERE}/audits/swap-1/pairs?state=disagree").json()["results"]
    assert [pair["case_id"] for pair in pairs] == ["c1", "c3", "c5", "c7"]
    assert pipeline.get(f"{HERE}/audits/swap-1/pairs?case=c2").json()["results"][0]["state"] == "agree"
    assert pipeline.get(f"{HERE}/audits/swap-1/pairs?cursor=x").status_code == 422
    assert pipeline.get(f"{HERE}/audits/swap-1/caches").json()[0]["side"] == "old"
    read = pipeline.get(f"{HERE}/audits/swap-1/readers?side=baseline&parser=exact-label@1")
    assert read.status_code == 200


def test_lead_diagnoses_and_signs_and_a_pipeline_does_not(lead: Client, pipeline: Client, audit: Audit) -> None:
    factories.settle(audit.queue, "c1", "fail")
    (case,) = lead.get(f"{HERE}/audits/swap-1/diagnoses").json()["results"]
    said = {"case_id": "c1", "revision": 0, "code": "", "kind": "repair", "words": "the old judge was kind"}
    assert send(pipeline, "/audits/swap-1/diagnoses", said).status_code == 403
    (problem,) = send(lead, "/audits/swap-1/diagnoses", said).json()["errors"]
    code = problem["allowed"].split(", ")[0]
    made = send(lead, "/audits/swap-1/diagnoses", said | {"code": code})
    assert (made.status_code, made.json()["diagnosis"]["by"], case["diagnosis"]) == (201, "p-lea", None)
    assert send(lead, "/audits/swap-1/diagnoses", said | {"code": code}).status_code == 409
    assert send(lead, "/audits/swap-1/diagnoses", said | {"case_id": "none"}).status_code == 404
    sign = {"seen": 0, "kind": "meaning changes", "words": "agreed"}
    assert send(pipeline, "/audits/swap-1/sign-offs", sign).status_code == 403
    signed = send(lead, "/audits/swap-1/sign-offs", sign)
    assert (signed.status_code, signed.json()["sign_offs"][0]["by"], signed.json()["seen"]) == (201, "p-lea", 1)
    assert send(lead, "/audits/swap-1/sign-offs", sign).status_code == 409
    outside = {"seen": 0, "consumers": "the dashboard"}
    stated = send(lead, "/audits/swap-1/inventory", outside)
    said = stated.json()["inventory"]
    assert (stated.status_code, said["n"], said["consumers"], said["by"]) == (201, 1, "the dashboard", "p-lea")
    assert send(lead, "/audits/swap-1/inventory", outside).status_code == 409


def test_sealed_holdout_is_opened_by_a_person_for_a_reason(lead: Client, pipeline: Client, project: Project) -> None:
    comparison = factories.make_swap(project, {"a": ("Yes", "No")}, partition="holdout")
    factories.make_audit(comparison)
    assert lead.get(f"{HERE}/audits/swap-1/pairs").status_code == 409
    assert send(pipeline, "/audits/swap-1/holdout", {"reason": "x"}).status_code == 403
    assert send(lead, "/audits/swap-1/holdout", {"reason": " "}).status_code == 422
    opened = send(lead, "/audits/swap-1/holdout", {"reason": "it failed in production"})
    assert (opened.status_code, opened.json()["holdout"]["sealed"]) == (201, False)
    assert lead.get(f"{HERE}/audits/swap-1/pairs").status_code == 200


def test_label_file_is_taken_in_as_the_manifest_says(pipeline: Client, project: Project, tmp_path: Path) -> None:
    path = synthetic_project(tmp_path / "swap-1", name="swap-1", project="p", seed="5", number=40)
    work(pipeline.post(f"{HERE}/intakes", sent_files(path.parent)))
    assert pipeline.post(f"{HERE}/audits/swap-1/labels", {}).status_code == 422
    nothing = pipeline.post(f"{HERE}/audits/swap-1/labels", {"files": SimpleUploadedFile("x.csv", b"a\n")})
    assert nothing.status_code == 409  # a draft


def label_file(audit: Audit) -> dict[str, Any]:
    """A label for each drawn case, as the audit's manifest would describe it."""
    sides = {"both": ReviewColumns({"ann": "ann"})}
    source = asdict(ReviewSource("labels.csv", "csv", "minimal", Join("id"), "table-2@1", sides))
    Audit.objects.filter(pk=audit.pk).update(review=audit.review | {"sources": [source]})
    rows = "".join(f"{case},Yes\n" for case in audit.draws.values_list("case__case_id", flat=True))
    return {"files": SimpleUploadedFile("labels.csv", f"id,ann\n{rows}".encode()), "scope": "drawn only"}


def test_label_file_that_would_keep_its_sender_waiting_is_taken_in_by_a_worker(
    pipeline: Client, audit: Audit, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, actor = f"{HERE}/audits/swap-1/labels", factories.operator(audit)
    webhook_make(url="https://ci.example/", kinds=["import.finished"], actor=actor, now=factories.NOW)
    assert pipeline.post(here, label_file(audit)).json()["reviews"] == 8
    monkeypatch.setattr("audits.api.exports.AT_ONCE", 20)
    answer = pipeline.post(here, label_file(audit))
    assert len(list((settings.VAR_DIR / "uploads").iterdir())) == 1
    job = work(answer)
    assert (job["state"], job["kind"], job["audit"]) == ("done", "labels", "swap-1"), job
    assert job["outcome"] == "0 reviews and 0 final decisions stored, 8 reviews there already."
    assert list((settings.VAR_DIR / "uploads").iterdir()) == []
    told = [(one["job"], one["state"]) for one in WebhookMessage.objects.order_by("pk").values_list("data", flat=True)]
    assert told == [(None, "done"), (job["number"], "done")]
    settings.UPLOAD_LIMIT = 100
    assert (pipeline.post(here, label_file(audit)).status_code, Job.objects.count()) == (413, 1)


@pytest.fixture
def skipped(audit: Audit) -> Iterator[Any]:
    ann = factories.make_person(audit.project, "ann")
    client = Client()
    client.force_login(ann.user)
    token = send(client, "/desk/next", {}).json()["case"]["token"]
    assert send(client, f"/desk/{token}/skip", {"reason": "I wrote it"}).status_code == 204
    return client


def test_skipped_case_is_served_again(pipeline: Client, skipped: Client) -> None:
    (skip,) = pipeline.get(f"{HERE}/skips").json()["results"]
    assert (skip["by"], skip["reason"]) == ("p-ann", "I wrote it")
    assert send(pipeline, "/skips/lift", {"items": [skip["item"], 10**12]}).json() == {"lifted": 1}
    assert pipeline.get(f"{HERE}/skips").json()["results"] == []


def test_owner_names_and_retires_reasons(project: Project) -> None:
    owner = Client()
    owner.force_login(factories.make_person(project, "o", Role.OWNER).user)
    new = {"code": "outdated source", "stage": "desk", "owner": "rubric"}
    made = send(owner, "/reason-codes", new)
    assert made.status_code == 201, made.content
    assert send(owner, "/reason-codes", new).status_code == 409
    place = {"stage": "retired", "owner": "rubric", "revision": 1}
    assert send(owner, f"/reason-codes/{made.json()['number']}", place).json()["revision"] == 2
    assert send(owner, f"/reason-codes/{made.json()['number']}", place).status_code == 409
