"""Integrity first, then transitions; and a page with nothing to show says what to do next."""

import re
from pathlib import Path

import pytest
from django.test import Client
from django.utils.html import escape

from adjudication.models import Item
from audits.exports.comparison import transition_tables
from audits.exports.wording import interval_words
from audits.models import Audit
from audits.services.registering import audit_register
from core.models import Project
from core.services import operator_of
from tests.audits.views.conftest import NOW, Page, look, open_audit, settle

pytestmark = pytest.mark.django_db


def test_audit_opens_on_its_integrity(draft: Audit, read: Page) -> None:
    text, report = read("audits/swap-1/"), draft.comparison.summary.integrity
    assert f"{report['eligible']} of {report['cases']} cases are eligible." in text
    assert "The rules of the manifest hold." in text
    for state, ids in report["cases_named"].items():
        assert f'<th scope="row">{state}</th><td class="number">{len(ids)}</td>' in text
        assert ", ".join(ids) in text
    assert '<a href="/p/alpha/audits/swap-1/" aria-current="page">Integrity</a>' in text


def test_transitions_stand_after_the_number_of_eligible_cases(draft: Audit, read: Page) -> None:
    text, summary = read("audits/swap-1/transitions"), draft.comparison.summary
    report, eligible = summary.transitions, summary.integrity["eligible"]
    assert f"over {eligible} eligible of 120 cases" in text
    assert f"All cases: {report['all']['changed']} of {eligible} eligible pairs changed" in text
    assert f"Changed decisions in blocking slices: {len(report['blocking_changes'])}" in text
    for name in ("Changed verdicts by task", "Changed verdicts by risk"):
        assert name in text
    column = re.findall(r'<td class="number">([\d.]+) %</td>', text)
    assert len(column) >= 5
    assert all(re.fullmatch(r"\d+\.\d", share) for share in column)  # digits stand below each other


def test_long_lists_are_cut_and_the_page_says_so(draft: Audit, read: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audits.pages.SHOWN_VALUES", 2)
    assert "The 2 of 3 values with the most changes; report.json has them all." in read("audits/swap-1/transitions")


def test_tables_keep_the_first_changes_and_the_values_with_most() -> None:
    change = {"slice": "risk=high", "case_id": "a", "old": "pass", "new": "fail"}
    matrices = {
        name: {"pairs": 9, "changed": changed, "counts": [[0, changed], [0, 9 - changed]]}
        for name, changed in zip("xyz", (1, 5, 3), strict=True)
    }
    whole = {"pairs": 9, "changed": 9, "counts": [[0, 9], [0, 0]]}
    found = {"labels": ["fail", "pass"], "all": whole, "slices": {"task": matrices}, "blocking_changes": [change] * 3}
    tables = transition_tables(found, changes=2, values=2)
    assert (len(tables["blocking_changes"]), tables["all_blocking"]) == (2, 3)
    assert [(name, counts) for name, _, _, counts in tables["slices"][0]["values"]] == [("y", [5]), ("z", [3])]
    assert tables["moves"] == ["fail → pass"]
    assert tables["rows"] == [("fail", [0, 9]), ("pass", [0, 0])]


def test_empty_list_says_how_an_audit_begins(project: Project, read: Page) -> None:
    text = read("audits")
    assert "No audit is open yet. An audit begins with a manifest" in text
    assert 'href="/p/alpha/audits/new"' in text


def test_list_says_of_a_draft_what_to_do(draft: Audit, read: Page) -> None:
    text = read("audits")
    assert "Judge swap, draft" in text
    assert "Read the integrity report. Then register the plan: only then is a sample drawn." in text


def test_draft_has_nothing_to_watch_extend_or_take_away_and_says_so(draft: Audit, read: Page) -> None:
    assert "There is nothing to watch yet: the plan is a draft" in read("audits/swap-1/monitor")
    assert "The plan is still a draft, so there is no sample to extend." in read("audits/swap-1/extend")
    assert "There are no anchors before a sample is drawn." in read("audits/swap-1/results")
    assert "There is no look here." in read("audits/swap-1/looks")


def test_registered_audit_without_a_look_says_what_it_waits_for(registered: Audit, read: Page) -> None:
    said = f"{registered.draws.count()} cases wait for the reviewers. The first settled one brings the first look."
    assert said in read("audits/swap-1/monitor")
    assert said in read("audits")


def test_audit_under_way_says_how_many_are_left(watched: Audit, read: Page) -> None:
    drawn = watched.draws.count()
    text = read("audits")
    assert f"{drawn - 1} of {drawn} drawn cases settled" in text
    assert f"1 of {drawn} drawn cases are still to be settled." in text or "The final look is made." in text
    assert f"<p>{interval_words(watched.looks.get().result)}</p>" in text


def test_audit_short_of_its_target_is_sent_to_the_extension(project: Project, read: Page, tmp_path: Path) -> None:
    audit = open_audit(project, tmp_path, "short", number=300)
    audit.plan |= {"allocation": {"disagree": 25}}
    audit.save()
    audit_register(audit=audit, actor=operator_of(project), now=NOW)
    settle(audit)
    look(audit)
    assert "All drawn cases are settled, and the target is not reached. Draw more cases." in read("audits")
    assert re.search(r"About \d+ more labels \(\d+ to \d+\) reach ±2.0 points.", read("audits/short/extend"))


def test_final_look_sends_to_the_report(registered: Audit, read: Page) -> None:
    settle(registered)
    look(registered)
    assert registered.looks.get().final
    assert "The final look is made. Take the report and the anchors; more labels need a new plan." in read("audits")
    assert "The audit has come to the stop of its plan: more labels need a new plan, in another audit." in read(
        "audits/swap-1/extend"
    )


def test_long_list_is_paged(
    draft: Audit, lead: Client, monkeypatch: pytest.MonkeyPatch, project: Project, tmp_path: Path
) -> None:
    open_audit(project, tmp_path, "swap-2")
    monkeypatch.setattr("audits.overview.PAGE", 1)
    first = lead.get("/p/alpha/audits")
    older = lead.get(f"/p/alpha/audits?before={first.context['more']}")
    names = [[one.audit.name for one in answer.context["standings"]] for answer in (first, older)]
    assert (names, older.context["more"]) == ([["swap-2"], ["swap-1"]], None)


def test_names_are_shown_as_the_characters_they_are(draft: Audit, read: Page) -> None:
    name = "<img src=x onerror=alert(1)>"
    Audit.objects.filter(pk=draft.pk).update(name=name)
    text = read("audits")
    assert name not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text


def test_cases_settled_outside_the_sample_are_said_apart(registered: Audit, read: Page) -> None:
    case = registered.comparison.case_set.cases.exclude(draws__audit=registered).first()
    Item.objects.create(queue=registered.queue, case=case, question=case.input_hash, state="settled")
    assert "1 settled cases stand outside the sample, and no interval uses them." in read("audits/swap-1/monitor")


def test_audit_whose_name_holds_slashes_and_signs_has_all_its_pages(
    project: Project, lead: Client, tmp_path: Path
) -> None:
    audit = open_audit(project, tmp_path, "plain")
    name = "a/monitor/50 %? #1 שלום"
    Audit.objects.filter(pk=audit.pk).update(name=name)
    listed = lead.get("/p/alpha/audits").context["standings"][0]
    for tab in lead.get(listed.url).context["tabs"]:
        answer = lead.get(tab.url)
        assert answer.context["audit"].name == name
        # Eight tabs of a browser, or of a screen reader's list, are told apart.
        assert f"<title>{tab.label} · {escape(name)} · Tertium</title>" in answer.content.decode()
