"""The lead's pages about anchor sets: a version is made, taken away in three formats, and taken in elsewhere."""

import json
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from adjudication.models import KnownAnswer
from audits.exports.anchorcards import MONITORS
from audits.exports.anchorfiles import set_bytes
from audits.models import AnchorSet, Audit, Job, JobState
from audits.services.anchorchecks import anchor_checks_make
from audits.services.anchorsets import anchor_set_make
from audits.services.working import job_run
from core.models import Role
from core.services import member_add, project_ensure
from tests.audits.views.conftest import NOW, Page, People, client_of

pytestmark = pytest.mark.django_db


def run(job: Job) -> Job:
    job_run(job=job.pk, clock=lambda: NOW)
    job.refresh_from_db()
    return job


def body(answer: HttpResponse) -> bytes:
    assert answer.status_code == 200
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.fixture
def gold(watched: Audit, people: People) -> AnchorSet:
    return anchor_set_make(audit=watched, name="gold", licence="CC-BY-4.0", actor=people["lead"], now=NOW)


def test_lead_asks_for_a_version_and_a_worker_makes_it(
    lead: Client, watched: Audit, people: People, read: Page
) -> None:
    assert '<a href="/p/alpha/audits/swap-1/anchor-sets">make a version of an anchor set</a>' in read(
        "audits/swap-1/results"
    )
    answer = lead.post("/p/alpha/audits/swap-1/anchor-sets", {"name": "gold", "licence": " CC-BY-4.0 "})
    job = run(Job.objects.get())
    assert (answer["Location"], job.state) == (f"/p/alpha/jobs/{job.pk}", JobState.DONE)
    one = AnchorSet.objects.get()
    assert (str(one), one.licence, one.actor, one.audit) == ("gold version 1", "CC-BY-4.0", people["lead"], watched)
    assert lead.get(f"/p/alpha/jobs/{job.pk}/live?seen=x")["HX-Redirect"] == "/p/alpha/audits/swap-1/anchor-sets"
    page = read("audits/swap-1/anchor-sets")
    assert f'<a href="/p/alpha/anchor-sets/{one.pk}">gold</a>' in page
    assert 'value="CC-BY-4.0"' in page


def test_version_without_news_is_refused_on_the_page_of_its_job(lead: Client, gold: AnchorSet) -> None:
    lead.post("/p/alpha/audits/swap-1/anchor-sets", {"name": "gold", "licence": "CC-BY-4.0"})
    job = run(Job.objects.get())
    page = lead.get(f"/p/alpha/jobs/{job.pk}").content.decode()
    assert (job.state, AnchorSet.objects.count()) == (JobState.REFUSED, 1)
    assert "nothing was settled otherwise since gold version 1" in page
    assert "No version was made." in page


@pytest.mark.parametrize(
    ("sent", "says"),
    [({"name": "gold"}, "licence: say the licence"), ({"name": "a/b", "licence": "x"}, "name: no name of a set")],
)
def test_form_says_what_is_wrong_before_anything_is_asked(
    lead: Client, watched: Audit, sent: dict[str, str], says: str
) -> None:
    answer = lead.post("/p/alpha/audits/swap-1/anchor-sets", sent)
    assert (answer.status_code, says in answer.content.decode(), Job.objects.exists()) == (422, True, False)


def test_draft_has_no_form(draft: Audit, read: Page) -> None:
    assert "There are no anchors before a sample is drawn." in read("audits/swap-1/anchor-sets")


def test_page_of_a_version_shows_its_card_and_says_that_it_monitors(gold: AnchorSet, read: Page) -> None:
    assert "No run under this rubric has judged one of these anchors yet." in read(f"anchor-sets/{gold.pk}")
    anchor_checks_make(now=NOW)
    page = read(f"anchor-sets/{gold.pk}")
    for words in (
        MONITORS,
        gold.content_hash,
        '<dd dir="auto">CC-BY-4.0</dd>',
        "grader-large, prompt 4",
        "run 1 on pocket-calculator-2",
        "limits: Wilson, 95 % level",
        "errors by class and by slice",
    ):
        assert words in page, words


@pytest.mark.parametrize("purpose", ["practice", "anchors"])
def test_set_becomes_known_cases_which_the_job_s_page_counts(
    lead: Client, gold: AnchorSet, people: People, read: Page, purpose: str
) -> None:
    address = f"/p/alpha/anchor-sets/{gold.pk}"
    assert f'action="{address}/known-set"' in read(f"anchor-sets/{gold.pk}")
    for number in (1, 2):
        answer = lead.post(f"{address}/known-set", {"name": " first steps ", "purpose": purpose})
        job = run(Job.objects.latest("pk"))
        assert (answer["Location"], job.state) == (f"/p/alpha/jobs/{job.pk}", JobState.DONE)
        page = read(f"jobs/{job.pk}")
        added, there = (gold.anchors, 0) if number == 1 else (0, gold.anchors)
        assert f"first steps: {added} cases added from anchor set gold version 1, {there} there already." in page
        assert '<a class="button primary" href="/p/alpha/calibration">Go on</a>' in page
        assert "HX-Redirect" not in lead.get(f"/p/alpha/jobs/{job.pk}/live?seen=x")
    known = KnownAnswer.objects.select_related("item__queue")
    assert {(one.item.queue.name, one.item.queue.purpose, one.actor) for one in known} == {
        ("first steps", purpose, people["lead"])
    }
    assert len(known) == gold.anchors
    assert "first steps" in read("calibration")


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"name": " ", "purpose": "practice"}, "name: say a name"),
        ({"name": "x", "purpose": "settle"}, "say what it is for (found 'settle'); allowed: practice or anchors"),
    ],
)
def test_known_set_without_a_name_or_a_purpose_is_refused_before_it_is_asked(
    lead: Client, gold: AnchorSet, sent: dict[str, str], says: str
) -> None:
    answer = lead.post(f"/p/alpha/anchor-sets/{gold.pk}/known-set", sent)
    assert (answer.status_code, says in answer.content.decode().replace("&#x27;", "'"), Job.objects.exists()) == (
        422,
        True,
        False,
    )


def test_known_set_of_which_the_project_has_nothing_is_refused_on_the_page_of_its_job(
    lead: Client, gold: AnchorSet
) -> None:
    file = b"".join(set_bytes(gold, "jsonl"))
    gamma = project_ensure(name="gamma", now=NOW)
    other = client_of(member_add(project=gamma, username="lou", role=Role.LEAD))
    other.post("/p/gamma/anchor-sets", {"file": SimpleUploadedFile("gold.jsonl", file)})
    run(Job.objects.get())
    there = AnchorSet.objects.get(project=gamma)
    assert lead.post(f"/p/alpha/anchor-sets/{there.pk}/known-set").status_code == 404
    other.post(f"/p/gamma/anchor-sets/{there.pk}/known-set", {"name": "x", "purpose": "practice"})
    job = run(Job.objects.latest("pk"))
    page = other.get(f"/p/gamma/jobs/{job.pk}").content.decode()
    assert (job.state, KnownAnswer.objects.exists()) == (JobState.REFUSED, False)
    assert "the project has the content of none of the anchors" in page
    assert "No set was made, and none was added to." in page


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_download_is_taken_in_by_another_project_unchanged(lead: Client, gold: AnchorSet, kind: str) -> None:
    file = body(lead.get(f"/p/alpha/anchor-sets/{gold.pk}/anchors.{kind}"))
    card = body(lead.get(f"/p/alpha/anchor-sets/{gold.pk}/card.json"))
    other = client_of(member_add(project=project_ensure(name="gamma", now=NOW), username="lou", role=Role.LEAD))
    sent = {"file": SimpleUploadedFile(f"gold.{kind}", file), "card": SimpleUploadedFile("c.json", card)}
    answer = other.post("/p/gamma/anchor-sets", sent)
    job = run(Job.objects.get())
    assert (answer["Location"], job.state) == (f"/p/gamma/jobs/{job.pk}", JobState.DONE)
    there = AnchorSet.objects.get(project__name="gamma")
    assert (there.content_hash, there.audit, json.loads(there.card_text)) == (gold.content_hash, None, json.loads(card))
    assert list((settings.VAR_DIR / "uploads").iterdir()) == []
    assert other.get(f"/p/gamma/jobs/{job.pk}/live?seen=x")["HX-Redirect"] == "/p/gamma/anchor-sets"
    assert f"gold.{kind}, sha256" in other.get("/p/gamma/anchor-sets").content.decode()


def test_altered_file_is_refused_on_the_page_of_its_job(lead: Client, gold: AnchorSet) -> None:
    file = body(lead.get(f"/p/alpha/anchor-sets/{gold.pk}/anchors.csv")).replace(b",pass,", b",fail,", 1)
    lead.post("/p/alpha/anchor-sets", {"file": SimpleUploadedFile("gold.csv", file)})
    job = run(Job.objects.get())
    page = lead.get(f"/p/alpha/jobs/{job.pk}").content.decode()
    assert job.state == JobState.REFUSED
    assert "the file was altered: what is in it has the hash" in page
    assert "Nothing of the file was taken in." in page


def test_card_can_be_read_and_says_how_sampled(lead: Client, gold: AnchorSet) -> None:
    answer = lead.get(f"/p/alpha/anchor-sets/{gold.pk}/card.md")
    assert answer["Content-Disposition"] == 'attachment; filename="gold-1.card.md"'
    assert "# Anchor set `gold`, version 1" in answer.content.decode()
    assert "| Stratum | Cases | Drawn | Inclusion probability | Anchors |" in answer.content.decode()


def test_what_is_no_format_is_not_found(lead: Client, gold: AnchorSet) -> None:
    for address in ("anchors.xlsx", "card.csv", "anchors.json"):
        assert lead.get(f"/p/alpha/anchor-sets/{gold.pk}/{address}").status_code == 404


def test_upload_without_a_file_or_above_the_limit_is_refused_in_words(
    lead: Client, project: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no file was sent" in lead.post("/p/alpha/anchor-sets").content.decode()
    monkeypatch.setattr(settings, "UPLOAD_LIMIT", 1000)
    answer = lead.post("/p/alpha/anchor-sets", {"file": SimpleUploadedFile("gold.csv", b"x" * 2000)})
    assert (answer.status_code, "at most 1,000 bytes" in answer.content.decode()) == (413, True)
    assert not Path(settings.VAR_DIR / "uploads").exists()


def test_plan_and_monitor_say_which_labels_are_reused(registered: Audit, read: Page) -> None:
    registered.review |= {"reuse_anchors": "gold@1"}
    registered.save()
    assert (
        "those of anchor set <bdi>gold@1</bdi> for cases of identical content, under the same rubric version"
        in read("audits/swap-1/plan")
    )
