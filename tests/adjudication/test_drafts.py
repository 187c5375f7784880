"""No word is lost: drafts outlive leases, and a lost lease costs nothing but the place."""

from datetime import timedelta
from typing import Any

import pytest

from adjudication.models import Draft, Lease
from adjudication.services.drafts import draft_save
from adjudication.services.leases import LEASE, LeaseLost
from core.errors import Refused
from core.models import Author, Project
from tests import factories
from tests.factories import MINUTE, NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]
LATER = NOW + LEASE + MINUTE


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def ann(project: Project) -> Author:
    return factories.make_person(project, "ann")


@pytest.fixture
def ben(project: Project) -> Author:
    return factories.make_person(project, "ben")


def save(lease: Lease, now: Any = NOW, **content: Any) -> bool:
    fields = {"answers": {}, "reasons": [], "rationale": "half a thought", "seconds": 3} | content
    return draft_save(lease=lease, actor=lease.author, now=now, **fields)


def test_saving_a_draft_keeps_the_lease(project: Project, ann: Author) -> None:
    lease = factories.claim(factories.make_queue(project, 1), ann)
    assert save(lease, NOW + 20 * MINUTE)
    lease.refresh_from_db()
    assert lease.expires_at == NOW + 20 * MINUTE + LEASE


def test_lease_that_ran_out_comes_back_with_the_next_word(project: Project, ann: Author) -> None:
    queue = factories.make_queue(project, 2)
    lease = factories.claim(queue, ann)
    Lease.objects.update(ended_at=LATER, end="expired")
    assert save(lease, LATER)
    lease.refresh_from_db()
    assert (lease.ended_at, lease.end) == (None, "")


def test_lost_lease_keeps_the_text_and_leaves_the_other_alone(project: Project, ann: Author, ben: Author) -> None:
    """BEHAVIOUR 4."""
    queue = factories.make_queue(project, 1)
    lost = factories.claim(queue, ann)
    other = factories.claim(queue, ben, LATER)
    assert save(lost, LATER, rationale="and the rest") is False
    assert Draft.objects.get(author=ann).rationale == "and the rest"
    other.refresh_from_db()
    assert (other.ended_at, other.expires_at) == (None, LATER + LEASE)
    with pytest.raises(LeaseLost):
        factories.submit(lost, "pass", LATER)
    factories.submit(other, "fail", LATER)


def test_three_people_have_three_drafts_of_one_item(project: Project, ann: Author, ben: Author) -> None:
    """BEHAVIOUR 7."""
    queue = factories.make_queue(project, 1, answers=3)
    people = [ann, ben, factories.make_person(project, "cleo")]
    for number, person in enumerate(people):
        save(factories.claim(queue, person), rationale=f"mine {number}", seconds=number)
    kept = Draft.objects.order_by("pk").values_list("author", "rationale", "seconds")
    assert list(kept) == [(person.pk, f"mine {number}", number) for number, person in enumerate(people)]


def test_save_that_arrives_after_the_answer_is_no_draft(project: Project, ann: Author) -> None:
    lease = factories.claim(factories.make_queue(project, 1), ann)
    save(lease)
    factories.submit(lease)
    assert save(lease, NOW + timedelta(seconds=5))
    assert not Draft.objects.exists()


def test_nobody_saves_under_anothers_lease(project: Project, ann: Author, ben: Author) -> None:
    lease = factories.claim(factories.make_queue(project, 1), ann)
    with pytest.raises(Refused, match="this lease is somebody else's"):
        draft_save(lease=lease, actor=ben, answers={}, reasons=[], rationale="x", seconds=0, now=NOW)
    assert not Draft.objects.exists()
