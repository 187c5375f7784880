"""Pages for everybody: no barrier, no overflow on a small screen, and no case that makes them slow."""

import time
from typing import Any

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from adjudication.models import Presentation
from adjudication.services.queues import NewItem, items_add, queue_open
from adjudication.services.reviews import item_skip
from core.models import Author, Project, Role, WebhookAttempt, WebhookKind
from core.webhooks import message_write, webhook_make
from tests import factories
from tests.e2e.conftest import Open, barriers, overflow

pytestmark = pytest.mark.django_db(transaction=True)
PHONE = {"viewport": {"width": 360, "height": 740}}
LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 4
HEBREW = "מהי בירת צרפת? (answer in one word)"
NASTY = "<img src=x onerror=alert(1)><script>document.title='owned'</script> \u202egnp.exe"


@pytest.fixture
def project(live_server: LiveServer) -> Project:
    return factories.make_project()


@pytest.fixture
def people(project: Project) -> dict[str, Author]:
    roles = {"ann": Role.REVIEWER, "ben": Role.REVIEWER, "ada": Role.ADJUDICATOR, "lea": Role.LEAD, "olga": Role.OWNER}
    return {name: factories.make_person(project, name, role) for name, role in roles.items()}


def fill(project: Project, people: dict[str, Author]) -> None:
    """A conflict with long words for the adjudicator, a case sent by Ann, one passed on by Ben, two outputs in hand."""
    rows = [factories.case_row(f"c{n}", n, input=text) for n, text in enumerate((HEBREW, LONG_WORD, NASTY, "short"))]
    case_set = factories.load_cases(project, rows)
    systems = [
        factories.load_artifacts(
            case_set,
            name,
            [factories.artifact_row(f"c{n}", n, f"{LONG_WORD} {NASTY} {name}", ("evidence " * 300,)) for n in range(4)],
        )
        for name in ("v1", "v2")
    ]
    queue = queue_open(project=project, name="q", rubric=factories.make_rubric(project, ("unacceptable", "acceptable")))
    for rank, case in enumerate(case_set.cases.order_by("pk"), 1):
        artifacts = tuple(system.artifacts.get(case=case).pk for system in systems)
        items_add(queue=queue, items=[NewItem(case.pk, artifacts, rank, 2 if rank == 1 else 1)])
    lease = factories.claim(queue, people["ann"])
    order = list(lease.item.shown.values_list("artifact", flat=True))
    Presentation.objects.create(item=lease.item, author=people["ann"], order=order[::-1], salt="s", at=factories.NOW)
    factories.submit(lease, "acceptable", rationale=LONG_WORD, reasons=["rubric boundary"])
    factories.answer(queue, people["ben"], None)
    passed_on = factories.claim(queue, people["ben"])
    item_skip(lease=passed_on, actor=people["ben"], reason=f"{LONG_WORD} {HEBREW}", now=factories.NOW)


def fill_webhook(lead: Author) -> int:
    """One with a long address and a message that failed."""
    now, url = factories.NOW, f"https://ci.example/{'tertium' * 60}"
    endpoint, _ = webhook_make(url=url, kinds=WebhookKind.values, actor=lead, now=now)
    message_write(
        project=lead.project, kind=WebhookKind.LOOK_COMPUTED, thing="look 1", data={"audit": LONG_WORD}, now=now
    )
    delivery = endpoint.deliveries.get()
    WebhookAttempt.objects.create(delivery=delivery, n=1, at=now, fault="no answer within 10 s")
    return endpoint.pk


PAGES = [
    ("nobody", "/login"),
    ("ann", "/p/p/work"),
    ("ann", "/p/p/review"),
    ("ann", "/p/p/keys"),
    ("ada", "/p/p/review"),
    ("ada", "/p/p/work"),
    ("lea", "/p/p/"),
    ("lea", "/p/p/skipped"),
    ("ann", "/p/p/nothing-here"),
    ("lea", "/p/p/review"),
    ("olga", "/p/p/reason-codes"),
    ("olga", "/p/p/members"),
    ("lea", "/p/p/webhooks"),
    ("lea", "/p/p/webhooks/{webhook}"),
    ("ann", "/account"),
]


@pytest.mark.parametrize("how", [{}, {"color_scheme": "dark", **PHONE}], ids=["light", "dark and small"])
def test_no_page_has_a_serious_barrier_or_is_wider_than_its_screen(
    project: Project, people: dict[str, Author], open_as: Open, how: dict[str, Any]
) -> None:
    fill(project, people)
    webhook = fill_webhook(people["lea"])
    pages = {who: open_as(people.get(who), "/login", **how) for who in dict(PAGES)}
    for who, address in PAGES:
        path, page = address.format(webhook=webhook), pages[who]
        page.goto(path)
        assert (barriers(page), overflow(page)) == ([], 0), path
        for opener in ("keys", "skip"):
            # A small screen shows no keys: whoever holds one has none.
            if page.locator(f"[data-opens={opener}]:visible").count():
                page.locator(f"[data-opens={opener}]").click()
                assert barriers(page) == [], opener
                page.keyboard.press("Escape")


def test_texts_run_nothing_and_turn_nothing(project: Project, people: dict[str, Author], open_as: Open) -> None:
    """BEHAVIOUR 37."""
    fill(project, people)
    page = open_as(people["ann"], "/p/p/review")
    expect(page).to_have_title("Review · Tertium")
    assert page.locator(".characters img, .characters script").count() == 0
    assert page.locator(".unseen", has_text="U+202E").count() >= 1


def test_right_to_left_text_starts_at_the_right(project: Project, people: dict[str, Author], open_as: Open) -> None:
    fill(project, people)
    page = open_as(people["ada"], "/p/p/review")
    question = page.locator(".text.question .characters")
    assert question.evaluate("element => getComputedStyle(element).direction") == "rtl"


@pytest.mark.parametrize("text", ["word " * 200_000, "line\n" * 20_000 + "x" * 500_000])
def test_megabyte_of_text_leaves_typing_quick(
    project: Project, people: dict[str, Author], open_as: Open, text: str
) -> None:
    """BEHAVIOUR 38."""
    case_set = factories.load_cases(project, ["c1"])
    system = factories.load_artifacts(case_set, rows=[factories.artifact_row("c1", 1, text)])
    artifact = system.artifacts.get()
    queue = queue_open(project=project, name="q", rubric=factories.make_rubric(project))
    items_add(queue=queue, items=[NewItem(artifact.case_id, (artifact.pk,), 1)])
    started = time.monotonic()
    page = open_as(people["ann"], "/p/p/review")
    page.keyboard.press("n")
    expect(page.locator("#rationale")).to_be_focused()
    opened = time.monotonic()
    page.keyboard.type("forty characters of a thought, or so ...")
    expect(page.locator("#rationale")).to_have_value("forty characters of a thought, or so ...")
    typed = time.monotonic()
    assert (opened - started < 8, typed - opened < 4) == (True, True), (opened - started, typed - opened)


def test_light_pages(project: Project, people: dict[str, Author], open_as: Open) -> None:
    """All that a first visit loads, uncompressed, without the texts of the case."""
    factories.make_queue(project, 2)
    for path in ("/p/p/work", "/p/p/review"):
        page = open_as(people["ann"], path)
        page.wait_for_load_state("networkidle")
        sizes = page.evaluate("performance.getEntries().map(entry => entry.decodedBodySize || 0)")
        assert 20_000 < sum(sizes) < 100_000, path
