"""The list of a project's audits: where each stands against its target, and what waits for the lead who looks."""

from pathlib import Path

import pytest

from adjudication.models import Skip
from audits.exports.wording import remaining_words
from audits.models import Audit
from audits.plans import sizing_of
from audits.services.registering import audit_register
from audits.templatetags.figures import labels_used, points
from core.models import Project
from core.services import operator_of
from tests.audits.views.conftest import NOW, Page, People, client_of, look, open_audit, settle

pytestmark = pytest.mark.django_db


def waiting_in(text: str) -> str:
    return text.partition("Waits for you")[2].partition("</section>")[0]


def test_draft_says_what_it_plans_and_waits_for_the_lead(draft: Audit, read: Page) -> None:
    text, total = read("audits"), sum(row["labels"] for row in sizing_of(draft).strata)
    assert f"No interval yet, target ±2.0 points. 0 labels done, {total} planned." in text
    where = '<a href="/p/alpha/audits/swap-1/plan">Go to the plan</a>'
    assert (
        f"<bdi>swap-1</bdi>: Read the integrity report. Then register the plan: only then is a sample drawn. {where}"
        in (waiting_in(text))
    )


def test_audit_under_way_says_its_width_against_its_target_and_the_labels_done_and_needed(
    registered: Audit, read: Page
) -> None:
    settle(registered, first=60)
    look(registered)
    text, found = read("audits"), registered.looks.get()
    width = found.result["interval"]["half_width"]
    done = labels_used(found.result)
    assert f"±{points(width)} points now, target ±2.0 points. {done} labels done." in text
    first, _, then = text.partition("cases are eligible, the rules of the manifest hold.")
    assert f"±{points(width)}" not in first
    assert f"±{points(width)}" in then
    assert f"{done} labels done. {remaining_words(found.remaining, half_width=0.02)}" in text


def test_nothing_waits_for_a_lead_while_reviewers_are_at_work(registered: Audit, read: Page) -> None:
    text = read("audits")
    assert "Nothing waits for you." in text
    assert "Waits for you" not in text


def test_case_that_somebody_passed_on_waits_for_the_lead(registered: Audit, people: People, read: Page) -> None:
    item = registered.queue.items.order_by("rank").first()
    Skip.objects.create(item=item, author=people["reviewer"], at=NOW)
    Skip.objects.create(item=item, author=people["adjudicator"], at=NOW)
    said = '1 open case somebody has passed on. <a href="/p/alpha/skipped">See who and why, or serve them again</a>'
    assert said in waiting_in(read("audits"))


def test_sample_that_is_settled_short_of_its_target_waits_for_an_extension(
    project: Project, read: Page, tmp_path: Path
) -> None:
    audit = open_audit(project, tmp_path, "short", number=600)
    audit.plan = {**audit.plan, "allocation": {"disagree": 20, "agree": 30}}
    audit.save()
    audit_register(audit=audit, actor=operator_of(project), now=NOW)
    settle(audit)
    look(audit)
    words = "All drawn cases are settled, and the target is not reached. Draw more cases."
    assert f'{words} <a href="/p/alpha/audits/short/extend">' in waiting_in(read("audits"))


def test_reviewer_and_adjudicator_find_what_waits_for_them_under_my_work(registered: Audit, people: People) -> None:
    pages = {
        role: " ".join(client_of(people[role]).get("/p/alpha/work").content.decode().split())
        for role in ("reviewer", "adjudicator")
    }
    cases = registered.queue.items.filter(slots__state="open").distinct().count()
    assert f"<strong>{cases}</strong> to review" in pages["reviewer"]
    assert "to settle" not in pages["reviewer"]
    assert "<strong>0</strong> to settle" in pages["adjudicator"]
