"""A manifest and its files, sent by a browser: taken in by a worker, or refused with everything that is wrong."""

import html
import os
import re
import time
from io import BytesIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from audits.models import Audit, Job, JobState
from audits.services.jobs import jobs_unattended
from audits.services.uploads import kept_files_sweep, refused_keep, refused_path
from audits.services.working import job_run
from audits.synthetic import synthetic_project
from core.bodies import whole_bodies
from core.models import Event, Project
from judges.models import CaseSet
from tests.audits.views.conftest import CASES, NOW, People

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(project: Project, tmp_path: Path) -> Path:
    """The folder with a sound manifest and its files."""
    return synthetic_project(tmp_path / "sent", name="from-page", project="alpha", seed="5", number=CASES).parent


def send(client: Client, folder: Path, names: dict[str, str] | None = None, **more: str) -> HttpResponse:
    """Post the form; `names` sends a file under another name."""
    manifest = (folder / "manifest.yaml").read_bytes()
    files = [
        SimpleUploadedFile((names or {}).get(path.name, path.name), path.read_bytes())
        for path in sorted(folder.iterdir())
        if path.name != "manifest.yaml"
    ]
    answer: HttpResponse = client.post(
        "/p/alpha/audits/new", {"manifest": SimpleUploadedFile("manifest.yaml", manifest), "files": files, **more}
    )
    return answer


def run(job: Job) -> Job:
    job_run(job=job.pk, clock=lambda: NOW)
    job.refresh_from_db()
    return job


def kept_files() -> list[str]:
    root = settings.VAR_DIR / "uploads"
    return sorted(str(path.relative_to(root)) for path in root.rglob("*")) if root.exists() else []


def test_request_only_keeps_the_files_and_asks_for_the_work(lead: Client, sent: Path) -> None:
    answer = send(lead, sent)
    job = Job.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/p/alpha/jobs/{job.pk}")
    assert job.state == JobState.WAITING
    assert [Path(name).name for name in kept_files()][1:] == [
        "baseline.csv",
        "candidate-again.csv",
        "candidate.csv",
        "cases.tsv",
        "guideline.md",
        "manifest.yaml",
    ]
    assert not Audit.objects.exists()


def test_audit_is_opened_by_the_lead_who_sent_it_and_the_files_go(lead: Client, sent: Path, people: People) -> None:
    send(lead, sent)
    job = run(Job.objects.get())
    assert (job.state, job.audit.name) == (JobState.DONE, "from-page")
    assert Event.objects.get(name="audits.audit-opened").actor == people["lead"]
    assert kept_files() == []
    live = lead.get(f"/p/alpha/jobs/{job.pk}/live?seen=before")
    assert live["HX-Redirect"] == "/p/alpha/audits/from-page/"


def test_every_fault_of_every_file_is_named_and_nothing_is_stored(lead: Client, sent: Path) -> None:
    for name in ("baseline.csv", "candidate.csv"):
        lines = (sent / name).read_text().splitlines(keepends=True)
        (sent / name).write_text("".join(lines) + "nobody" + "," * lines[0].count(",") + "\n")
    send(lead, sent)
    job = run(Job.objects.get())
    page = lead.get(f"/p/alpha/jobs/{job.pk}").content.decode()
    assert job.state == JobState.REFUSED
    for name in ("baseline.csv", "candidate.csv"):
        assert f"{name}, row 121, column case_id: " in page
    assert "No audit was opened" in page
    assert (Audit.objects.count(), CaseSet.objects.count(), kept_files()) == (0, 0, [])


def test_manifest_of_another_project_is_refused(lead: Client, sent: Path) -> None:
    manifest = sent / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("project: alpha", "project: beta"))
    send(lead, sent)
    job = run(Job.objects.get())
    assert job.problems == [
        {
            "what": "the manifest is for another project",
            "file": "manifest.yaml",
            "key": "project",
            "value": "beta",
            "allowed": "alpha",
        }
    ]
    assert not Audit.objects.exists()


def test_file_that_was_not_sent_is_named_without_a_path_of_the_server(lead: Client, sent: Path) -> None:
    (sent / "candidate.csv").unlink()
    send(lead, sent)
    job = run(Job.objects.get())
    assert [(one["what"], one["value"]) for one in job.problems] == [
        ("not among the files that were sent", "candidate.csv")
    ]
    assert str(settings.VAR_DIR) not in lead.get(f"/p/alpha/jobs/{job.pk}").content.decode()


def test_file_that_the_manifest_has_in_a_folder_is_found_by_its_last_part(lead: Client, sent: Path) -> None:
    manifest = sent / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("file: baseline.csv", "file: runs/baseline.csv"))
    send(lead, sent)
    assert run(Job.objects.get()).state == JobState.DONE


def test_two_files_that_a_browser_sends_under_one_name_are_refused(lead: Client, sent: Path) -> None:
    manifest = sent / "manifest.yaml"
    text = manifest.read_text().replace("file: baseline.csv", "file: old/answers.csv")
    manifest.write_text(text.replace("file: candidate.csv", "file: new/answers.csv"))
    (sent / "baseline.csv").rename(sent / "answers.csv")
    send(lead, sent)
    job = run(Job.objects.get())
    assert "sent without its folder, it has the name of 'old/answers.csv'" in [one["what"] for one in job.problems]


def test_name_that_leaves_its_folder_writes_nothing_outside(lead: Client, sent: Path) -> None:
    send(lead, sent, names={"cases.tsv": "../../../cases.tsv", "baseline.csv": "C:\\here\\baseline.csv"})
    assert [Path(name).name for name in kept_files()].count("cases.tsv") == 1
    assert all(len(Path(name).parts) <= 2 for name in kept_files())
    assert run(Job.objects.get()).state == JobState.DONE


def test_name_that_no_folder_keeps_is_refused_at_once(lead: Client, sent: Path) -> None:
    """Of characters it has no more than a browser may send; of bytes it has 256."""
    answer = send(lead, sent, names={"baseline.csv": "判" * 84 + ".csv"})
    assert answer.status_code == 422
    assert "a file name longer than 255 bytes" in answer.content.decode()
    assert (Job.objects.count(), kept_files()) == (0, [])


def test_file_sent_twice_under_one_name_is_refused_at_once(lead: Client, sent: Path) -> None:
    answer = send(lead, sent, names={"baseline.csv": "cases.tsv"})
    assert answer.status_code == 422
    assert "cases.tsv: sent twice under one name; allowed: each file once" in answer.content.decode()
    assert (Job.objects.count(), kept_files()) == (0, [])


def test_form_without_a_manifest_says_what_is_missing(lead: Client, project: Project) -> None:
    answer = lead.post("/p/alpha/audits/new", {"files": SimpleUploadedFile("a.csv", b"x")})
    assert answer.status_code == 422
    assert "manifest: no manifest was sent; allowed: the YAML file of the audit" in answer.content.decode()


def test_upload_above_the_limit_is_refused_with_limit_and_size(lead: Client, sent: Path, settings: object) -> None:
    """BEHAVIOUR 25."""
    settings.UPLOAD_LIMIT = 1000  # type: ignore[attr-defined]
    answer = send(lead, sent)
    text = answer.content.decode()
    assert answer.status_code == 413
    assert "the upload is too large (found &#x27;" in text
    assert "bytes&#x27;); allowed: at most 1,000 bytes" in text
    assert (Job.objects.count(), kept_files()) == (0, [])


def test_upload_without_the_token_is_refused(people: People, sent: Path) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people["lead"].user)
    assert send(strict, sent).status_code == 403
    assert (Job.objects.count(), kept_files()) == (0, [])


def test_broken_body_stores_nothing(lead: Client, project: Project) -> None:
    """BEHAVIOUR 25."""
    body = b'--b\r\nContent-Disposition: form-data; name="manifest"; filename="m.yaml"\r\n\r\nmigration_id: x'
    answer = lead.generic("POST", "/p/alpha/audits/new", BytesIO(body).read(), "multipart/form-data; boundary=b")
    assert answer.status_code in (302, 400, 422)
    for job in Job.objects.all():
        assert run(job).state == JobState.REFUSED
    assert (Audit.objects.count(), kept_files()) == (0, [])


def test_job_that_nobody_was_told_of_is_found_by_the_sweeper(lead: Client, sent: Path) -> None:
    send(lead, sent)
    assert jobs_unattended(now=NOW) == [Job.objects.get().pk]


def test_page_says_that_the_job_waits_and_is_quiet_while_nothing_changes(lead: Client, sent: Path) -> None:
    send(lead, sent)
    job = Job.objects.get()
    Job.objects.filter(pk=job.pk).update(asked_at=NOW)  # long ago
    first = lead.get(f"/p/alpha/jobs/{job.pk}")
    assert "None has taken it yet. Nothing is lost" in first.content.decode()
    assert lead.get(f"/p/alpha/jobs/{job.pk}/live?seen={first.context['mark']}").status_code == 204
    run(job)
    assert lead.get(f"/p/alpha/jobs/{job.pk}/live?seen={first.context['mark']}").status_code == 200


def test_job_is_done_once_however_often_it_is_started(lead: Client, sent: Path) -> None:
    send(lead, sent)
    job = run(Job.objects.get())
    assert run(job).state == JobState.DONE
    assert Event.objects.filter(name="audits.audit-opened").count() == 1


def test_fault_of_ours_is_called_one(lead: Client, sent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audits.services.working.audit_open", lambda **_: 1 / 0)
    send(lead, sent)
    job = run(Job.objects.get())
    assert (job.state, kept_files()) == (JobState.BROKEN, [])
    assert "This broke on our side" in lead.get(f"/p/alpha/jobs/{job.pk}").content.decode()


def sent_raw(client: Client, body: bytes, announced: int) -> int:
    """The status of a form that announces so many bytes."""
    environ = client._base_environ(
        PATH_INFO="/p/alpha/audits/new",
        REQUEST_METHOD="POST",
        CONTENT_TYPE="multipart/form-data; boundary=b",
        CONTENT_LENGTH=str(announced),
        HTTP_X_CSRFTOKEN="t" * 32,
    )
    environ |= {"wsgi.input": BytesIO(body), "HTTP_COOKIE": f"{environ['HTTP_COOKIE']}; tertium_csrf={'t' * 32}"}
    served = whole_bodies(lambda environ, _: [str(client.handler(environ).status_code).encode()])
    return int(b"".join(served(environ, lambda *_: None)))


@pytest.mark.parametrize("cut", [0, 1, 40, 100])
def test_body_that_ends_before_its_announced_length_leaves_nothing(lead: Client, project: Project, cut: int) -> None:
    """BEHAVIOUR 25. Cut between two rows, a file looks whole: only the announced length tells."""
    rows = "".join(f"c{n},Yes\r\n" for n in range(50))
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\n\r\n{text}\r\n'
        for name, file, text in (("manifest", "m.yaml", "project: alpha"), ("files", "a.csv", f"id,label\r\n{rows}"))
    ]
    body = "".join([*parts, "--b--\r\n"]).encode()
    whole = sent_raw(lead, body[: len(body) - cut], len(body))
    assert whole == (400 if cut else 302)
    assert (Job.objects.count(), kept_files() == []) == ((0, True) if cut else (1, False))


def test_command_says_the_limit_in_the_words_of_the_page(lead: Client, sent: Path, settings: object) -> None:
    """BEHAVIOUR 25."""
    settings.UPLOAD_LIMIT = 1000  # type: ignore[attr-defined]
    page = html.unescape(send(lead, sent).content.decode())
    with pytest.raises(CommandError) as refused:
        call_command("open_audit", sent / "manifest.yaml")
    size = sum(path.stat().st_size for path in sent.iterdir() if path.name != "guideline.md")
    assert str(refused.value) == f"the upload is too large (found '{size:,} bytes'); allowed: at most 1,000 bytes"
    words = re.compile(r"the upload is too large \(found '[\d,]+ bytes'\); allowed: at most 1,000 bytes")
    assert (words.search(page) is not None, words.fullmatch(str(refused.value)) is not None) == (True, True)
    assert (refused.value.returncode, Audit.objects.count(), CaseSet.objects.count()) == (2, 0, 0)


def spoil_a_row(sent: Path) -> None:
    lines = (sent / "candidate.csv").read_text().splitlines(keepends=True)
    (sent / "candidate.csv").write_text("".join(lines) + "nobody" + "," * lines[0].count(",") + "\n")


def test_good_rows_are_taken_where_the_form_says_so_and_the_others_can_be_downloaded(lead: Client, sent: Path) -> None:
    spoil_a_row(sent)
    assert 'name="good_rows"' in lead.get("/p/alpha/audits/new").content.decode()
    send(lead, sent, good_rows="on")
    job = run(Job.objects.get())
    assert (job.state, kept_files()) == (JobState.DONE, [])
    page = lead.get(f"/p/alpha/jobs/{job.pk}").content.decode()
    assert f'href="/p/alpha/jobs/{job.pk}/refused.csv"' in page
    assert "HX-Redirect" not in lead.get(f"/p/alpha/jobs/{job.pk}/live?seen=before")
    answer = lead.get(f"/p/alpha/jobs/{job.pk}/refused.csv")
    assert answer["Content-Disposition"] == 'attachment; filename="refused.csv"'
    assert b"".join(answer).decode() == (  # type: ignore[arg-type]
        "file,row,column,value,why,accepted\n"
        f"candidate.csv,{CASES + 1},case_id,nobody,no case has this id,an id of the case source\n"
    )


def test_form_that_does_not_say_so_refuses_all_and_leaves_no_list(lead: Client, sent: Path) -> None:
    spoil_a_row(sent)
    send(lead, sent)
    job = run(Job.objects.get())
    assert job.state == JobState.REFUSED
    assert lead.get(f"/p/alpha/jobs/{job.pk}/refused.csv").status_code == 404


def test_lists_of_refused_rows_go_after_a_month(lead: Client, sent: Path) -> None:
    earlier = refused_path(Job(pk=1))
    for age, there in ((29, True), (31, False)):
        refused_keep(job=Job(pk=1), lines=["file\n"])
        then = NOW.timestamp() - age * 24 * 60 * 60
        os.utime(earlier, (then, then))
        kept_files_sweep(now=NOW)
        assert earlier.exists() is there


def test_folder_of_a_killed_web_server_is_swept_away_and_one_that_a_job_waits_for_is_not(
    lead: Client, sent: Path
) -> None:
    send(lead, sent)
    root, old = settings.VAR_DIR / "uploads", time.time() - 25 * 60 * 60
    (waited_for,) = root.iterdir()
    left, fresh = root / ("k" * 24), root / ("f" * 24)
    for folder in (left, fresh):
        folder.mkdir()
        (folder / "cases.tsv").write_text("half a file")
    for folder in (waited_for, left):
        os.utime(folder, (old, old))
    kept_files_sweep(now=timezone.now())
    assert set(root.iterdir()) == {waited_for, fresh}
    assert run(Job.objects.get()).state == JobState.DONE
    assert set(root.iterdir()) == {fresh}
