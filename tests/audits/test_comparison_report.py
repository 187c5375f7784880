"""The comparison report: the same numbers in words, tables, lines and chart; on pages, in the file and as JSON."""

import json
import re
from contextlib import suppress
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from adjudication.services.settlements import item_settle
from audits.exports.charts import change_chart
from audits.exports.comparison import Change, change_rows, floor_words, stability_changes
from audits.exports.report import report_data, report_html
from audits.models import Audit, ChangeChart
from audits.services.charts import change_charts_draw
from audits.services.registering import audit_register
from core.models import Project, Role
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db

# 100 cases: 20 changed between the judges, 12 of them of high risk; three judgments of the new judge are lacking.
CASES = [f"q{n:03d}" for n in range(100)]
VERDICTS = {case: ("Yes", None if n >= 97 else "No" if n < 20 else "Yes") for n, case in enumerate(CASES)}
RISKS = {case: {"risk": "high" if n < 12 or n >= 97 else "low"} for n, case in enumerate(CASES)}
AGAIN = {case: "No" if n < 24 else "Yes" for n, case in enumerate(CASES[:97])}
SWAPPED = {case: "No" if n >= 10 else "Yes" for n, case in enumerate(CASES[:97])}


@pytest.fixture
def audit(db: None) -> Audit:
    project = factories.make_project("alpha")
    comparison = factories.make_swap(
        project,
        VERDICTS,
        slices=RISKS,
        blocking=["risk=high"],
        further=[
            ("new", "repeat", AGAIN),
            ("new", "repeat", {"q000": "Yes"}),
            ("new", "order probe", SWAPPED),
            ("old", "evidence probe", dict.fromkeys(CASES, "Yes")),
        ],
    )
    return factories.make_audit(comparison)


@pytest.fixture
def lead(audit: Audit) -> Client:
    client = Client()
    client.force_login(factories.make_person(audit.project, "lea", Role.LEAD).user)
    return client


def _command(name: str, *options: str) -> str:
    """What it prints, however it ends: a blocking slice changed here, so that `transitions` exits 1."""
    out = StringIO()
    with suppress(SystemExit):
        call_command(name, "alpha/swap-1", *options, stdout=out)
    return out.getvalue()


def _text(answer: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


WORDS = [
    "Evidence probe of the old judge, run 5 (without the final message): 0 % of 100 verdicts changed.",
    "Left out of the rerun floor of the new judge, because of some cases only: run 3.",
    "Rerun floor of the new judge: 4.1 % of verdicts changed, over 1 pair of 2 runs.",
    "The verdict change rate between the sides, 20.6 %, is above what a rerun changes.",
    "Order sensitivity of the new judge, run 4 (swapped): 10.3 % of 97 verdicts changed.",
    "With repeats summarised as declared (majority), 20 of 93 verdicts differ between the sides, against 20 of 97; "
    "4 summaries have no verdict.",
]


def test_sentences_name_a_rerun_floor_order_sensitivity_and_evidence_apart(audit: Audit) -> None:
    summary = audit.comparison.summary
    assert floor_words(summary.transitions, summary.stability) == WORDS


def test_changes_within_the_floor_are_not_distinguishable_from_a_rerun(db: None) -> None:
    verdicts = {case: ("Yes", "No" if n < 3 else "Yes") for n, case in enumerate(CASES)}
    further = [("new", "repeat", {case: "No" if n < 9 else "Yes" for n, case in enumerate(CASES)})]
    summary = factories.make_swap(factories.make_project(), verdicts, further=further).summary
    words = floor_words(summary.transitions, summary.stability)
    assert "The verdict change rate between the sides, 3 %, is not distinguishable from what a rerun changes." in words


def test_floor_over_several_pairs_has_its_spread(db: None) -> None:
    further = [
        ("new", "repeat", {case: "No" if n < wrong else "Yes" for n, case in enumerate(CASES)}) for wrong in (22, 30)
    ]
    verdicts = {case: ("Yes", "No" if n < 20 else "Yes") for n, case in enumerate(CASES)}
    summary = factories.make_swap(factories.make_project(), verdicts, further=further).summary
    words = floor_words(summary.transitions, summary.stability)
    said = "Rerun floor of the new judge: 2 % to 10 %, median 8 %, of verdicts changed, over 3 pairs of 3 runs."
    assert said in words


def test_pages_show_integrity_by_slice_and_run_and_then_every_share(audit: Audit, lead: Client) -> None:
    integrity = _text(lead.get("/p/alpha/audits/swap-1/"))
    assert "Missing judgments go with risk (p = " in integrity
    assert "high 15 3 0 of 15 0 0 0 of 12 0 0" in integrity
    assert "new run 3 repeat, some cases only 1 1 0 0 0" in integrity
    transitions = _text(lead.get("/p/alpha/audits/swap-1/transitions"))
    assert "risk Eligible pairs Changed Share pass → fail" in transitions
    assert "high 12 12 100.0 % 12 low 85 8 9.4 % 8" in transitions
    for words in WORDS:
        assert words in transitions
    assert "new judge, run again run 1, run 2 97 4 4.1 %" in transitions
    assert "new judge, another order run 1, run 4 (swapped) 97 10 10.3 %" in transitions


def test_commands_print_the_same_words_and_give_the_same_json(audit: Audit) -> None:
    printed = _command("transitions")
    for words in WORDS:
        assert f"  {words}" in printed
    assert "  new judge, run again, run 1, run 2: 4 of 97 changed" in printed
    summary = audit.comparison.summary
    answer = json.loads(_command("transitions", "--json"))
    assert (answer["stability"], answer["integrity"]) == (summary.stability, summary.integrity)

    printed = _command("integrity")
    assert "  WARNING missing judgments go with risk (p = " in printed
    assert "  risk=high: 15 cases, 3 missing; unparsed 0 of 15 old, 0 of 12 new" in printed
    assert "  new run 2, repeat: 97 judged; 97 valid" in printed
    answer = json.loads(_command("integrity", "--json"))
    assert answer["missing_by_slice"] == summary.integrity["missing_by_slice"]
    assert [run["name"] for run in answer["runs"]["new"]] == ["run 1", "run 2", "run 3", "run 4 (swapped)"]


def test_integrity_stands_before_every_rate(audit: Audit, lead: Client) -> None:
    words = "Integrity: 97 of 100 cases are eligible, the rules of the manifest hold, 1 warning"
    for page in ("", "transitions", "plan", "monitor", "looks", "results"):
        assert words in _text(lead.get(f"/p/alpha/audits/swap-1/{page}")), page
    assert words in _command("status")
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    item = audit.queue.items.order_by("rank")[0]
    decision = dict.fromkeys(item.shown.values_list("artifact", flat=True), "pass")
    item_settle(item=item, how="single", decision=decision, actor=factories.operator(audit), now=NOW)
    assert _command("look").startswith(words)
    state = {"cases": 100, "eligible": 97, "passed": True, "warnings": 1}
    assert json.loads(_command("look", "--json"))["integrity"] == state
    assert json.loads(_command("status", "--json"))["integrity"] == state


def test_without_further_runs_the_page_says_what_is_not_known(db: None) -> None:
    project = factories.make_project("bare")
    factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No")}))
    client = Client()
    client.force_login(factories.make_person(project, "lea", Role.LEAD).user)
    text = _text(client.get("/p/bare/audits/swap-1/transitions"))
    assert "No further run was given: how much a judge changes when it is only run again" in text


def test_chart_has_a_bar_for_every_share_of_the_tables_and_its_number(audit: Audit) -> None:
    summary = audit.comparison.summary
    rows = change_rows(summary.transitions, summary.stability)
    assert [(row.group, row.name, row.changed, row.pairs) for row in rows] == [
        ("between the sides", "all cases", 20, 97),
        ("risk", "high", 12, 12),
        ("risk", "low", 8, 85),
        ("old judge, other evidence", "run 1, run 5 (without the final message)", 0, 100),
        ("new judge, run again", "run 1, run 2", 4, 97),
        ("new judge, another order", "run 1, run 4 (swapped)", 10, 97),
    ]
    svg = change_chart(rows)
    for number in ("20.6", "100.0", "9.4", "0.0", "4.1", "10.3"):
        assert f">{number}</text>" in svg
    assert "risk: high" in svg


def test_share_of_nothing_is_drawn_nowhere() -> None:
    assert change_chart([Change("between the sides", "all cases", 0, 0)]) == ""


def test_worker_draws_the_chart_once_and_page_and_report_show_it(audit: Audit, lead: Client) -> None:
    assert lead.get("/p/alpha/audits/swap-1/changes.svg").status_code == 404
    assert change_charts_draw(now=NOW) == 1
    assert change_charts_draw(now=NOW) == 0
    answer = lead.get("/p/alpha/audits/swap-1/changes.svg")
    assert (answer["Content-Type"], answer.content.decode()) == ("image/svg+xml", ChangeChart.objects.get().svg)
    page = lead.get("/p/alpha/audits/swap-1/transitions").content.decode()
    assert '<img src="/p/alpha/audits/swap-1/changes.svg"' in page
    assert ChangeChart.objects.get().svg in lead.get("/p/alpha/audits/swap-1/report.html").content.decode()


def test_report_file_holds_the_whole_comparison(audit: Audit) -> None:
    data, page = report_data(audit, NOW), report_html(audit, NOW, chart="")
    assert data["stability"] == audit.comparison.summary.stability
    for words in WORDS:
        assert words in page
    assert "new judge, run 4 (swapped)" in page


def test_notes_say_what_a_share_leaves_out(db: None) -> None:
    comparison = factories.make_swap(
        factories.make_project(),
        {"a": ("Yes", "Yes"), "b": ("Yes", "Yes")},
        further=[("new", "order probe", {"a": ""}), ("new", "repeat", {"a": "Yes", "b": ""})],
    )
    notes = [change.note for change in stability_changes(comparison.summary.stability)]
    assert notes == ["1 became or ceased to be valid", "1 became or ceased to be valid; covers only some of the cases"]


def test_outsider_has_no_chart(audit: Audit) -> None:
    change_charts_draw(now=NOW)
    client = Client()
    elsewhere: Project = factories.make_project("elsewhere")
    client.force_login(factories.make_person(elsewhere, "oz", Role.OWNER).user)
    assert client.get("/p/alpha/audits/swap-1/changes.svg").status_code == 404
