"""Files without a manifest: looked at, changed, and opened from the manifest that came of it."""

import os
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from audits.models import Audit, Job, JobState
from audits.services.working import job_run
from audits.tasks import jobs_sweep
from core.models import Project, Role
from judges.models import CaseSet, Mapping
from tests import factories
from tests.audits.views.conftest import NOW, People, client_of

pytestmark = pytest.mark.django_db

FILES = {
    "a_cases.csv": "id,question,answer\na,who,<script>alert(1)</script>\nb,when,now\nc,what,that\n",
    "b_old.csv": "id,verdict\na,Yes\nb,No\nc,Yes\n",
    "c_new.csv": "id,verdict\na,No\nb,No\nc,Maybe\n",
    "guide.md": "Is it right?",
}


def send(client: Client, files: dict[str, str] = FILES) -> HttpResponse:
    sent = [SimpleUploadedFile(name, content.encode()) for name, content in files.items()]
    answer: HttpResponse = client.post("/p/alpha/previews", {"files": sent})
    return answer


@pytest.fixture
def address(lead: Client, project: Project) -> str:
    return str(send(lead)["Location"])


def words(answer: HttpResponse) -> str:
    return " ".join(answer.content.decode().split())


def test_page_shows_guessed_roles_first_rows_and_covered_labels_and_stores_nothing(lead: Client, address: str) -> None:
    page = lead.get(address)
    text = words(page)
    assert page.status_code == 200
    assert '<option value="answer" selected>answer</option>' in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "Every label that was seen is covered." in text
    assert "Judgments of candidate, from c_new.csv" in text
    assert not any(model.objects.exists() for model in (Job, Audit, CaseSet, Mapping))


def test_changed_roles_and_targets_stand_in_the_manifest_and_the_rows_follow(lead: Client, address: str) -> None:
    manifest = lead.get(address).context["preview"].text
    answer = lead.post(
        address,
        {
            "manifest": manifest,
            "do": "read",
            "role:sources[0]:output": "question",
            "raw:labels@1:0": "Maybe",
            "target:labels@1:0": "",
        },
    )
    preview = answer.context["preview"]
    assert preview.sources[0].rows[0] == (1, ("a", "who", "who"))
    assert "1 label without a target: unmapped, which counts as nothing." in words(answer)


def test_audit_opens_from_the_manifest_on_the_page(lead: Client, address: str) -> None:
    manifest = lead.get(address).context["preview"].text
    answer = lead.post(address, {"manifest": manifest.replace("new-audit", "mine"), "do": "open"})
    job = Job.objects.get()
    assert answer["Location"] == f"/p/alpha/jobs/{job.pk}"
    job_run(job=job.pk, clock=lambda: NOW)
    job.refresh_from_db()
    assert (job.state, job.audit.name) == (JobState.DONE, "mine")
    assert Mapping.objects.get().table == {"No": "No", "Yes": "Yes", "Maybe": "Maybe"}
    assert lead.get(address).status_code == 404


def test_label_that_nobody_gave_is_asked_about_on_the_page(lead: Client, address: str) -> None:
    manifest = lead.get(address).context["preview"].text.replace("      Maybe: Maybe\n", "      Mabye: Maybe\n")
    text = words(lead.post(address, {"manifest": manifest, "do": "read"}))
    assert "The mapping names what none of these rows has: Mabye. Rare, or misspelled?" in text
    assert "The mapping names" not in words(lead.get(address))


def test_manifest_with_a_fault_is_shown_and_not_opened(lead: Client, address: str) -> None:
    manifest = lead.get(address).context["preview"].text.replace("policy: monitored", "policy: montored")
    answer = lead.post(address, {"manifest": manifest, "do": "open"})
    assert "plan.policy: not an allowed value (found &#x27;montored&#x27;)" in words(answer)
    assert not Job.objects.exists()


def test_manifest_can_be_downloaded_for_reuse(lead: Client, address: str) -> None:
    manifest = lead.get(address).context["preview"].text
    answer = lead.post(address, {"manifest": manifest, "do": "download"})
    assert answer["Content-Disposition"] == 'attachment; filename="manifest.yaml"'
    assert answer.content.decode() == manifest


@pytest.mark.parametrize(
    "text", ["", "- a\n", "a: [1", "sources: [{file: a_cases.csv}]", "sources: x\nreviews: {a: b}"]
)
def test_text_that_is_no_manifest_is_told_and_never_breaks_the_page(lead: Client, address: str, text: str) -> None:
    answer = lead.post(address, {"manifest": text, "do": "read", "role:sources[0]:output": "answer"})
    assert answer.status_code == 200
    assert "The manifest cannot be taken as it is" in words(answer)


def test_file_of_the_server_is_out_of_reach_of_a_manifest(lead: Client, address: str) -> None:
    manifest = lead.get(address).context["preview"].text
    secret = settings.VAR_DIR / "secret.csv"
    secret.write_text("id,question,answer\nx,y,planted-in-the-file\n")
    for name in (str(secret), "../../secret.csv", "../secret.csv"):
        answer = lead.post(address, {"manifest": manifest.replace("a_cases.csv", name), "do": "read"})
        assert "planted-in-the-file" not in answer.content.decode()


def test_preview_of_another_project_is_not_there(people: People, address: str) -> None:
    elsewhere = factories.make_person(Project.objects.get(name="beta"), "lin", Role.LEAD)
    answer = client_of(elsewhere).get(address.replace("/p/alpha/", "/p/beta/"))
    assert answer.status_code == 404


@pytest.mark.parametrize("token", ["x", "1-preview-..", "1-preview-" + "a" * 24])
def test_preview_that_was_never_sent_is_not_there(lead: Client, project: Project, token: str) -> None:
    assert lead.get(f"/p/alpha/previews/{token.replace('1-', f'{project.pk}-', 1)}").status_code == 404


def test_form_without_a_file_and_one_above_the_limit_are_refused(lead: Client, settings: object) -> None:
    assert send(lead, {}).status_code == 422
    settings.UPLOAD_LIMIT = 100  # type: ignore[attr-defined]
    assert send(lead).status_code == 413


def test_previews_of_earlier_days_are_swept_away(lead: Client, address: str) -> None:
    (folder,) = (settings.VAR_DIR / "uploads").iterdir()
    old = timezone.now().timestamp() - 2 * 24 * 60 * 60
    os.utime(folder, (old, old))
    assert send(lead).status_code == 302
    jobs_sweep()
    assert folder not in list((settings.VAR_DIR / "uploads").iterdir())
    assert len(list(Path(settings.VAR_DIR / "uploads").iterdir())) == 1


def test_manifest_can_be_mended_and_tried_again_after_its_intake_was_refused(lead: Client, address: str) -> None:
    manifest = lead.get(address).context["preview"].text.replace("new-audit", "mine")
    lead.post(address, {"manifest": manifest.replace("project: alpha", "project: beta"), "do": "open"})
    job = Job.objects.get()
    job_run(job=job.pk, clock=lambda: NOW)
    job.refresh_from_db()
    assert job.state == JobState.REFUSED
    assert f'href="{address}">Change the manifest and try again' in words(lead.get(f"/p/alpha/jobs/{job.pk}"))
    kept = lead.get(address).context["preview"].text
    assert kept == manifest.replace("project: alpha", "project: beta")
    lead.post(address, {"manifest": manifest, "do": "open"})
    again = Job.objects.exclude(pk=job.pk).get()
    job_run(job=again.pk, clock=lambda: NOW)
    again.refresh_from_db()
    assert (again.state, again.audit.name) == (JobState.DONE, "mine")
    assert lead.get(address).status_code == 404
    assert "Change the manifest" not in words(lead.get(f"/p/alpha/jobs/{job.pk}"))


def test_good_rows_of_a_preview_are_taken_where_the_page_says_so(lead: Client, project: Project) -> None:
    address = str(send(lead, FILES | {"c_new.csv": "id,verdict\na,No\nb,No\nc,Maybe\nd,Yes\n"})["Location"])
    page = lead.get(address)
    assert 'name="good_rows"' in words(page)
    lead.post(address, {"manifest": page.context["preview"].text, "do": "open", "good_rows": "on"})
    job = Job.objects.get()
    job_run(job=job.pk, clock=lambda: NOW)
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert b",d,no case has this id," in b"".join(lead.get(f"/p/alpha/jobs/{job.pk}/refused.csv"))  # type: ignore[arg-type]
