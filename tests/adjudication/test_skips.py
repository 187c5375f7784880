"""What was passed on is seen by those who lead, and can be served again (BEHAVIOUR 13)."""

import pytest
from django.test import Client

from adjudication.models import Item, Skip
from adjudication.services.leases import slot_claim
from adjudication.services.reviews import item_skip
from adjudication.services.skips import skips_lift
from core.errors import Refused
from core.models import Author, Event, Project, Role
from tests import factories
from tests.factories import NOW, answer, claim

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


@pytest.fixture
def people(project: Project) -> dict[str, Author]:
    roles = {"ann": Role.REVIEWER, "ben": Role.REVIEWER, "ada": Role.ADJUDICATOR, "lea": Role.LEAD}
    return {name: factories.make_person(project, name, role) for name, role in roles.items()}


def skip_all(project: Project, people: dict[str, Author], items: int, answers: int = 1) -> list[int]:
    """Both reviewers pass every item on."""
    queue = factories.make_queue(project, items, answers)
    for name in ("ann", "ben"):
        for _ in range(items):
            item_skip(lease=claim(queue, people[name]), actor=people[name], reason=f"{name} is tired", now=NOW)
    return list(queue.items.values_list("pk", flat=True))


def test_item_passed_on_by_one_is_served_to_them_again(project: Project, people: dict[str, Author]) -> None:
    queue = factories.make_queue(project, 1, answers=2)
    item_skip(lease=claim(queue, people["ann"]), actor=people["ann"], reason="tired", now=NOW)
    assert slot_claim(queue=queue, actor=people["ann"], now=NOW, passed_on=False) is None
    assert skips_lift(items=[queue.items.get().pk], actor=people["lea"], now=NOW) == 1
    assert slot_claim(queue=queue, actor=people["ann"], now=NOW, passed_on=False) is not None


def test_who_had_passed_it_on_and_why_stays_in_the_log(project: Project, people: dict[str, Author]) -> None:
    (item,) = skip_all(project, people, 1)
    skips_lift(items=[item], actor=people["lea"], now=NOW)
    event = Event.objects.get(name="adjudication.skips-lifted")
    assert (event.actor, event.payload["item"]) == (people["lea"], item)
    assert [(skip["author"], skip["reason"]) for skip in event.payload["skips"]] == [
        (people["ann"].pk, "ann is tired"),
        (people["ben"].pk, "ben is tired"),
    ]


@pytest.mark.parametrize("answers", [1, 2])
def test_items_that_everybody_passed_on_come_back_from_the_adjudicator_in_bulk(
    project: Project, people: dict[str, Author], answers: int
) -> None:
    items = skip_all(project, people, 3, answers)
    assert set(Item.objects.values_list("state", flat=True)) == {"conflict"}
    for _ in range(2):  # the second time they have all been passed on again
        assert skips_lift(items=items, actor=people["lea"], now=NOW) == 3
        queue = Item.objects.first().queue
        assert set(Item.objects.values_list("state", flat=True)) == {"open"}
        assert [queue.slots.filter(item=item, state="open").count() for item in items] == [answers] * 3
        for name in ("ann", "ben"):
            for _ in items:
                item_skip(lease=claim(queue, people[name]), actor=people[name], reason="still", now=NOW)
        assert set(Item.objects.values_list("state", flat=True)) == {"conflict"}


def test_conflict_of_answers_stays_with_the_adjudicator(project: Project, people: dict[str, Author]) -> None:
    queue = factories.make_queue(project, 1, answers=2)
    cleo = factories.make_person(project, "cleo")
    item_skip(lease=claim(queue, cleo), actor=cleo, reason="tired", now=NOW)
    answer(queue, people["ann"], "pass")
    answer(queue, people["ben"], "fail")
    assert skips_lift(items=[queue.items.get().pk], actor=people["lea"], now=NOW) == 1
    assert (queue.items.get().state, queue.slots.filter(state="open").get().kind) == ("conflict", "adjudication")


def test_what_the_adjudicator_has_in_hand_stays_theirs(project: Project, people: dict[str, Author]) -> None:
    (item,) = skip_all(project, people, 1)
    lease = claim(Item.objects.get().queue, people["ada"])
    skips_lift(items=[item], actor=people["lea"], now=NOW)
    assert factories.submit(lease).kind == "adjudication"
    assert Item.objects.get().state == "settled"


def test_settled_items_and_those_of_other_projects_are_left_alone(project: Project, people: dict[str, Author]) -> None:
    (item,) = skip_all(project, people, 1)
    stranger = factories.make_person(factories.make_project("other"), "eve", Role.OWNER)
    assert skips_lift(items=[item], actor=stranger, now=NOW) == 0
    answer(Item.objects.get().queue, people["ada"])
    assert skips_lift(items=[item], actor=people["lea"], now=NOW) == 0
    assert Skip.objects.count() == 2


def test_reviewers_serve_nothing_again(project: Project, people: dict[str, Author]) -> None:
    (item,) = skip_all(project, people, 1)
    with pytest.raises(Refused):
        skips_lift(items=[item], actor=people["ann"], now=NOW)


def test_lead_sees_who_passed_on_what_and_serves_it_again(project: Project, people: dict[str, Author]) -> None:
    items = skip_all(project, people, 2)
    client = Client()
    client.force_login(people["lea"].user)
    page = client.get("/p/p/skipped").content.decode()
    assert (page.count("ann is tired"), page.count("ben is tired"), page.count("c001")) == (2, 2, 4)
    answered = client.post("/p/p/skipped", {"items": [str(items[0]), "x"]}, follow=True).content.decode()
    assert "Served again: 1 case." in answered
    assert list(Item.objects.order_by("pk").values_list("state", flat=True)) == ["open", "conflict"]
