"""From answers to a decision: settle, wait, or find a conflict, and what people passed on."""

from typing import Any

import pytest

from adjudication.models import (
    Item,
    ItemState,
    Label,
    Queue,
    Reference,
    Review,
    Settlement,
    SettlementHow,
    SlotKind,
    SlotState,
)
from adjudication.services.leases import slot_claim
from adjudication.services.reviews import item_skip, review_submit
from core.errors import InputError, Refused
from core.models import Author, Event, Project, Role
from core.services import member_remove
from tests import factories
from tests.factories import MINUTE, NOW, answer, claim, submit

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


@pytest.fixture
def people(project: Project) -> dict[str, Author]:
    names = {"ann": Role.REVIEWER, "ben": Role.REVIEWER, "cleo": Role.REVIEWER, "dora": Role.ADJUDICATOR}
    return {name: factories.make_person(project, name, role) for name, role in names.items()}


def _case(lease: Any) -> str:
    return lease.item.case.case_id


def _states(queue: Queue) -> list[str]:
    return list(queue.items.order_by("rank").values_list("state", flat=True))


def _slots(item: Item) -> list[tuple[str, str]]:
    return list(item.slots.order_by("n").values_list("kind", "state"))


def _settled(queue: Queue) -> list[tuple[str, str | None]]:
    """How each settlement came about, and its label."""
    rows = Settlement.objects.filter(queue=queue).order_by("number")
    return [(one.how, ref.label if (ref := one.references.first()) else None) for one in rows]


def test_single_answer_settles_with_its_label_and_an_event(project: Project, people: dict[str, Author]) -> None:
    queue = factories.make_queue(project, 1)
    lease = claim(queue, people["ann"])
    review = submit(lease, "fail", NOW, reasons=["rubric boundary", "rubric boundary"], rationale="so", seconds=9)
    assert _settled(queue) == [("single", "fail")]
    assert (review.revision, review.kind, review.surplus, review.rationale, review.seconds) == (
        1,
        "review",
        False,
        "so",
        9,
    )
    assert list(review.reasons.values_list("code", flat=True)) == ["rubric boundary"]
    settlement = Settlement.objects.get()
    assert (settlement.number, settlement.actor, settlement.at) == (1, people["ann"], NOW)
    events = Event.objects.order_by("pk").values_list("name", "payload")
    assert list(events) == [
        ("adjudication.review-submitted", {"review": review.pk}),
        ("adjudication.item-settled", {"queue": queue.pk, "number": 1}),
    ]


def test_overlap_waits_for_the_second_answer_and_is_unanimous(project: Project, people: dict[str, Author]) -> None:
    queue = factories.make_queue(project, 1, answers=2)
    answer(queue, people["ann"], "pass")
    assert (_states(queue), _settled(queue)) == (["open"], [])
    answer(queue, people["ben"], "pass")
    assert (_states(queue), _settled(queue)) == (["settled"], [("unanimous", "pass")])


def test_answers_that_differ_go_to_an_adjudicator_whose_word_stands(
    project: Project, people: dict[str, Author]
) -> None:
    """BEHAVIOUR 12."""
    queue = factories.make_queue(project, 2, answers=2)
    answer(queue, people["ann"], "pass")
    answer(queue, people["ben"], "fail")
    assert (_states(queue), _settled(queue)) == (["conflict", "open"], [])
    assert _case(claim(queue, people["cleo"])) == "c002"
    lease = claim(queue, people["dora"])
    assert (_case(lease), lease.slot.kind) == ("c001", SlotKind.ADJUDICATION)
    assert submit(lease, "fail").kind == SlotKind.ADJUDICATION
    assert _settled(queue) == [("adjudicated", "fail")]
    assert Label.objects.filter(review__item__case__case_id="c001").count() == 3


def test_pair_differs_where_one_of_its_artifacts_does(project: Project, people: dict[str, Author]) -> None:
    queue = factories.make_queue(project, 1, answers=2, upgrade=True)
    lease = claim(queue, people["ann"])
    old, new = lease.item.shown.order_by("artifact__system_version").values_list("artifact", flat=True)
    review_submit(lease=lease, actor=people["ann"], answers={old: "pass", new: "fail"}, now=NOW)
    other = claim(queue, people["ben"])
    review_submit(lease=other, actor=people["ben"], answers={old: "fail", new: "fail"}, now=NOW)
    assert _states(queue) == ["conflict"]
    third = claim(queue, people["dora"])
    review_submit(lease=third, actor=people["dora"], answers={old: "pass", new: "fail"}, now=NOW)
    assert dict(Reference.objects.values_list("artifact", "label")) == {old: "pass", new: "fail"}


def test_adjudicator_never_settles_what_they_reviewed(project: Project, people: dict[str, Author]) -> None:
    eve = factories.make_person(project, "eve", Role.ADJUDICATOR)
    queue = factories.make_queue(project, 1, answers=2)
    answer(queue, people["dora"], "pass")
    answer(queue, people["ann"], "fail")
    assert _states(queue) == ["conflict"]
    assert slot_claim(queue=queue, actor=people["dora"], now=NOW) is None
    assert claim(queue, eve).slot.kind == SlotKind.ADJUDICATION


def test_reviewers_are_never_served_a_conflict(project: Project, people: dict[str, Author]) -> None:
    queue = factories.make_queue(project, 1, answers=2)
    answer(queue, people["ann"], "pass")
    answer(queue, people["ben"], "fail")
    for name in ("ann", "ben", "cleo"):
        assert slot_claim(queue=queue, actor=people[name], now=NOW) is None


def test_one_person_alone_does_not_declare_a_case_underspecified(project: Project, people: dict[str, Author]) -> None:
    """BEHAVIOUR 14."""
    queue = factories.make_queue(project, 2)
    answer(queue, people["ann"], None)
    item = factories.item_of(queue, "c001")
    assert _slots(item) == [("review", "done"), ("review", "open")]
    assert _case(claim(queue, people["ann"])) == "c002"
    assert _case(claim(queue, people["ben"])) == "c001"  # before c002: it holds up the prefix
    submit(claim(queue, people["ben"]), None)
    assert _settled(queue) == [("underspecified", None)]
    assert slot_claim(queue=queue, actor=people["ben"], now=NOW) is None


def test_cannot_judge_against_a_label_is_a_conflict(project: Project, people: dict[str, Author]) -> None:
    queue = factories.make_queue(project, 1)
    answer(queue, people["ann"], None)
    answer(queue, people["ben"], "pass")
    assert _states(queue) == ["conflict"]
    answer(queue, people["dora"], None)
    assert _settled(queue) == [("underspecified", None)]
    assert Reference.objects.count() == 0


def test_pair_of_which_one_artifact_cannot_be_judged_keeps_the_other_s_label(
    project: Project, people: dict[str, Author]
) -> None:
    queue = factories.make_queue(project, 1, answers=2, upgrade=True)
    for name in ("ann", "ben"):
        lease = claim(queue, people[name])
        old, new = lease.item.shown.order_by("artifact__system_version").values_list("artifact", flat=True)
        review_submit(lease=lease, actor=people[name], answers={old: "pass", new: None}, now=NOW)
    assert Settlement.objects.get().how == "underspecified"
    assert list(Reference.objects.values_list("artifact", "label")) == [(old, "pass")]


def test_answer_sent_five_times_is_stored_once(project: Project, people: dict[str, Author]) -> None:
    queue = factories.make_queue(project, 1, answers=2)
    lease = claim(queue, people["ann"])
    reviews = {submit(lease, "pass", NOW + n * MINUTE).pk for n in range(5)}
    assert len(reviews) == Review.objects.count() == Label.objects.count() == 1
    assert Event.objects.filter(name="adjudication.review-submitted").count() == 1
    assert _states(queue) == ["open"]


@pytest.mark.parametrize(
    ("seconds", "stored"), [(0, 0), (None, None), (-1, None), (2**31 - 1, 2**31 - 1), (2**31, None)]
)
def test_answer_with_impossible_seconds_is_kept_without_them(
    project: Project, people: dict[str, Author], seconds: int | None, stored: int | None
) -> None:
    review = submit(claim(factories.make_queue(project, 1), people["ann"]), "pass", NOW, seconds=seconds)
    assert Review.objects.get(pk=review.pk).seconds == stored


def test_second_sending_with_another_label_keeps_the_first(project: Project, people: dict[str, Author]) -> None:
    queue = factories.make_queue(project, 1)
    lease = claim(queue, people["ann"])
    first = submit(lease, "pass")
    assert submit(lease, "fail") == first
    assert _settled(queue) == [("single", "pass")]


def test_surplus_answer_is_kept_and_changes_nothing(project: Project, people: dict[str, Author]) -> None:
    """BEHAVIOUR 6."""
    queue = factories.make_queue(project, 1, answers=2)
    late = claim(queue, people["ann"])
    factories.item_of(queue, "c001").slots.update(state=SlotState.WITHDRAWN)
    review = submit(late, "fail")
    assert (review.surplus, _states(queue), _settled(queue)) == (True, ["open"], [])


@pytest.mark.parametrize(
    "answers", [{}, {0: "pass"}, {"item": "maybe"}, {"item": ""}, {"item": "pass", 0: "pass"}, {"item": "pass\x00"}]
)
def test_answer_that_does_not_fit_is_refused_and_the_lease_stays(
    project: Project, people: dict[str, Author], answers: dict[Any, str]
) -> None:
    lease = claim(factories.make_queue(project, 1), people["ann"])
    artifact = lease.item.shown.get().artifact_id
    given = {artifact if key == "item" else key: label for key, label in answers.items()}
    with pytest.raises(InputError):
        review_submit(lease=lease, actor=people["ann"], answers=given, now=NOW)
    lease.refresh_from_db()
    assert (lease.ended_at, Review.objects.count()) == (None, 0)


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_text_that_no_database_stores_is_refused_with_what_is_wrong(
    project: Project, people: dict[str, Author], text: str
) -> None:
    lease = claim(factories.make_queue(project, 1), people["ann"])
    for more in ({"rationale": text}, {"reasons": [text]}):
        with pytest.raises(InputError):
            submit(lease, "pass", NOW, **more)
    with pytest.raises(InputError):
        item_skip(lease=lease, actor=people["ann"], reason=text, now=NOW)
    with pytest.raises(InputError, match="at most 60 characters"):
        submit(lease, "pass", NOW, reasons=["x" * 61])
    assert Review.objects.count() == 0
    assert submit(lease, "pass", NOW, rationale="\u202e\u0085 שלום 🙂 <script>" + "x" * 1_000_000).pk


def test_skipped_item_goes_first_to_the_next_reviewer_and_last_to_who_skipped_it(
    project: Project, people: dict[str, Author]
) -> None:
    queue = factories.make_queue(project, 3)
    answer(queue, people["cleo"])
    item_skip(lease=claim(queue, people["ann"]), actor=people["ann"], reason="unsure", now=NOW)
    assert _case(claim(queue, people["ann"])) == "c003"
    assert _case(claim(queue, people["ben"])) == "c002"
    submit(claim(queue, people["ann"]))
    assert slot_claim(queue=queue, actor=people["ann"], now=NOW) is None
    assert list(queue.items.get(case__case_id="c002").skips.values_list("author", "reason")) == [
        (people["ann"].pk, "unsure")
    ]
    item_skip(lease=claim(queue, people["ben"]), actor=people["ben"], now=NOW)
    assert _case(claim(queue, people["ann"])) == "c002"


def test_item_that_all_reviewers_skipped_goes_to_the_adjudicator(project: Project, people: dict[str, Author]) -> None:
    """BEHAVIOUR 13."""
    queue = factories.make_queue(project, 2)
    for name in ("ann", "ben", "cleo"):
        lease = claim(queue, people[name])
        assert _case(lease) == "c001"
        item_skip(lease=lease, actor=people[name], now=NOW)
    assert _states(queue) == ["conflict", "open"]
    assert _slots(factories.item_of(queue, "c001")) == [("review", "withdrawn"), ("adjudication", "open")]
    assert claim(queue, people["dora"]).slot.kind == SlotKind.ADJUDICATION


def test_answered_and_skipped_by_all_goes_to_the_adjudicator(project: Project, people: dict[str, Author]) -> None:
    queue = factories.make_queue(project, 1, answers=2)
    answer(queue, people["ann"], "pass")
    for name in ("ben", "cleo"):
        item_skip(lease=claim(queue, people[name]), actor=people[name], now=NOW)
    assert _states(queue) == ["conflict"]


def test_skip_does_not_count_as_an_answer(project: Project, people: dict[str, Author]) -> None:
    """BEHAVIOUR 13."""
    queue = factories.make_queue(project, 1)
    item_skip(lease=claim(queue, people["ann"]), actor=people["ann"], now=NOW)
    assert (_states(queue), _slots(factories.item_of(queue, "c001"))) == (["open"], [("review", "open")])
    assert Review.objects.count() == 0


def test_settlement_numbers_run_per_queue(project: Project, people: dict[str, Author]) -> None:
    queues = [factories.make_queue(project, 2, name=name) for name in ("one", "two")]
    for _ in range(2):
        for queue in queues:
            answer(queue, people["ann"])
    for queue in queues:
        queue.refresh_from_db()
        assert (queue.settled, [one.number for one in queue.settlements.order_by("pk")]) == (2, [1, 2])


@pytest.mark.parametrize(("answers", "label"), [(1, None), (2, "pass")])
def test_item_that_nobody_is_left_to_review_goes_to_the_adjudicator(
    project: Project, answers: int, label: str | None
) -> None:
    queue = factories.make_queue(project, 1, answers=answers)
    ann, dora = factories.make_person(project, "ann"), factories.make_person(project, "dora", Role.ADJUDICATOR)
    answer(queue, ann, label)
    assert queue.items.get().state == ItemState.CONFLICT
    answer(queue, dora, "fail")
    assert queue.settlements.get().how == SettlementHow.ADJUDICATED


def test_answer_of_somebody_who_lost_the_role_is_refused(project: Project) -> None:
    queue = factories.make_queue(project, 1)
    ann = factories.make_person(project, "ann")
    lease = claim(queue, ann)
    member_remove(author=ann)
    with pytest.raises(Refused, match="may not do this"):
        submit(lease)
    assert queue.items.get().reviews.count() == 0
