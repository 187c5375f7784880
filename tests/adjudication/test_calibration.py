"""Practice comes first and says what was right; hidden anchors come among the cases and say nothing."""

import re
from collections import Counter
from datetime import timedelta
from statistics import mean
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from adjudication.calibration import _gap, known_case_answers, practice_progress
from adjudication.models import (
    Calibration,
    Item,
    ItemState,
    KnownAnswer,
    LabelDispute,
    Lease,
    Queue,
    QueuePurpose,
    Review,
    Settlement,
    Skip,
    SlotKind,
)
from adjudication.selectors import sent_by, sent_count, skipped_by, undoable, waiting_count
from adjudication.services.calibrating import KnownCase, calibration_fix, known_cases_add
from adjudication.services.leases import practice_claim, work_claim
from adjudication.services.queues import NewItem, items_add, queue_open
from adjudication.services.reviews import item_skip
from adjudication.services.undo import TooLate, review_undo
from adjudication.serving import queues_waiting
from core.errors import InputError, Refused
from core.models import Author, Project, Role
from core.services import operator_of
from judges.models import Artifact
from tests import factories
from tests.factories import NOW, claim, make_known_set, submit

pytestmark = [pytest.mark.database, pytest.mark.django_db]
PRACTICE, ANCHORS = QueuePurpose.PRACTICE, QueuePurpose.ANCHORS
INSIDE = {"HX-Request": "true"}


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def ann(project: Project) -> Author:
    return factories.make_person(project, "ann")


def waiting(project: Project, person: Author) -> int:
    return waiting_count(queues_waiting(project, person), person, Role.REVIEWER)


def calibrated(project: Project, cases: int, **asked: Any) -> Queue:
    queue = factories.make_queue(project, cases)
    factories.calibrate(queue, **asked)
    return queue


def served(queue: Queue, person: Author, label: str = "pass") -> list[str]:
    """The cases that a person gets, one after another, answering all of them."""
    cases = []
    while lease := work_claim(project=queue.project, actor=person, now=NOW).lease:
        cases.append(lease.item.case.case_id)
        submit(lease, label)
    return cases


def anchor_in_hand(project: Project, person: Author, cases: int = 3) -> Lease:
    """The lease of a hidden anchor, after one case."""
    make_known_set(project, ANCHORS, 2, name="hidden")
    queue = calibrated(project, cases, anchors="hidden", every=1)
    submit(claim(queue, person))
    lease = claim(queue, person)
    assert lease.slot.kind == SlotKind.ANCHOR
    return lease


# Practice


def test_practice_that_a_queue_asks_for_comes_before_its_cases(project: Project, ann: Author) -> None:
    make_known_set(project, PRACTICE, 2, name="first steps")
    queue = calibrated(project, 2, practice="first steps")
    assert served(queue, ann) == ["k001", "k002", "c001", "c002"]


def test_everybody_practises_on_all_of_it(project: Project) -> None:
    practice = make_known_set(project, PRACTICE, 2, name="first steps")
    calibrated(project, 4, practice="first steps")
    people = [factories.make_person(project, name) for name in ("ann", "ben")]
    leases = [work_claim(project=project, actor=person, now=NOW).lease for person in people]
    assert [lease and lease.item.case.case_id for lease in leases] == ["k001", "k001"]
    for lease in leases:
        submit(lease)
    assert [practice_progress(practice, person).done for person in people] == [1, 1]


def test_practice_settles_nothing_and_counts_as_no_answer(project: Project, ann: Author) -> None:
    practice = make_known_set(project, PRACTICE, 2, name="first steps")
    queue = calibrated(project, 1, practice="first steps")
    submit(claim(queue, ann), "fail")
    submit(claim(queue, ann), "pass")
    assert (Review.objects.count(), Settlement.objects.count()) == (2, 0)
    assert set(Item.objects.values_list("state", flat=True)) == {ItemState.OPEN}
    assert (sent_count(ann), list(sent_by(ann)), undoable(ann, NOW)) == (0, [], None)
    progress = practice_progress(practice, ann)
    assert (progress.done, progress.right, progress.left) == (2, 1, 0)


def test_cannot_judge_is_not_what_is_on_record(project: Project, ann: Author) -> None:
    practice = make_known_set(project, PRACTICE, 1, name="first steps")
    lease = practice_claim(practice=practice, actor=ann, now=NOW)
    submit(lease, None)
    assert practice_progress(practice, ann).right == 0


def test_practice_case_is_neither_passed_on_nor_taken_back(project: Project, ann: Author) -> None:
    practice = make_known_set(project, PRACTICE, 1, name="first steps")
    lease = practice_claim(practice=practice, actor=ann, now=NOW)
    with pytest.raises(Refused, match="is answered, not passed on"):
        item_skip(lease=lease, actor=ann, reason="tired", now=NOW)
    submit(lease)
    with pytest.raises(TooLate):
        review_undo(lease=lease, actor=ann, now=NOW)


def test_adjudicators_are_not_held_up_by_practice(project: Project) -> None:
    make_known_set(project, PRACTICE, 1, name="first steps")
    queue = calibrated(project, 1, practice="first steps")
    for name in ("ada", "eva"):
        factories.make_person(project, name, Role.ADJUDICATOR)
    ada = Author.objects.get(pseudonym="p-ada")
    assert claim(queue, ada).item.case.case_id == "c001"


def test_practice_of_one_s_own_choice_is_not_in_the_way(project: Project, ann: Author) -> None:
    practice = make_known_set(project, PRACTICE, 1, name="first steps")
    factories.make_queue(project, 1)
    practice_claim(practice=practice, actor=ann, now=NOW)
    lease = work_claim(project=project, actor=ann, now=NOW).lease
    assert lease is not None
    assert lease.item.case.case_id == "c001"


def test_case_whose_question_still_waits_for_an_answer_is_not_practised_on(project: Project, ann: Author) -> None:
    practice = make_known_set(project, PRACTICE, 2, name="first steps")
    queue = queue_open(project=project, name="q", rubric=factories.make_rubric(project))
    first = practice.items.get(rank=1)
    (artifact,) = first.shown.values_list("artifact", flat=True)
    items_add(queue=queue, items=[NewItem(first.case_id, (artifact,), 1)])
    lease = practice_claim(practice=practice, actor=ann, now=NOW)
    assert lease is not None
    assert lease.item.case.case_id == "k002"


# The practice pages


def browser(person: Author) -> Client:
    client = Client()
    client.force_login(person.user)
    return client


def token_of(page: bytes) -> str:
    found = re.search(r"/review/([0-9a-f-]{36})/draft", page.decode())
    assert found is not None
    return found[1]


def test_feedback_shows_the_label_on_record_and_why_after_the_answer_alone(project: Project, ann: Author) -> None:
    make_known_set(project, PRACTICE, 2, name="first steps", rationale="because it is")
    client = browser(ann)
    page = client.get("/p/p/practice").content
    token = token_of(page)
    assert b"Practise on a case" in page
    assert b"case 1 of 2" in page
    assert b"because it is" not in page
    assert b'data-opens="skip"' not in page
    assert client.get(f"/p/p/practice/{token}").status_code == 404
    answer = client.post(f"/p/p/review/{token}", {"only": "0"}, headers=INSIDE).content.decode()
    assert "Not as on record" in answer
    assert re.findall(r'class="label" dir="auto">(\w+)', answer) == ["pass", "fail"]
    assert "because it is" in answer
    assert 'hx-get="/p/p/practice"' in answer
    second = client.get("/p/p/practice", headers=INSIDE).content
    done = client.post(f"/p/p/review/{token_of(second)}", {"only": "1"})
    assert done["Location"].startswith("/p/p/practice/")
    feedback = client.get(done["Location"]).content.decode()
    assert "<h1" in feedback
    assert "As on record" in feedback
    assert 'hx-get="/p/p/review"' in feedback
    assert client.get("/p/p/practice")["Location"] == "/p/p/review"


def test_my_work_says_what_is_left_to_practise_on(project: Project, ann: Author) -> None:
    make_known_set(project, PRACTICE, 3, name="first steps")
    assert "<strong>3</strong> to practise on" in browser(ann).get("/p/p/work").content.decode()


def test_label_on_record_is_disputed_once_with_words(project: Project, ann: Author) -> None:
    make_known_set(project, PRACTICE, 1, name="first steps")
    client = browser(ann)
    token = token_of(client.get("/p/p/practice").content)
    url, said = f"/p/p/practice/{token}/dispute", {"code": "gold-label dispute", "words": "it is wrong"}
    early = client.post(url, said, headers=INSIDE)
    assert (early.status_code, b"only a practice case that you have answered" in early.content) == (422, True)
    client.post(f"/p/p/review/{token}", {"only": "0"})
    for odd in ({}, {**said, "words": " "}, {**said, "code": "other"}):
        assert client.post(url, odd, headers=INSIDE).status_code == 422
    assert b"You dispute this label" in client.post(url, said, headers=INSIDE).content
    client.post(url, {**said, "words": "and again"})
    assert [(dispute.code, dispute.words) for dispute in LabelDispute.objects.all()] == [
        ("gold-label dispute", "it is wrong")
    ]
    assert b"it is wrong" in client.get(f"/p/p/practice/{token}").content


def test_feedback_is_its_own_person_s(project: Project, ann: Author) -> None:
    make_known_set(project, PRACTICE, 1, name="first steps")
    client = browser(ann)
    token = token_of(client.get("/p/p/practice").content)
    client.post(f"/p/p/review/{token}", {"only": "0"})
    other = browser(factories.make_person(project, "ben"))
    assert other.get(f"/p/p/practice/{token}").status_code == 404
    assert other.post(f"/p/p/practice/{token}/dispute", {"code": "x", "words": "y"}).status_code == 404


# Hidden anchors


def test_anchors_come_between_cases_and_leave_their_order_as_it_is(project: Project, ann: Author) -> None:
    make_known_set(project, ANCHORS, 2, name="hidden")
    queue = calibrated(project, 4, anchors="hidden", every=1)
    assert served(queue, ann) == ["c001", "k001", "c002", "k002", "c003", "c004"]


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_each_answer_lowers_what_waits_by_one_and_raises_what_was_sent(
    project: Project, ann: Author, every: int
) -> None:
    make_known_set(project, ANCHORS, 4, name="hidden")
    calibrated(project, 14, anchors="hidden", every=every)
    left = [waiting(project, ann)]
    kinds = []
    while lease := work_claim(project=project, actor=ann, now=NOW).lease:
        assert waiting(project, ann) == left[-1]
        kinds.append(lease.slot.kind)
        submit(lease)
        left.append(waiting(project, ann))
        assert sent_count(ann) == len(kinds)
    assert left == list(range(len(kinds), -1, -1))
    assert kinds.count(SlotKind.REVIEW) == 14
    assert kinds.count(SlotKind.ANCHOR) >= 1


def test_anchors_are_so_many_cases_apart_on_average_and_nobody_can_tell_where(project: Project, ann: Author) -> None:
    make_known_set(project, ANCHORS, 1, name="hidden")
    queue = calibrated(project, 1, anchors="hidden", every=20)
    gaps = [_gap(queue.calibration, ann, number) for number in range(2000)]
    assert (min(gaps), max(gaps)) == (1, 39)
    assert abs(mean(gaps) - 20) < 1


def test_no_anchor_comes_where_no_case_waits(project: Project, ann: Author) -> None:
    make_known_set(project, ANCHORS, 2, name="hidden")
    queue = calibrated(project, 1, anchors="hidden", every=1)
    assert served(queue, ann) == ["c001"]
    assert waiting(project, ann) == 0


def test_answer_to_an_anchor_settles_nothing_and_makes_no_conflict(project: Project, ann: Author) -> None:
    lease = anchor_in_hand(project, ann)
    before = Settlement.objects.count()
    submit(lease, "fail")
    submit(lease, "fail")
    other = factories.make_person(project, "ben")
    submit(claim(Queue.objects.get(name="queue"), other))
    submit(claim(Queue.objects.get(name="queue"), other), None)
    assert Settlement.objects.count() == before + 1
    assert Settlement.objects.filter(queue__purpose=ANCHORS).count() == 0
    assert set(Item.objects.filter(queue__purpose=ANCHORS).values_list("state", flat=True)) == {ItemState.OPEN}
    answers = known_case_answers(SlotKind.ANCHOR).order_by("pk").values_list("author__pseudonym", "wrong", "surplus")
    assert list(answers) == [("p-ann", True, False), ("p-ben", True, False)]


def test_question_that_a_person_has_met_before_is_not_hidden_from_them(project: Project, ann: Author) -> None:
    """The set is made of what Ann answered herself, and of one case of others."""
    earlier = factories.make_queue(project, 2, name="earlier")
    submit(claim(earlier, ann))
    submit(claim(earlier, factories.make_person(project, "ben")))
    artifacts = Artifact.objects.filter(case__case_set__name="earlier").order_by("pk")
    known_cases_add(
        rubric=earlier.rubric,
        name="hidden",
        purpose=ANCHORS,
        cases=[KnownCase(one.case_id, {one.pk: "pass"}, "", n) for n, one in enumerate(artifacts, 1)],
        source="a test",
        actor=operator_of(project),
        now=NOW,
    )
    case_set = factories.load_cases(project, ["n1", "n2", "n3"], "new")
    queue = queue_open(project=project, name="new", rubric=earlier.rubric)
    new = factories.load_artifacts(case_set).artifacts.order_by("pk")
    items_add(queue=queue, items=[NewItem(one.case_id, (one.pk,), n) for n, one in enumerate(new, 1)])
    factories.calibrate(queue, anchors="hidden", every=1)
    assert served(queue, ann) == ["n1", "c002", "n2", "n3"]


def test_question_that_waits_in_the_queue_itself_is_not_hidden_there(project: Project, ann: Author) -> None:
    """Another case set with the same questions and outputs: nobody meets one twice."""
    make_known_set(project, ANCHORS, 2, name="hidden")
    case_set = factories.load_cases(project, ["k001", "x", "y"], "new")
    queue = queue_open(project=project, name="new", rubric=factories.make_rubric(project))
    new = factories.load_artifacts(case_set).artifacts.order_by("-pk")
    items_add(queue=queue, items=[NewItem(one.case_id, (one.pk,), n) for n, one in enumerate(new, 1)])
    factories.calibrate(queue, anchors="hidden", every=1)
    assert served(queue, ann) == ["y", "k002", "x", "k001"]


def test_anchor_that_was_passed_on_waits_among_the_others_that_were(project: Project, ann: Author) -> None:
    lease = anchor_in_hand(project, ann, cases=2)
    item_skip(lease=lease, actor=ann, reason="tired", now=NOW)
    assert [skip.item.case.case_id for skip in skipped_by(ann)] == ["k001"]
    rest = served(Queue.objects.get(name="queue"), ann)
    assert "k001" not in rest
    again = work_claim(project=project, actor=ann, now=NOW, passed_on=True).lease
    assert again is not None
    assert again.item == lease.item
    submit(again)
    assert list(skipped_by(ann)) == []
    assert Settlement.objects.filter(queue__purpose=ANCHORS).count() == 0
    assert Skip.objects.count() == 1


def test_anchor_is_taken_back_as_any_answer(project: Project, ann: Author) -> None:
    lease = anchor_in_hand(project, ann)
    before = waiting(project, ann)
    submit(lease, "fail")
    assert undoable(ann, NOW) == lease
    review_undo(lease=lease, actor=ann, now=NOW)
    assert waiting(project, ann) == before
    back = work_claim(project=project, actor=ann, now=NOW).lease
    assert back is not None
    assert back.item == lease.item
    submit(back, "pass")
    assert list(known_case_answers(SlotKind.ANCHOR).values_list("wrong", flat=True)) == [False]


def test_anchor_that_was_left_lying_comes_back_to_its_person(project: Project, ann: Author) -> None:
    lease = anchor_in_hand(project, ann)
    later = NOW + timedelta(hours=1)
    again = work_claim(project=project, actor=ann, now=later).lease
    assert again is not None
    assert (again.item, again.pk != lease.pk) == (lease.item, True)


def test_adjudicators_are_served_no_anchor(project: Project) -> None:
    make_known_set(project, ANCHORS, 2, name="hidden")
    queue = calibrated(project, 3, anchors="hidden", every=1)
    people = [factories.make_person(project, name, Role.ADJUDICATOR) for name in ("ada", "eva")]
    assert served(queue, people[0]) == ["c001", "c002", "c003"]


def test_practice_and_anchors_of_a_pair_show_both_outputs(project: Project, ann: Author) -> None:
    make_known_set(project, ANCHORS, 1, name="hidden", upgrade=True)
    queue = factories.make_queue(project, 2, upgrade=True)
    factories.calibrate(queue, anchors="hidden", every=1)
    submit(claim(queue, ann))
    assert claim(queue, ann).item.shown.count() == 2


# Sets


def test_set_is_added_to_at_its_end_and_a_case_with_another_label_is_refused(project: Project) -> None:
    practice = make_known_set(project, PRACTICE, 1, name="first steps")
    (known,) = KnownAnswer.objects.all()
    more = factories.load_artifacts(factories.load_cases(project, ["more"], "more")).artifacts.get()

    def add(label: str) -> Counter[str]:
        added = known_cases_add(
            rubric=practice.rubric,
            name="first steps",
            purpose=PRACTICE,
            cases=[
                KnownCase(known.item.case_id, {known.artifact_id: label}, "", 1),
                KnownCase(more.case_id, {more.pk: "fail"}, "", 2),
            ],
            source="more.csv",
            actor=known.actor,
            now=NOW,
        )
        return Counter(added=added.added, present=added.present)

    with pytest.raises(InputError, match=r"more\.csv, row 1: the case is in the set already, with another label"):
        add("fail")
    assert add("pass") == Counter(added=1, present=1)
    assert list(practice.items.order_by("rank").values_list("rank", "case__case_id")) == [(1, "k001"), (2, "more")]


def test_set_and_audit_of_one_name_are_two_things(project: Project) -> None:
    practice = make_known_set(project, PRACTICE, 1, name="same")
    queue = queue_open(project=project, name="same", rubric=practice.rubric)
    assert queue != practice


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"practice": "none"}, "review.practice_set: there is no such set (found 'none'); allowed: first steps"),
        ({"anchors": "first steps", "every": 5}, "review.hidden_anchors: there is no such set"),
        ({"practice": "pairs"}, "a case of the set shows 2 outputs (found 'pairs'); allowed: 1"),
        ({"practice": "other"}, "the set is under rubric other 1 (found 'other'); allowed: right 1"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(project: Project, asked: dict[str, Any], says: str) -> None:
    make_known_set(project, PRACTICE, 1, name="first steps")
    if asked.get("practice") == "pairs":
        make_known_set(project, PRACTICE, 1, name="pairs", upgrade=True)
    if asked.get("practice") == "other":
        queue_open(project=project, name="other", rubric=factories.make_rubric(project, name="other"), purpose=PRACTICE)
    with pytest.raises(Refused) as refused:
        factories.calibrate(factories.make_queue(project, 1), **asked)
    assert says in str(refused.value)


def test_nothing_is_fixed_where_nothing_is_asked_for(project: Project) -> None:
    queue = factories.make_queue(project, 1)
    assert calibration_fix(queue=queue, practice="", anchors="", every=None, now=NOW) is None


def test_calibration_holds_what_its_constraints_say(project: Project) -> None:
    anchors = make_known_set(project, ANCHORS, 1, name="hidden")
    queue = factories.make_queue(project, 1)
    for sentence, odd in {
        "hidden_anchors_have_a_rate": {"anchors": anchors},
        "a_calibration_asks_for_something": {},
    }.items():
        with pytest.raises(IntegrityError, match=sentence), transaction.atomic():
            Calibration.objects.create(queue=queue, salt="s", at=NOW, **odd)


def test_item_without_the_question_of_its_case_is_refused(project: Project) -> None:
    """Who has met a question could not be told, and would be served the anchor that shows its label."""
    queue = factories.make_queue(project, 1)
    case = queue.items.get().case
    queue.items.all().delete()
    with pytest.raises(IntegrityError, match="an_item_has_the_question_of_its_case"), transaction.atomic():
        Item.objects.create(queue=queue, case=case, rank=1)
