"""A lead in a real browser: from the files to a registered plan, then watching the interval move."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from adjudication.models import SettlementHow
from adjudication.services.settlements import item_settle
from audits.manifest import load_manifest
from audits.models import Audit, Job
from audits.packets.checking import packet_check
from audits.services.anchorsets import anchor_set_make
from audits.services.charts import chart_bring_up_to_date, plan_charts_draw
from audits.services.looks import looks_bring_up_to_date
from audits.services.opening import audit_open
from audits.services.registering import audit_register
from audits.services.working import job_run
from audits.synthetic import synthetic_project
from core.models import Author, Project, Role
from core.services import operator_of
from tests import factories
from tests.e2e.conftest import Open, barriers, overflow

pytestmark = pytest.mark.django_db(transaction=True)
PHONE = {"viewport": {"width": 360, "height": 740}}
PATHS = ("", "transitions", "plan", "extend", "monitor", "looks", "results", "report.html")
PATHS += (
    "pairs",
    "pairs?case=q0333",
    "pairs/caches",
    "pairs/readers?side=candidate&parser=json-label@1",
    "diagnose",
    "verdict",
)
WITHIN = 2.0  # seconds from a settlement to the page that shows it


@pytest.fixture
def project(live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(settings, "VAR_DIR", tmp_path / "var")
    return factories.make_project()


@pytest.fixture
def lea(project: Project) -> Author:
    return factories.make_person(project, "lea", Role.LEAD)


@pytest.fixture
def manifest(project: Project, tmp_path: Path) -> Path:
    return synthetic_project(tmp_path / "sent", name="swap", project=project.name, seed="7", number=400)


@pytest.fixture
def draft(project: Project, manifest: Path) -> Audit:
    return audit_open(manifest=load_manifest(manifest), actor=operator_of(project), now=timezone.now()).audit


@pytest.fixture
def audit(draft: Audit) -> Audit:
    """Registered, and far enough for an interval."""
    audit_register(audit=draft, actor=operator_of(draft.project), now=timezone.now())
    settle(draft, 60)
    look(draft)
    chart_bring_up_to_date(audit=draft, now=timezone.now())
    return draft


def settle(audit: Audit, number: int) -> None:
    for item in audit.queue.items.filter(state="open").order_by("rank")[:number]:
        decision = {item.shown.get().artifact_id: "pass" if item.pk % 3 else "fail"}
        item_settle(
            item=item,
            how=SettlementHow.SINGLE,
            decision=decision,
            actor=operator_of(audit.project),
            now=timezone.now(),
        )


def look(audit: Audit) -> None:
    looks_bring_up_to_date(audit=audit, clock=timezone.now)


@pytest.fixture
def worker(project: Project) -> Iterator[None]:
    """Does what is asked for, as the worker does, in a thread of its own."""
    over = Event()

    def work() -> None:
        try:
            while not over.wait(0.1):
                for job in Job.objects.filter(state="waiting"):
                    job_run(job=job.pk, clock=timezone.now)
                for audit in Audit.objects.filter(state="registered"):
                    looks_bring_up_to_date(audit=audit, clock=timezone.now)
        finally:
            connection.close()

    thread = Thread(target=work)
    thread.start()
    yield
    over.set()
    thread.join()


def test_files_become_a_registered_plan_without_leaving_the_browser(
    lea: Author, manifest: Path, worker: None, open_as: Open
) -> None:
    page = open_as(lea, "/p/p/")
    page.get_by_role("link", name="Send a manifest with its files").click()
    page.get_by_label("Manifest", exact=True).set_input_files(manifest)
    page.get_by_label("The files it names").set_input_files(
        [path for path in manifest.parent.iterdir() if path != manifest]
    )
    page.get_by_role("button", name="Send and check").click()
    expect(page.get_by_role("heading", name="Integrity")).to_be_visible(timeout=30_000)
    expect(page.get_by_role("navigation", name="Audit").get_by_text("Integrity")).to_have_attribute(
        "aria-current", "page"
    )
    page.get_by_role("link", name="Go to the plan").click()
    page.get_by_role("button", name="Register the plan and draw").click()
    expect(page.get_by_text("cases wait for the reviewers.")).to_be_visible(timeout=30_000)
    assert Audit.objects.get().registrations.get().actor == lea


def test_lead_plans_watches_diagnoses_and_takes_the_packet_in_the_browser(
    audit: Audit, lea: Author, worker: None, open_as: Open
) -> None:
    plan_charts_draw(now=timezone.now())
    page = open_as(lea, "/p/p/audits")
    expect(page.get_by_text("points now, target ±2.0 points. ")).to_be_visible()
    page.get_by_role("link", name="swap", exact=True).click()
    tabs = page.get_by_role("navigation", name="Audit")
    tabs.get_by_text("Plan").click()
    expect(page.get_by_role("img", name="Half-width against labels under each policy")).to_be_visible()
    expect(page.get_by_role("region", name="Labels by policy")).to_contain_text("monitored: the plan's")
    expect(page.get_by_role("region", name="Half-width and chance by labels")).to_contain_text("target, monitored")
    tabs.get_by_text("Monitor").click()
    expect(page.get_by_role("status")).to_contain_text("±2.0 points")
    expect(page.get_by_role("img", name="The interval against the number of settled labels")).to_be_visible()
    expect(page.get_by_text("Pace: too few labels from the desk to tell")).to_be_visible()
    tabs.get_by_text("Diagnose").click()
    first = page.locator(".codes > li").first
    case = first.get_by_role("heading").inner_text()
    second = page.locator(".codes > li").nth(1)
    for one, other in ((second, first), (first, second)):  # by keyboard; opening one closes the other
        one.locator("summary").press("Enter")
        expect(one.get_by_label("Reason")).to_be_visible()
        expect(other.get_by_label("Reason")).to_be_hidden()
    first.get_by_label("Reason").select_option(label="judge error (evaluator platform)")
    first.get_by_label("component", exact=False).first.check()
    first.get_by_label("Which decision, or which component").fill("the grader's prompt")
    first.get_by_role("button", name="Save the diagnosis").click()
    expect(page.get_by_text("the grader's prompt")).to_be_visible()
    assert audit.diagnoses.get().case.case_id == case
    tabs.get_by_text("Results").click()
    page.get_by_role("link", name="Open the report").click()
    expect(page.get_by_role("heading", name="Result")).to_be_visible()
    expect(page.locator("figure svg").first).to_be_visible()
    page.go_back()
    page.get_by_role("button", name="Make the packet as of now").click()
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("link", name="Download packet.zip").click(timeout=60_000)
    assert download.value.suggested_filename == "swap-packet.zip"
    assert [check.name for check in packet_check(Path(download.value.path())) if not check.passed] == []


def test_anchor_set_becomes_a_practice_set_in_the_browser(
    audit: Audit, lea: Author, worker: None, open_as: Open
) -> None:
    gold = anchor_set_make(audit=audit, name="gold", licence="internal use", actor=lea, now=timezone.now())
    page = open_as(lea, "/p/p/anchor-sets", **PHONE)
    page.get_by_role("link", name="gold").click()
    page.get_by_label("A practice set").check()
    page.get_by_label("Name of the set").fill("first steps")
    assert (barriers(page), overflow(page)) == ([], 0)
    page.get_by_role("button", name="Make the set").click()
    added = f"Done. first steps: {gold.anchors} cases added from anchor set gold version 1"
    expect(page.get_by_text(added)).to_be_visible(timeout=30_000)
    page.get_by_role("link", name="Go on").click()
    expect(page.get_by_role("region", name="Practice set first steps")).to_be_visible()


CASES_SENT = "id,question,answer\na,who,me\nb,when,now\nc,what,that\n"


@pytest.fixture
def without_manifest(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "alone"
    folder.mkdir()
    (folder / "cases.csv").write_text(CASES_SENT)
    for name, labels in (("judge_1.jsonl", ("Yes", "No", "Yes")), ("judge_2.jsonl", ("No", "No", "Maybe"))):
        lines = [
            json.dumps({"id": case, "meta": {"verdict": label}}) for case, label in zip("abc", labels, strict=True)
        ]
        (folder / name).write_text("\n".join(lines))
    (folder / "guide.md").write_text("Is it right?")
    return sorted(folder.iterdir())


def test_files_without_a_manifest_are_looked_at_changed_and_opened(
    lea: Author, without_manifest: list[Path], worker: None, open_as: Open
) -> None:
    page = open_as(lea, "/p/p/audits/new")
    page.get_by_label("The files", exact=True).set_input_files(without_manifest)
    page.get_by_role("button", name="Send and look").click()
    expect(page.get_by_role("heading", name="How the files would be read")).to_be_visible()
    cases = page.locator("section", has=page.get_by_role("heading", name="Cases, from cases.csv"))
    cases.get_by_label("input").select_option("answer")
    page.get_by_label("What Maybe counts as").select_option("unmapped")
    page.get_by_role("button", name="Read again with these choices").click()
    expect(cases.locator("tbody tr").first).to_have_text("1ameme")
    expect(page.get_by_text("1 label without a target")).to_be_visible()
    manifest = page.get_by_label("The manifest", exact=True)
    manifest.fill(manifest.input_value().replace("new-audit", "looked-at"))
    page.get_by_role("button", name="Check everything and open the audit").click()
    expect(page.get_by_role("heading", name="Integrity")).to_be_visible(timeout=30_000)
    assert Audit.objects.get().name == "looked-at"


def test_preview_has_no_barrier_and_fits_a_small_screen(
    lea: Author, without_manifest: list[Path], open_as: Open
) -> None:
    (damaged := without_manifest[0].parent / f"{'a_long_name_' * 8}.csv.gz").write_bytes(b"\x1f\x8b")
    long = without_manifest[-1].rename(damaged.with_name(f"judge_{'3' * 90}.jsonl"))
    without_manifest = [*without_manifest[:-1], long]
    page = open_as(lea, "/p/p/audits/new", **PHONE)
    page.get_by_label("The files", exact=True).set_input_files([*without_manifest, damaged])
    page.get_by_role("button", name="Send and look").click()
    expect(page.get_by_role("heading", name="How the files would be read")).to_be_visible()
    expect(page.get_by_text("the gzipped file is damaged or cut off")).to_be_visible()
    assert (barriers(page), overflow(page)) == ([], 0)
    manifest = page.get_by_label("The manifest", exact=True)
    manifest.fill(manifest.input_value().replace("Maybe: Maybe", f"{'Mabye' * 30}: Maybe"))
    page.get_by_role("button", name="Read again as written").click()
    expect(page.get_by_text("Rare, or misspelled?")).to_be_visible()
    assert (barriers(page), overflow(page)) == ([], 0)


def test_faults_of_an_upload_are_listed_where_the_lead_waits(
    lea: Author, manifest: Path, worker: None, open_as: Open
) -> None:
    manifest.write_text(manifest.read_text().replace("final-score@1", "final-scores@1"))
    page = open_as(lea, "/p/p/audits/new")
    page.get_by_label("Manifest", exact=True).set_input_files(manifest)
    page.get_by_label("The files it names").set_input_files(
        [path for path in manifest.parent.iterdir() if path.suffix != ".yaml" and path.suffix != ".md"]
    )
    page.get_by_role("button", name="Send and check").click()
    faults = page.locator(".problems li")
    expect(faults).to_have_count(2, timeout=30_000)
    expect(faults.first).to_contain_text("no such parser; did you mean 'final-score@1'?")
    assert not Audit.objects.exists()


def test_upload_above_the_limit_is_told_before_it_is_sent(
    lea: Author, manifest: Path, open_as: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "UPLOAD_LIMIT", 1000)
    page = open_as(lea, "/p/p/audits/new")
    page.get_by_label("Manifest", exact=True).set_input_files(manifest)
    page.get_by_label("The files it names").set_input_files(manifest.parent / "cases.tsv")
    page.get_by_role("button", name="Send and check").click()
    expect(page.get_by_text("the upload is too large (found '")).to_be_visible()
    assert not Job.objects.exists()


def test_interval_moves_within_two_seconds_of_a_settlement(
    audit: Audit, lea: Author, worker: None, open_as: Open
) -> None:
    page = open_as(lea, "/p/p/audits/swap/monitor")
    expect(page.get_by_text("after 60 settlements")).to_be_visible()
    before = page.locator("#intervals tbody").inner_text()
    moved = []
    for settled in (61, 62, 63):
        settle(audit, 1)
        started = time.monotonic()
        expect(page.get_by_text(f"after {settled} settlements")).to_be_visible()
        moved.append(time.monotonic() - started)
    assert max(moved) <= WITHIN, moved
    assert page.locator("#intervals tbody").inner_text() != before


def test_page_that_is_watched_is_not_touched_while_nothing_happens(audit: Audit, lea: Author, open_as: Open) -> None:
    page = open_as(lea, "/p/p/audits/swap/monitor")
    answers: list[int] = []
    page.on("response", lambda answer: answers.append(answer.status) if "/live" in answer.url else None)
    page.locator("#strata").evaluate("element => element.dataset.kept = 'yes'")
    page.wait_for_timeout(2500)
    assert set(answers) == {204}
    assert page.locator("#strata").get_attribute("data-kept") == "yes"


@pytest.mark.parametrize("how", [{}, {"color_scheme": "dark", **PHONE}], ids=["light", "dark and small"])
def test_no_page_of_an_audit_has_a_serious_barrier_or_is_wider_than_its_screen(
    audit: Audit, lea: Author, open_as: Open, how: dict[str, Any]
) -> None:
    page = open_as(lea, "/p/p/audits", **how)
    for path in ("/p/p/audits", "/p/p/audits/new", *(f"/p/p/audits/swap/{path}" for path in PATHS)):
        page.goto(path)
        assert (barriers(page), overflow(page)) == ([], 0), path


def test_report_prints_without_pages_left_empty(audit: Audit, lea: Author, open_as: Open) -> None:
    """What is kept whole moves to the next sheet: but for tables, which begin there, it must fit on one."""
    page = open_as(lea, "/p/p/audits/swap/report.html", viewport={"width": 680, "height": 1009})  # A4 within 15 mm
    page.emulate_media(media="print")
    kept_whole = page.evaluate("""[...document.querySelectorAll("body *:not(table)")]
        .filter(one => getComputedStyle(one).breakInside != "auto" && !one.closest("svg"))
        .map(one => [one.tagName, one.getBoundingClientRect().height])""")
    assert {"FIGURE", "TR"} <= {tag for tag, _ in kept_whole}
    assert [tag for tag, height in kept_whole if height > 1009] == []
    expect(page.get_by_role("img", name="The interval against the number of settled labels")).to_be_visible()
    assert overflow(page) == 0


def test_draft_has_no_barrier_and_fits_a_small_screen(draft: Audit, lea: Author, open_as: Open) -> None:
    page = open_as(lea, "/p/p/audits", **PHONE)
    for path in PATHS:
        page.goto(f"/p/p/audits/swap/{path}")
        assert (barriers(page), overflow(page)) == ([], 0), path


def test_light_pages(audit: Audit, lea: Author, open_as: Open) -> None:
    """All that a first visit loads, uncompressed; the chart is an image, and counts too."""
    for path in ("/p/p/audits", "/p/p/audits/swap/transitions", "/p/p/audits/swap/monitor"):
        page = open_as(lea, path)
        page.wait_for_load_state("load")
        sizes = page.evaluate("performance.getEntries().map(entry => entry.decodedBodySize || 0)")
        assert 20_000 < sum(sizes) < 120_000, (path, sizes)


def test_holdout_is_opened_from_its_banner_and_then_read(
    project: Project, lea: Author, tmp_path: Path, open_as: Open
) -> None:
    path = synthetic_project(tmp_path / "check", name="check", project=project.name, seed="7", number=60)
    named = "partition: holdout\npartitions: {holdout: arithmetic-7-60}"
    path.write_text(path.read_text().replace("partition: development", named))
    audit_open(manifest=load_manifest(path), actor=operator_of(project), now=timezone.now())
    page = open_as(lea, "/p/p/audits/check/", **PHONE)
    expect(page.get_by_role("link", name="Pairs")).to_have_count(0)
    page.get_by_role("link", name="What that means").click()
    assert (barriers(page), overflow(page)) == ([], 0)
    page.get_by_label("Why must its cases be read?").fill("the gate failed")
    page.get_by_role("button", name="Open the holdout and retire it").click()
    expect(page.get_by_text("opened")).to_contain_text("by p-lea, and retired. Reason: the gate failed")
    page.get_by_role("link", name="Pairs").click()
    page.get_by_label("State").select_option("missing")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name="q0017").click()
    expect(page.get_by_text("no answer stored")).to_be_visible()
