"""The monitor: what it shows of the interval and of what waits, and that it is quiet while nothing changes."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from adjudication.models import Label, Presentation, Review, ReviewReason, SettlementHow, Skip
from adjudication.services.leases import slot_claim
from adjudication.services.settlements import item_settle
from audits.exports.wording import conclusion, remaining_words
from audits.models import Audit, DeskFigures, LookChart
from audits.plans import half_width_of
from audits.progress import progress_of
from audits.services import looks
from audits.services.charts import chart_bring_up_to_date
from audits.services.registering import audit_register
from audits.stats.estimate import estimate
from audits.templatetags.figures import labels_used
from core.models import Project, Role
from core.services import member_add, operator_of
from tests.audits.views.conftest import NOW, Page, People, client_of, look, open_audit, settle

pytestmark = pytest.mark.django_db

MONITOR = "audits/swap-1/monitor"


def live(client: Client, seen: str = "") -> Any:
    return client.get(f"/p/alpha/{MONITOR}/live?seen={seen}")


def mark_of(client: Client) -> str:
    found = re.search(r"live\?seen=(\w+)", client.get(f"/p/alpha/{MONITOR}").content.decode())
    assert found
    return found[1]


def test_nothing_new_is_answered_with_nothing(watched: Audit, lead: Client) -> None:
    answer = live(lead, mark_of(lead))
    assert (answer.status_code, answer.content) == (204, b"")


def test_page_that_has_seen_nothing_gets_the_fragment(watched: Audit, lead: Client) -> None:
    answer = live(lead)
    assert answer.status_code == 200
    assert answer.content.decode().startswith('<div id="live" hx-get="/p/alpha/audits/swap-1/monitor/live?seen=')


def test_settlement_brings_a_new_fragment(registered: Audit, lead: Client) -> None:
    settle(registered, first=1)
    before = mark_of(lead)
    settle(registered, first=1)
    assert live(lead, before).status_code == 200


@pytest.mark.parametrize("what", ["look", "lease", "skip", "chart"])
def test_whatever_else_the_page_shows_brings_one_too(
    registered: Audit, lead: Client, people: People, what: str
) -> None:
    settle(registered, first=2)
    before = mark_of(lead)
    if what in ("look", "chart"):
        look(registered)
    if what == "chart":
        before = mark_of(lead)
        LookChart.objects.create(look=registered.looks.get(), made_at=NOW)
    if what in ("lease", "skip"):
        lease = slot_claim(queue=registered.queue, actor=people["reviewer"], now=NOW.replace(year=2100))
        assert lease is not None
    assert live(lead, before).status_code == 200


def test_interval_stands_with_its_policy_its_n_and_the_others_beside_it(watched: Audit, read: Page) -> None:
    text, result = read(MONITOR), watched.looks.get().result
    assert result["interval"]
    for said in (
        "monitored, final look: in force" if result["final"] else "monitored, not final: in force",
        "fixed n: valid only at the planned stop",
        "human labels only, fixed n",
        f"n = {labels_used(result)} of {result['size']}; 95 % level",
        "The policy in force is monitored: any number of looks until the target width.",
        conclusion(result, half_width=0.02),
    ):
        assert said in text
    chart = LookChart.objects.get()
    assert f'<img src="/p/alpha/audits/swap-1/chart-{chart.look_id}.svg"' in text
    assert "The table of looks has every value." in text
    assert "<caption>How much more often the new judge is right than the old one, in percentage points, after" in text


def test_one_sentence_says_what_may_be_concluded_and_what_is_still_needed(registered: Audit, read: Page) -> None:
    settle(registered, first=60)
    look(registered)
    found = registered.looks.get()
    half_width = half_width_of(registered)
    said = (
        f"{conclusion(found.result, half_width=half_width)} {remaining_words(found.remaining, half_width=half_width)}"
    )
    assert f'<p class="verdict" role="status">{said}</p>' in read(MONITOR)


def test_ten_leads_who_watch_at_once_cost_one_computation(
    project: Project, registered: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []
    monkeypatch.setattr(
        looks, "estimate", lambda *given, **options: (computed.append("look"), estimate(*given, **options))[1]
    )
    leads = [client_of(member_add(project=project, username=f"lead-{n}", role=Role.LEAD)) for n in range(2, 12)]
    marks = [mark_of(lead) for lead in leads]
    settle(registered, first=60)
    assert [live(lead, mark).status_code for lead, mark in zip(leads, marks, strict=True)] == [200] * 10
    assert computed == []
    for _ in range(10):  # a message for each of them
        look(registered)
    answers = [live(lead, mark) for lead, mark in zip(leads, marks, strict=True)]
    said = f"after {registered.looks.get().watermark} settlements"
    assert [said in answer.content.decode() for answer in answers] == [True] * 10
    assert computed == ["look"]


def test_answers_are_counted_by_the_worker_and_read_by_the_page(
    registered: Audit, people: People, read: Page, lead: Client
) -> None:
    item = registered.queue.items.filter(slots__n=2).order_by("rank").first()
    other = member_add(project=registered.project, username="reviewer-2", role=Role.REVIEWER)
    for person, label in ((people["reviewer"], "pass"), (other, "fail")):
        review = Review.objects.create(item=item, author=person, seconds=30 if label == "pass" else 50, at=NOW)
        Label.objects.create(review=review, artifact=item.shown.get().artifact, label=label)
        ReviewReason.objects.create(review=review, code="rubric boundary")
    settle(registered, first=1)
    look(registered)
    before = mark_of(lead)
    assert "<h2>Answers</h2>" not in read(MONITOR)
    chart_bring_up_to_date(audit=registered, now=NOW)
    assert live(lead, before).status_code == 200
    text = read(MONITOR)
    one = "Reviewers who labelled the same artifact: raw agreement 0 %, on 1 artifacts with 2 labels; one case alone"
    assert f"{one} does not tell agreement from chance." in text
    slices = sorted(f"{name}={item.case.slices[name]}" for name in registered.comparison.slices)
    counts = ", ".join(f"<bdi>{slice_}</bdi> 2" for slice_ in slices)
    row = '<th scope="row" dir="auto">rubric boundary</th><td>rubric</td><td class="number">2</td>'
    assert f"{row}<td>{counts}</td>" in text
    assert DeskFigures.objects.count() == 1


def test_pace_is_that_of_the_desk_and_not_of_an_import(registered: Audit, people: People, read: Page) -> None:
    settle(registered, first=8)  # all at one moment, by nobody at the desk
    assert "Pace: too few labels from the desk to tell (0 of 20 intervals between labels are known)." in read(MONITOR)
    at = NOW
    for place, item in enumerate(registered.queue.items.filter(state="open").order_by("rank")[:21]):
        at = NOW + timedelta(minutes=2 * place)
        shown = Presentation.objects.create(item=item, author=people["reviewer"], order=[], salt="0", at=at)
        Review.objects.create(item=item, author=people["reviewer"], presentation=shown, at=at)
        decision = {item.shown.get().artifact_id: "pass"}
        item_settle(item=item, how=SettlementHow.SINGLE, decision=decision, actor=people["reviewer"], now=at)
    text = read(MONITOR)
    assert "Pace: 30 labels an hour of work (23 to 40), from the last 20 over 0.7 hours" in text
    still = progress_of(registered, at).open
    assert f"The drawn cases that are open take about {still / 39.96:.1f} to {still / 22.52:.1f} hours of work" in text


def test_chart_shows_what_stands_beside_the_interval_in_force(registered: Audit) -> None:
    for _ in range(3):
        settle(registered, first=22)
        look(registered)
    chart_bring_up_to_date(audit=registered, now=NOW)
    svg, last = LookChart.objects.get().svg, registered.looks.latest("pk")
    assert last.low is not None
    wanted = {"interval in force", "human labels only, fixed n", "target"}
    wanted |= {"final look"} if last.final else {"forecast", "target expected"}
    assert {words for words in wanted if f">{words}<" not in svg} == set()


def test_chart_is_an_image_that_runs_nothing(watched: Audit, lead: Client) -> None:
    answer = lead.get(f"/p/alpha/audits/swap-1/chart-{watched.looks.get().pk}.svg")
    svg = answer.content.decode()
    assert (answer["Content-Type"], svg[:4]) == ("image/svg+xml", "<svg")
    assert "<script" not in svg
    assert "style=" not in svg
    assert "default-src 'self'" in answer["Content-Security-Policy"]


def test_strata_say_what_waits_and_what_blocks(registered: Audit, people: People, read: Page) -> None:
    items = list(registered.queue.items.filter(draws__stratum__name="agree").order_by("rank")[:5])
    others = registered.queue.items.filter(pk__in=[item.pk for item in items])
    others.update(state="conflict")
    settle(registered)
    others.exclude(pk=items[0].pk).update(state="open")
    Skip.objects.create(item=items[1], author=people["reviewer"], at=NOW, reason="too hard for me")
    text = read(MONITOR)
    stratum = next(one for one in progress_of(registered, NOW).strata if one.name == "agree")
    assert (stratum.counting, stratum.gaps) == (0, 5)
    assert (
        f"{stratum.waiting} waiting behind 5: 1 with the adjudicator, 1 skipped, to be served first, 3 waiting" in text
    )
    assert f'Open conflicts: 1, by the order of adjudication: <span dir="auto">{items[0].case.case_id}</span>' in text
    assert "<bdi>reviewer-1</bdi>" in text
    assert "too hard for me" in text


def test_lease_that_ran_out_no_longer_counts_as_a_review(registered: Audit, people: People) -> None:
    slot_claim(queue=registered.queue, actor=people["reviewer"], now=NOW)
    assert progress_of(registered, NOW).open_reasons["review"] == 1
    assert progress_of(registered, NOW.replace(hour=12)).open_reasons["review"] == 0


def test_too_early_shows_no_number_and_says_which_stratum_waits(registered: Audit, read: Page) -> None:
    settle(registered, first=6)
    look(registered)
    text = read(MONITOR)
    assert "Nothing yet: " in text
    assert "Too early: no interval is shown before every sampled stratum has 20 settled labels" in text
    assert "in force" not in text.split("<h2>Looks</h2>")[0]
    assert re.search(r'<td class="number">–</td><td class="number">(too early|no labels yet)', text)


def test_undecided_cases_are_bounded_in_the_open(registered: Audit, read: Page) -> None:
    item = registered.queue.items.filter(draws__stratum__name="disagree").order_by("rank").first()
    item_settle(
        item=item,
        how=SettlementHow.UNDERSPECIFIED,
        decision={item.shown.get().artifact_id: None},
        actor=operator_of(registered.project),
        now=NOW,
    )
    settle(registered)
    look(registered)
    text, result = read(MONITOR), registered.looks.get().result
    assert "with every undecided case at either extreme" in text
    assert f"Nobody could judge 1 of {result['n']} settled cases" in text


def test_older_looks_are_paged(registered: Audit, lead: Client, read: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(4):
        settle(registered, first=1)
        look(registered)
    monkeypatch.setattr("audits.monitor.PAGE", 3)
    monkeypatch.setattr("audits.monitor.SHOWN", 3)
    assert '<a href="/p/alpha/audits/swap-1/looks">All looks</a>' in read(MONITOR)
    first = lead.get("/p/alpha/audits/swap-1/looks")
    older = lead.get(f"/p/alpha/audits/swap-1/looks?before={first.context['more']}")
    marks = [look.watermark for look in [*first.context["looks"], *older.context["looks"]]]
    assert marks == [4, 3, 2, 1]


def test_queries_do_not_grow_with_the_cases(project: Project, people: People, lead: Client, tmp_path: Path) -> None:
    counts: dict[str, list[int]] = {}
    for name, number in (("small", 120), ("large", 360)):
        audit = open_audit(project, tmp_path, name, number=number)
        audit_register(audit=audit, actor=operator_of(project), now=NOW)
        settle(audit, but=3)
        look(audit)
        for path in ("", "transitions", "plan", "extend", "monitor", "monitor/live", "results", "report.html"):
            lead.get(f"/p/alpha/audits/{name}/{path}")
            with CaptureQueriesContext(connection) as made:
                lead.get(f"/p/alpha/audits/{name}/{path}")
            counts.setdefault(path, []).append(len(made))
    assert all(small == large for small, large in counts.values()), counts
    assert max(counts["monitor/live"]) <= 30
