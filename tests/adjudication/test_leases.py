"""Who is served what, in which order, and for how long it is theirs."""

import pytest
from django.db import IntegrityError, transaction

from adjudication.models import Lease, LeaseEnd, Queue, Review, Slot, SlotState
from adjudication.selectors import waiting_count
from adjudication.services.leases import LEASE, lease_end, lease_renew, slot_claim
from adjudication.services.reviews import item_skip
from adjudication.serving import queues_waiting
from core.errors import Refused
from core.models import Author, AuthorKind, Project, Role
from core.services import imported_author, operator_of
from tests import factories
from tests.factories import MINUTE, NOW, answer, claim, submit

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


@pytest.fixture
def queue(project: Project) -> Queue:
    return factories.make_queue(project, 3)


@pytest.fixture
def ann(project: Project) -> Author:
    return factories.make_person(project, "ann")


@pytest.fixture
def ben(project: Project) -> Author:
    return factories.make_person(project, "ben")


def _case(lease: Lease) -> str:
    return lease.item.case.case_id


def test_items_are_served_in_their_order_each_to_one_person(queue: Queue, ann: Author, ben: Author) -> None:
    assert [_case(claim(queue, person)) for person in (ann, ben)] == ["c001", "c002"]


def test_claiming_again_gives_what_one_holds_for_longer(queue: Queue, ann: Author) -> None:
    first = claim(queue, ann)
    again = claim(queue, ann, NOW + 20 * MINUTE)
    assert again == first
    assert Lease.objects.get().expires_at == NOW + 20 * MINUTE + LEASE


def test_nothing_is_left_when_all_is_held_or_answered(queue: Queue, ann: Author, ben: Author) -> None:
    for _ in range(2):
        answer(queue, ann)
    claim(queue, ann)
    assert slot_claim(queue=queue, actor=ben, now=NOW) is None


def test_case_that_needs_two_answers_waits_for_a_person_once(project: Project, ann: Author, ben: Author) -> None:
    queue = factories.make_queue(project, 4, answers=2)

    def waiting() -> int:
        return waiting_count(queues_waiting(project, ann), ann, Role.REVIEWER)

    assert waiting() == 4
    claim(queue, ben)  # the first slot of a case whose second is still ann's to take
    assert waiting() == 4
    left = []
    while lease := slot_claim(queue=queue, actor=ann, now=NOW):
        assert waiting() == 4 - len(left)  # the one in hand with them
        submit(lease)
        left.append(waiting())
    assert left == [3, 2, 1, 0]


def test_slot_that_goes_first_is_counted_and_the_other_one_of_its_case_is_not(
    project: Project, ann: Author, ben: Author
) -> None:
    queue = factories.make_queue(project, 2, answers=2)
    claim(queue, ben)
    Slot.objects.filter(item__rank=2, n=2).update(urgent=True)
    assert waiting_count(queues_waiting(project, ann), ann, Role.REVIEWER) == 2


@pytest.mark.parametrize(("minutes", "case"), [(29, "c002"), (30, "c001"), (31, "c001")])
def test_lease_is_over_by_the_clock_passed_in_with_no_worker(
    queue: Queue, ann: Author, ben: Author, minutes: int, case: str
) -> None:
    """BEHAVIOUR 2."""
    held = claim(queue, ann)
    assert _case(claim(queue, ben, NOW + minutes * MINUTE)) == case
    held.refresh_from_db()
    assert (held.end, held.ended_at) == (("", None) if minutes < 30 else (LeaseEnd.EXPIRED, NOW + minutes * MINUTE))


def test_answer_under_a_lease_lost_to_another_is_refused_and_theirs_is_untouched(
    queue: Queue, ann: Author, ben: Author
) -> None:
    """BEHAVIOUR 4."""
    late = NOW + LEASE
    held = claim(queue, ann)
    other = claim(queue, ben, late)
    with pytest.raises(Refused, match="somebody else"):
        submit(held, "pass", late)
    assert Review.objects.count() == 0
    assert submit(other, "fail", late).author == ben


def test_holder_renews_as_often_as_they_like(queue: Queue, ann: Author) -> None:
    """BEHAVIOUR 5."""
    held, other_tab = claim(queue, ann), claim(queue, ann)
    for minute in range(1, 200, 7):
        lease_renew(lease=held, actor=ann, now=NOW + minute * MINUTE)
        lease_renew(lease=other_tab, actor=ann, now=NOW + minute * MINUTE)
    assert Lease.objects.get().expires_at == NOW + 197 * MINUTE + LEASE


def test_holder_s_late_renewal_is_granted_while_nobody_else_holds_the_slot(
    project: Project, queue: Queue, ann: Author, ben: Author
) -> None:
    late = NOW + 2 * LEASE
    held = claim(queue, ann)
    claim(factories.make_queue(project, 1, name="another"), ben, late)  # ends every lease that has expired
    assert Lease.objects.get(pk=held.pk).end == LeaseEnd.EXPIRED
    lease_renew(lease=held, actor=ann, now=late)
    held.refresh_from_db()
    assert (held.ended_at, held.end, held.expires_at) == (None, "", late + LEASE)


def test_late_renewal_is_refused_once_another_holds_the_slot(queue: Queue, ann: Author, ben: Author) -> None:
    held = claim(queue, ann)
    claim(queue, ben, NOW + LEASE)
    with pytest.raises(Refused, match="somebody else"):
        lease_renew(lease=held, actor=ann, now=NOW + LEASE)
    assert list(Lease.objects.filter(ended_at=None).values_list("author", flat=True)) == [ben.pk]


def test_late_renewal_is_refused_where_the_holder_has_another_item_by_now(
    project: Project, queue: Queue, ann: Author, ben: Author
) -> None:
    held = claim(queue, ann)
    taken = claim(queue, ben, NOW + LEASE)
    assert _case(claim(queue, ann, NOW + LEASE)) == "c002"
    submit(taken, "pass", NOW + LEASE)
    with pytest.raises(Refused):
        lease_renew(lease=held, actor=ann, now=NOW + LEASE)


def test_late_answer_is_taken_while_nobody_else_holds_the_slot(
    project: Project, queue: Queue, ann: Author, ben: Author
) -> None:
    late = NOW + 2 * LEASE
    held = claim(queue, ann)
    claim(factories.make_queue(project, 1, name="another"), ben, late)
    assert submit(held, "pass", late).surplus is False
    held.refresh_from_db()
    assert (held.end, held.ended_at) == (LeaseEnd.SUBMITTED, late)


def test_somebody_else_s_lease_is_neither_renewed_nor_answered_nor_skipped(
    queue: Queue, ann: Author, ben: Author
) -> None:
    held = claim(queue, ann)
    with pytest.raises(Refused):
        lease_renew(lease=held, actor=ben, now=NOW)
    held.author = ben
    with pytest.raises(Refused, match="somebody else's"):
        submit(held)
    with pytest.raises(Refused, match="somebody else's"):
        item_skip(lease=Lease.objects.get(), actor=ben, now=NOW)
    assert Lease.objects.get().ended_at is None


def test_released_lease_lets_the_next_person_in(queue: Queue, ann: Author, ben: Author) -> None:
    lease_end(lease=claim(queue, ann), end=LeaseEnd.RELEASED, now=NOW)
    assert _case(claim(queue, ben)) == "c001"
    with pytest.raises(Refused):
        lease_renew(lease=Lease.objects.filter(author=ann).get(), actor=ann, now=NOW)


def test_overlap_serves_an_item_to_two_people_never_twice_to_one(project: Project, ann: Author, ben: Author) -> None:
    """BEHAVIOUR 3."""
    queue = factories.make_queue(project, 2, answers=2, name="twice")
    answer(queue, ann)
    assert [_case(claim(queue, person)) for person in (ann, ben)] == ["c002", "c001"]
    third = factories.make_person(project, "cleo")
    assert _case(claim(queue, third)) == "c002"
    assert slot_claim(queue=queue, actor=factories.make_person(project, "dan"), now=NOW) is None


@pytest.mark.parametrize("role", [Role.LEAD, Role.OWNER])
def test_leads_and_owners_are_not_served(project: Project, queue: Queue, role: Role) -> None:
    with pytest.raises(Refused) as caught:
        slot_claim(queue=queue, actor=factories.make_person(project, "boss", role), now=NOW)
    (problem,) = caught.value.problems
    assert (problem.value, problem.allowed) == (role.value, "reviewer, adjudicator")
    assert Lease.objects.count() == 0


def test_nobody_without_a_role_is_served(project: Project, queue: Queue, ann: Author) -> None:
    assert ann.user is not None
    ann.user.memberships.all().delete()
    for author in (operator_of(project), imported_author(project=project, name="x"), ann):
        with pytest.raises(Refused, match="may not do this"):
            slot_claim(queue=queue, actor=author, now=NOW)


def test_member_of_another_project_is_not_served(queue: Queue) -> None:
    stranger = factories.make_person(factories.make_project("other"), "eve")
    with pytest.raises(Refused):
        slot_claim(queue=queue, actor=stranger, now=NOW)
    assert Lease.objects.count() == 0


def test_simulated_reviewer_is_served_like_a_person(project: Project, queue: Queue, ann: Author) -> None:
    Author.objects.filter(pk=ann.pk).update(kind=AuthorKind.SIMULATED)
    assert _case(claim(queue, ann)) == "c001"


def test_database_holds_one_live_lease_per_slot_and_per_item_and_person(
    project: Project, ann: Author, ben: Author
) -> None:
    held = claim(factories.make_queue(project, 1, answers=2, name="twice"), ann)
    second = held.item.slots.get(n=2)
    for slot, author in ((held.slot, ben), (second, ann)):
        with pytest.raises(IntegrityError), transaction.atomic():
            Lease.objects.create(slot=slot, item=held.item, author=author, taken_at=NOW, expires_at=NOW + LEASE)
    assert Lease.objects.count() == 1


@pytest.mark.parametrize(("ended_at", "end"), [(NOW, ""), (None, LeaseEnd.EXPIRED)])
def test_database_wants_every_ended_lease_to_say_how(queue: Queue, ann: Author, ended_at: object, end: str) -> None:
    claim(queue, ann)
    with pytest.raises(IntegrityError, match="a_lease_says_how_it_ended"), transaction.atomic():
        Lease.objects.update(ended_at=ended_at, end=end)


def test_answered_slot_is_done(project: Project, queue: Queue, ann: Author) -> None:
    answer(queue, ann)
    assert factories.item_of(queue, "c001").slots.get().state == SlotState.DONE
