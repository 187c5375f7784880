"""A sealed holdout is counted and shown nowhere: what could leak is planted, and every route and command is asked.

CANARY stands in every case id, text, response and label of the holdout, and in what its reviewers wrote.
"""

import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command, get_commands
from django.test import Client

from adjudication.models import Queue, SettlementHow
from adjudication.services.reviews import item_skip
from adjudication.services.settlements import item_settle
from audits.models import AnchorSet, Audit, Job, JobKind
from audits.services.charts import chart_bring_up_to_date
from audits.services.importing import reviews_import
from audits.services.jobs import job_ask
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from core.models import Author, Event, Role
from core.services import member_add
from judges.services.cases import case_set_load
from judges.services.comparisons import comparison_open
from tests import factories
from tests.factories import NOW
from tests.routes import routes

pytestmark = pytest.mark.django_db
TABLE = {"CANARY-yes": "pass", "CANARY-no": "fail"}
KINDS = {"report": ["html", "json"], "anchors": ["csv", "jsonl"], "reviews": ["csv", "jsonl"]}

QUERIES = {
    "audits:pairs": ("?case={}", "?state=disagree"),
    "audits:diagnose": ("?code=undiagnosed",),
    "audits:readers": ("?side=candidate&parser=last-digit@1",),
}


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Audit:
    """Registered, reviewed in part, with a conflict, a skip, a look and a chart; and one pair of each fault."""
    monkeypatch.setattr(settings, "VAR_DIR", tmp_path / "var")
    project = factories.make_project("plain")
    verdicts: dict[str, tuple[str | None, str | None]] = {
        f"CANARY-{n:02d}": ("CANARY-yes", "CANARY-no" if n % 3 == 0 else "CANARY-yes") for n in range(60)
    }
    verdicts |= {"CANARY-missing": ("CANARY-yes", None), "CANARY-unmapped": ("CANARY-yes", "CANARY prose")}
    comparison = factories.make_swap(
        project,
        verdicts,
        name="check-1",
        partition="holdout",
        table=TABLE,
        rules={"fail_on_unmapped_label": False},
        slices={case: {"risk": "high" if n == 0 else "low"} for n, case in enumerate(verdicts)},
        blocking=["risk=high"],
    )
    audit = factories.make_audit(comparison, review={"double_review_share": 1.0})
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    ann, ben = (factories.make_person(project, name) for name in ("ann", "ben"))
    factories.make_person(project, "ada", Role.ADJUDICATOR)
    for label in ("pass", "fail"):
        factories.submit(factories.claim(audit.queue, ann), rationale="CANARY is right")
        factories.answer(audit.queue, ben, label)
    for item in audit.queue.items.filter(state="open").order_by("rank")[:50]:
        decision = {item.shown.get().artifact_id: "pass"}
        item_settle(item=item, how=SettlementHow.SINGLE, decision=decision, actor=ann, now=NOW)
    item_skip(lease=factories.claim(audit.queue, ann), actor=ann, reason="CANARY is hard to read", now=NOW)
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)
    chart_bring_up_to_date(audit=audit, now=NOW)
    return audit


@pytest.fixture
def lead(audit: Audit) -> Author:
    return member_add(project=audit.project, username="lee", role=Role.LEAD)


def pages(audit: Audit, lead: Author) -> dict[str, str]:
    """Every answer to a lead, whole, by its address."""
    client = Client(raise_request_exception=True)
    client.force_login(lead.user)
    jobs = list(Job.objects.all()) or [job_ask(kind=JobKind.EXTEND, audit=audit, actor=lead, now=NOW, asked={})]
    look = audit.looks.latest("pk").pk
    case = audit.comparison.case_set.cases.earliest("pk").case_id
    found: dict[str, str] = {}
    for route in routes():
        if route.name in ("logout", "login", "healthz") or route.name.startswith("adjudication:r"):
            continue
        for kind in KINDS.get(route.name.rpartition(":")[2], ["html"]):
            url = route.url(project="plain", name=audit.name, number=jobs[0].pk, look=look, kind=kind)
            for query in ("", *(asked.format(case) for asked in QUERIES.get(route.name, ()))):
                answer = client.get(url + query)
                body = b"".join(answer.streaming_content) if answer.streaming else answer.content
                text = f"{answer.status_code} {dict(answer.items())}\n{body.decode()}"
                # What somebody asked for stands in the address that they asked with.
                found[url + query] = text.replace(f"case={case}", "").replace(f'value="{case}"', "")
    return found


COMMANDS: dict[str, list[str]] = {
    "integrity": [],
    "transitions": [],
    "status": [],
    "look": [],
    "register": [],
    "extend": [],
    "report": ["FOLDER"],
    "export_anchors": ["FOLDER/anchors.csv"],
    "export_reviews": ["FOLDER/reviews.jsonl"],
    "export_packet": ["FOLDER/packet.zip"],
    "export_pool": ["FOLDER/pool.csv"],
    "export_sample": ["FOLDER/sample.csv"],
    "diagnose_pairs": [],
    "diagnose": [],
    "verdict": [],
    "cache_audit": [],
    "compare_readers": ["--side=candidate", "--parser=last-digit@1"],
}
# Those that read no audit, or one only to write what a person brings along.
WITHOUT_AUDIT = {"bridge_set", "estimate", "open_audit", "self_check", "size", "verify_packet"}
WITHOUT_AUDIT |= {"import_reviews", "open_holdout", "preview", "cancel_intake", "repeats"}
SETS = ("practice_set", "hidden_anchors")
ANCHORS = ("anchor_sets", "export_anchor_set", "anchor_monitor")  # of sets, which no sealed holdout gets into


def commands(audit: Audit, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What every command prints, and what is in the files it writes."""
    found: dict[str, str] = {}
    for name, arguments in COMMANDS.items():
        given = [argument.replace("FOLDER", str(folder)) for argument in arguments]
        for shape in ([], ["--json"]):
            said = ""
            try:
                call_command(name, audit.name, *given, *shape)
            except (SystemExit, CommandError) as error:
                said = str(error)
            printed = capsys.readouterr()
            found[" ".join([name, *shape])] = said + printed.out + printed.err
    return found | {str(file.relative_to(folder)): contents(file) for file in folder.rglob("*") if file.is_file()}


def contents(file: Path) -> str:
    if file.suffix != ".zip":
        return file.read_text()
    with ZipFile(file) as archive:
        return "\n".join(archive.read(name).decode() for name in archive.namelist())


def showing(found: dict[str, str]) -> dict[str, list[str]]:
    return {where: seen for where, text in found.items() if (seen := re.findall("CANARY[^<]{0,40}", text))}


def test_every_command_about_an_audit_is_asked() -> None:
    ours = {name for name, app in get_commands().items() if app == "audits"}
    assert ours == {*COMMANDS, *WITHOUT_AUDIT, *SETS, *ANCHORS}


@pytest.mark.parametrize("name", SETS)
def test_no_set_of_known_cases_is_made_of_a_sealed_holdout(audit: Audit, name: str) -> None:
    with pytest.raises(CommandError, match="the holdout of cases 1 is sealed"):
        call_command(name, "plain", "known", "--from", audit.name)
    assert Queue.objects.get() == audit.queue


def test_no_anchor_set_is_made_of_a_sealed_holdout(audit: Audit, lead: Author) -> None:
    with pytest.raises(CommandError, match="the holdout of cases 1 is sealed"):
        call_command("anchor_sets", "plain", "--from", audit.name, "--licence", "x")
    client = Client()
    client.force_login(lead.user)
    answer = client.post("/p/plain/audits/check-1/anchor-sets", {"name": "gold", "licence": "x"})
    assert (answer.status_code, "the holdout of cases 1 is sealed" in answer.content.decode()) == (409, True)
    assert not AnchorSet.objects.exists()
    assert not Job.objects.exists()


def test_no_page_shows_a_sealed_case_and_the_opened_one_is_shown(audit: Audit, lead: Author) -> None:
    sealed = pages(audit, lead)
    assert showing(sealed) == {}
    assert "Holdout of cases 1: sealed." in sealed["/p/plain/audits/check-1/"]
    assert "60 of 62 cases are eligible" in sealed["/p/plain/audits/check-1/"]
    assert "20 of 60 eligible pairs changed" in sealed["/p/plain/audits/check-1/transitions"]

    client = Client()
    client.force_login(lead.user)
    assert client.post("/p/plain/audits/check-1/holdout", {"reason": " "}).status_code == 422
    assert showing(pages(audit, lead)) == {}
    assert client.post("/p/plain/audits/check-1/holdout", {"reason": "the gate failed"}).status_code == 302

    opened = pages(audit, lead)
    base = "/p/plain/audits/check-1/"
    places = [
        "",
        "transitions",
        "pairs",
        "diagnose",
        "pairs/readers",
        "monitor",
        "report.html",
        "report.json",
        "anchors.csv",
    ]
    places += ["anchors.jsonl", "reviews.csv", "reviews.jsonl"]
    assert {base + place for place in places} <= set(showing(opened))
    event = Event.objects.get(name="judges.holdout-opened")
    assert (event.actor, event.payload["reason"]) == (lead, "the gate failed")
    for place in ("", "transitions", "plan", "monitor", "results", "pairs", "report.html", "report.json"):
        assert "the gate failed" in opened[base + place], place


def test_no_command_shows_a_sealed_case_and_the_opened_one_is_shown(
    audit: Audit, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed = commands(audit, tmp_path / "sealed", capsys)
    assert showing(sealed) == {}
    assert {name for name in sealed if "." in name} == {"report.json", "report.html"}
    assert "is sealed: its cases are counted, and none may be read" in sealed["export_anchors"]

    call_command("open_holdout", audit.name, "--reason", "the gate failed")
    said = capsys.readouterr().out
    assert said.startswith("Holdout of cases 1: opened ")
    assert said.rstrip().endswith("by operator, and retired. Reason: the gate failed")

    opened = commands(audit, tmp_path / "opened", capsys)
    assert {
        "integrity",
        "transitions",
        "diagnose_pairs",
        "diagnose",
        "compare_readers",
        "pool.csv",
        "sample.csv",
        "packet.zip",
    } <= set(showing(opened))
    for name in ("integrity", "status", "transitions", "report.json", "report.html"):
        assert "the gate failed" in opened[name], name


def test_reviewers_see_the_sealed_case_that_they_answer(audit: Audit) -> None:
    ben = Author.objects.get(pseudonym="plain-ben")
    client = Client()
    client.force_login(ben.user)
    assert "question CANARY-" in client.get("/p/plain/review").content.decode()


def test_labels_of_a_holdout_in_a_development_audit_are_left_out(tmp_path: Path) -> None:
    """A file of labels over the whole set must not carry sealed cases into the anchors of another audit."""
    project = factories.make_project()
    rows = [factories.case_row("open-1"), factories.case_row("CANARY-1", 2, partition="holdout")]
    case_set = case_set_load(
        project=project, name="both", version="1", rows=rows, partition="development", file="x.csv", now=NOW
    )[0]
    assert case_set.cases.count() == 2
    manifest_review: dict[str, Any] = {
        "file": "labels.csv",
        "format": "csv",
        "quoting": "minimal",
        "join": {"column": "id"},
        "mapping": "yes-no@1",
        "sides": {"both": {"authors": {"ann": "ann"}, "adjudicated": "final"}},
    }
    system = factories.load_artifacts(case_set)
    reader = factories.make_reader(project)
    labels = {"open-1": "Yes", "CANARY-1": "Yes"}
    comparison = comparison_open(
        project=project,
        name="swap-1",
        kind="judge_swap",
        partition="development",
        old=(factories.load_run(system, factories.judged(labels)), reader),
        new=(factories.load_run(system, factories.judged(labels), "new-judge"), reader),
        labels=["fail", "pass"],
        rules=factories.RULES,
        slices=[],
        blocking_slices=[],
    )
    audit = factories.make_audit(comparison, review={"sources": [manifest_review]})
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    file = tmp_path / "labels.csv"
    file.write_text("id,ann,final\nopen-1,Yes,Yes\nCANARY-1,Yes,Yes\n")
    for scope in ("drawn or refused", "drawn only", "all"):
        report = reviews_import(audit=audit, paths=[file], scope=scope, actor=factories.operator(audit), now=NOW)  # type: ignore[arg-type]
        assert (report.elsewhere, report.not_drawn) == (1, 0)
    anchors = tmp_path / "anchors.csv"
    call_command("export_anchors", audit.name, str(anchors))
    assert "open-1" in anchors.read_text()
    assert "CANARY" not in anchors.read_text()
