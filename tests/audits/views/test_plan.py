"""The plan before and after it is binding: what it asks, who registered it, and how it grows."""

from pathlib import Path

import pytest
from django.test import Client

from audits.manifest import load_manifest
from audits.models import Audit, AuditState, Draw, Job, JobKind, JobState, PlanChart
from audits.plans import sizing_of
from audits.services.charts import plan_charts_draw
from audits.services.jobs import job_ask
from audits.services.opening import audit_open
from audits.services.registering import audit_register
from audits.services.working import job_run
from audits.synthetic import synthetic_project
from audits.templatetags.figures import percent, points
from core.models import Event, Project
from core.services import operator_of
from tests.audits.views.conftest import NOW, Page, People, open_audit, settle

pytestmark = pytest.mark.django_db


def run_last() -> Job:
    job = Job.objects.latest("pk")
    job_run(job=job.pk, clock=lambda: NOW)
    job.refresh_from_db()
    return job


def test_draft_says_what_is_asked_and_how_many_labels_it_needs(draft: Audit, read: Page) -> None:
    text = read("audits/swap-1/plan")
    labels = {row["name"]: row["labels"] for row in sizing_of(draft).strata}
    total, cases = sum(labels.values()), sum(row["size"] for row in sizing_of(draft).strata)
    assert f"{total} labels for {cases} eligible cases, under the policy monitored" in text
    for said in (
        "how much more often the new judge is right than the old one",
        "these eligible cases and no others",
        "rubric <bdi>right-answer 1</bdi>; at the desk 25 % of the drawn cases are answered twice",
        "monitored: any number of looks until the target width",
        "half-width ±2.0 points",
        f"draws {total} cases and opens them for review. It cannot be taken back.",
    ):
        assert said in text
    for name, number in labels.items():
        assert f'<th scope="row" dir="auto">{name}</th>' in text
        assert f'<td class="number">{number}</td>' in text


def test_draft_says_what_its_target_costs_under_each_policy_with_the_judge_and_without(
    draft: Audit, read: Page
) -> None:
    text, outlook = read("audits/swap-1/plan"), sizing_of(draft).outlook
    assert [one["policy"] for one in outlook["policies"]] == ["planned", "monitored", "anytime"]
    table = text.partition('id="policies"')[2].partition("</table>")[0]
    assert "monitored: the plan&#x27;s" in table or "monitored: the plan's" in table
    assert "planned: the plan" not in table
    for name, size in draft_strata(draft).items():
        pairs = [(one["labels"][name], one["plain"][name]) for one in outlook["policies"]]
        cells = "".join(f'<td class="number">{one}</td><td class="number">{other}</td>' for one, other in pairs)
        assert f'<th scope="row" dir="auto">{name}</th><td class="number">{size}</td>{cells}' in table
    for one in outlook["policies"]:
        assert sum(one["labels"].values()) <= sum(draft_strata(draft).values())
    difference = points(outlook["difference"])
    assert f"as a fixed-n interval it detects a difference of {difference} points with power 80 %" in text


def draft_strata(draft: Audit) -> dict[str, int]:
    return {row["name"]: row["size"] for row in sizing_of(draft).strata}


def test_curve_is_a_chart_of_the_worker_with_its_numbers_in_a_table(large: Audit, lead: Client, read: Page) -> None:
    assert 'id="curve"' in read("audits/large/plan")
    assert ".svg" not in read("audits/large/plan").partition("Width against labels")[2]
    assert (plan_charts_draw(now=NOW), plan_charts_draw(now=NOW)) == (1, 0)
    text, chart = read("audits/large/plan"), PlanChart.objects.get()
    assert f'<img src="/p/alpha/audits/large/plan-{chart.pk}.svg"' in text
    assert "The table below has the same numbers." in text
    answer = lead.get(f"/p/alpha/audits/large/plan-{chart.pk}.svg")
    svg = answer.content.decode()
    assert (answer["Content-Type"], svg[:4], "<script" in svg, "style=" in svg) == (
        "image/svg+xml",
        "<svg",
        False,
        False,
    )
    table = text.partition('id="curve"')[2]
    for point in sizing_of(large).outlook["curve"]:
        widths = [*point["half_widths"].values(), point["without_judge"]]
        cells = "".join(f'<td class="number">±{points(width)}</td>' for width in widths)
        row = (
            f'<th scope="row" class="number">{point["labels"]}</th>{cells}<td class="number">{percent(point["chance"])}'
        )
        assert row in table


def test_budget_of_the_manifest_has_its_chance(large: Audit, read: Page) -> None:
    outlook = sizing_of(large).outlook
    (chance,) = [point["chance"] for point in outlook["curve"] if point["labels"] == BUDGET]
    assert 0 < chance < 1
    text = read("audits/large/plan")
    assert f"The chance that the budget of {BUDGET} labels reaches ±4.0 points is {percent(chance)}." in text
    assert f'<td class="number">{percent(chance)}</td><td>budget</td>' in text


BUDGET = 60


@pytest.fixture
def large(project: Project, tmp_path: Path) -> Audit:
    """Large enough that a sample is a part of its strata, with a budget that may do or not."""
    path = synthetic_project(tmp_path / "large", name="large", project=project.name, seed="5", number=600)
    asked = f'half_width: "0.04"\n  budget: "{BUDGET}"'
    path.write_text(path.read_text().replace('half_width: "0.02"', asked))
    return audit_open(manifest=load_manifest(path), actor=operator_of(project), now=NOW).audit


def test_references_of_an_earlier_audit_are_counted_as_labels_saved(
    registered: Audit, read: Page, project: Project, tmp_path: Path
) -> None:
    settle(registered, first=40)
    path = tmp_path / "swap-1" / "manifest.yaml"
    again = path.read_text().replace("migration_id: swap-1", "migration_id: swap-2")
    path.write_text(again)
    plain = audit_open(manifest=load_manifest(path), actor=operator_of(project), now=NOW).audit
    total = sum(row["labels"] for row in sizing_of(plain).strata)
    said = f"Earlier audits under this rubric have settled 40 of the {total} cases"
    unused = f"{said}. With review.reuse_references in the manifest, {total - 40} labels would be left to give."
    assert unused in read("audits/swap-2/plan")
    path.write_text(again.replace("reuse_references: false", "reuse_references: true"))
    wanted = audit_open(manifest=load_manifest(path), actor=operator_of(project), now=NOW).audit
    assert (
        f"Labels that are there already settle 40 of the {total} cases: {total - 40} labels are left to give."
        in read("audits/swap-2/plan")
    )
    assert audit_register(audit=wanted, actor=operator_of(project), now=NOW).reused == 40


def test_plan_without_a_target_has_no_curve(project: Project, read: Page, tmp_path: Path) -> None:
    path = synthetic_project(tmp_path / "fixed", name="fixed", project=project.name, seed="5", number=60)
    fixed = path.read_text().replace('  half_width: "0.02"\n  policy: monitored', "  policy: planned")
    path.write_text(fixed.replace("{disagree: optimal,", '{disagree: "8", agree: "20",'))
    audit_open(manifest=load_manifest(path), actor=operator_of(project), now=NOW)
    text = read("audits/fixed/plan")
    assert "none: the numbers of labels are fixed in the plan" in text
    assert "What the target costs" not in text


def test_draft_that_follows_its_manifest_shows_the_labels_of_the_new_plan(
    draft: Audit, read: Page, tmp_path: Path
) -> None:
    before = sizing_of(draft)
    path = tmp_path / "swap-1" / "manifest.yaml"
    path.write_text(path.read_text().replace('half_width: "0.02"', 'half_width: "0.05"'))
    audit_open(manifest=load_manifest(path), actor=operator_of(draft.project), now=NOW)
    draft.refresh_from_db()
    sizing, text = sizing_of(draft), read("audits/swap-1/plan")
    assert sizing is not None
    assert sizing != before
    assert "half-width ±5.0 points" in text
    assert f"{sum(row['labels'] for row in sizing.strata)} labels for" in text


def test_lead_registers_through_the_page(draft: Audit, lead: Client, people: People, read: Page) -> None:
    answer = lead.post("/p/alpha/audits/swap-1/register")
    job = run_last()
    assert (answer.status_code, answer["Location"]) == (302, f"/p/alpha/jobs/{job.pk}")
    draft.refresh_from_db()
    assert (job.state, draft.state) == (JobState.DONE, AuditState.REGISTERED)
    registration = draft.registrations.get()
    assert registration.actor == people["lead"]
    assert registration.labels == {row["name"]: row["labels"] for row in sizing_of(draft).strata}
    assert lead.get(f"/p/alpha/jobs/{job.pk}/live")["HX-Redirect"] == "/p/alpha/audits/swap-1/monitor"
    text = read("audits/swap-1/plan")
    for said in (
        "2026-03-01 09:00:00 UTC",
        registration.frame_hash,
        registration.plan_hash,
        registration.seed,
        "<bdi>lead-1</bdi>",
    ):
        assert said in text
    assert "Register the plan" not in text


def test_second_press_is_refused_while_the_first_is_under_way(draft: Audit, lead: Client) -> None:
    lead.post("/p/alpha/audits/swap-1/register")
    answer = lead.post("/p/alpha/audits/swap-1/register")
    assert answer.status_code == 409
    assert "work on swap-1 is under way already; allowed: wait until it has ended" in answer.content.decode()
    assert Job.objects.count() == 1


def test_registering_again_is_refused_in_the_words_of_the_command(registered: Audit, lead: Client) -> None:
    lead.post("/p/alpha/audits/swap-1/register")
    job = run_last()
    assert job.problems == [{"what": "swap-1 is registered already", "allowed": "extend swap-1"}]
    text = lead.get(f"/p/alpha/jobs/{job.pk}").content.decode()
    assert "swap-1 is registered already; allowed: extend swap-1" in text


def test_plan_whose_integrity_fails_has_no_button_and_says_why(project: Project, read: Page, tmp_path: Path) -> None:
    audit = open_audit(project, tmp_path, "odd", number=240)  # its case 230 has an unmapped label
    stored = audit.comparison.summary
    failed = stored.integrity | {"passed": False, "failures": ["fail_on_unmapped_label: one"]}
    text = read("audits/odd/plan")
    assert "Register the plan and draw" in text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(stored), "integrity", property(lambda self: failed))
        text, listed = read("audits/odd/plan"), read("audits")
    assert "Register the plan and draw" not in text
    assert "The plan cannot be registered while a rule of the manifest does not hold." in text
    assert "A rule of the manifest does not hold. Mend the input" in listed


@pytest.mark.parametrize("under_way", [False, True])
def test_plan_whose_integrity_holds_is_never_said_to_be_held_up_by_it(
    draft: Audit, lead: Client, people: People, read: Page, under_way: bool
) -> None:
    if under_way:
        job_ask(audit=draft, kind=JobKind.REGISTER, actor=people["lead"], now=NOW)
    else:
        audit_register(audit=draft, actor=people["lead"], now=NOW)
    text = read("audits/swap-1/plan")
    assert "Register the plan and draw" not in text
    assert "The plan cannot be registered" not in text


def test_sample_is_extended_through_the_page(registered: Audit, lead: Client, people: People) -> None:
    rows = lead.get("/p/alpha/audits/swap-1/extend").context["rows"]
    wanted = {row.field: row.labels + (2 if row.name == "agree" else 0) for row in rows}
    before = Draw.objects.count()
    answer = lead.post("/p/alpha/audits/swap-1/extend", wanted)
    assert answer.status_code == 302
    assert run_last().state == JobState.DONE
    assert Draw.objects.count() == before + 2
    assert registered.registrations.latest("n").actor == people["lead"]
    names = list(Event.objects.filter(name="audits.plan-registered").values_list("actor__pseudonym", flat=True))
    assert names == ["operator", "lead-1"]


@pytest.mark.parametrize(
    ("agree", "said"),
    [
        ("many", "agree: not a number of labels (found &#x27;many&#x27;); allowed: a whole number"),
        ("0", "agree: not a possible number of labels (found &#x27;0&#x27;); allowed: a whole number from 30"),
        (None, "the sample would not grow: these are drawn already; allowed: more labels in a stratum"),
    ],
)
def test_impossible_extension_is_refused_at_once(registered: Audit, lead: Client, agree: str | None, said: str) -> None:
    rows = lead.get("/p/alpha/audits/swap-1/extend").context["rows"]
    sent = {row.field: agree if agree is not None and row.name == "agree" else row.labels for row in rows}
    answer = lead.post("/p/alpha/audits/swap-1/extend", sent)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not Job.objects.exists()


def test_waiting_work_is_said_on_the_plan(draft: Audit, people: People, read: Page) -> None:
    job = job_ask(kind=JobKind.REGISTER, audit=draft, actor=people["lead"], now=NOW)
    text = read("audits/swap-1/plan")
    assert f'It is being registered now. <a href="/p/alpha/jobs/{job.pk}">See how far it is</a>' in text
    assert "Register the plan and draw" not in text
