"""A reviewer's work by the API: the rules of the desk, and the words of its pages."""

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from adjudication.models import Draft, Lease, Queue, QueuePurpose, Review
from core.models import Project, Scope
from core.tokens import person_token_make
from tests import factories

pytestmark = pytest.mark.django_db
HERE = "/api/v1/projects/p/desk"


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def queue(project: Project) -> Queue:
    return factories.make_queue(project, 3)


@pytest.fixture
def ann(project: Project) -> Client:
    author = factories.make_person(project, "ann")
    given: dict[str, Any] = {"days": 1, "actor": factories.operator_of(project), "now": factories.timezone.now()}
    key = person_token_make(author=author, scopes=[Scope.REVIEW], **given)[1]
    return Client(headers={"Authorization": f"Bearer {key}"})


def send(client: Client, path: str, body: Any = None) -> HttpResponse:
    answer: HttpResponse = client.post(f"{HERE}{path}", body or {}, content_type="application/json")
    return answer


def taken(client: Client) -> str:
    token: str = send(client, "/next").json()["case"]["token"]
    return token


def test_person_works_through_the_queue(ann: Client, queue: Queue) -> None:
    for left in (3, 2, 1):
        assert ann.get(HERE).json()["reviews"] == left
        done = send(ann, f"/{taken(ann)}/answer", {"answers": {"only": "pass"}, "rationale": "a\r\nb"})
        assert (done.status_code, done.json()) == (200, {"counts": True, "practice": False})
    assert send(ann, "/next").json() == {"case": None, "passed_on": False}
    assert {(review.author.pseudonym, review.rationale) for review in Review.objects.all()} == {("p-ann", "a\nb")}
    assert ann.get(HERE).json()["sent_in_all"] == 3


def test_case_in_hand_stays_the_same_and_has_its_draft(ann: Client, queue: Queue) -> None:
    token = taken(ann)
    kept = {"answers": {"only": None}, "rationale": "not sure", "spans": ["only.0.0.6"]}
    assert ann.put(f"{HERE}/{token}/draft", kept, content_type="application/json").status_code == 204
    case = send(ann, "/next").json()["case"]
    assert (case["token"], case["rationale"], case["quotes"][0]["text"]) == (token, "not sure", "answer")
    assert [choice["value"] for choice in case["outputs"][0]["choices"] if choice["chosen"]] == ["cannot"]


def test_answer_sent_five_times_is_one_review(ann: Client, queue: Queue) -> None:
    token = taken(ann)
    answers = [send(ann, f"/{token}/answer", {"answers": {"only": "pass"}}) for _ in range(5)]
    assert ({answer.status_code for answer in answers}, Review.objects.count()) == ({200}, 1)


def test_words_of_the_page(ann: Client, queue: Queue) -> None:
    token = taken(ann)
    for body, words in (
        ({}, "Give a grade, or “cannot judge”, before you save."),
        ({"answers": {"only": "maybe"}}, "not a label of the scale"),
        ({"answers": {"left": "pass"}}, "not an output of this case"),
        (
            {"answers": {"only": "pass"}, "spans": ["x"]},
            "A quoted passage cannot be read. Take it out, and quote it again.",
        ),
    ):
        answer = send(ann, f"/{token}/answer", body)
        assert (answer.status_code, answer.json()["errors"][0]["what"]) == (422, words)
    answer = send(ann, f"/{token}/skip", {"reason": " "})
    assert answer.json()["errors"][0]["what"] == "Say in a few words why you pass this case on."


def test_lost_lease_keeps_what_was_sent_as_a_draft(ann: Client, queue: Queue) -> None:
    """BEHAVIOUR 4 and 17."""
    token = taken(ann)
    Lease.objects.update(ended_at=factories.NOW, end="expired")
    ben = factories.make_person(queue.project, "ben")
    while factories.claim(queue, ben).item_id != Lease.objects.get(token=token).item_id:
        factories.submit(Lease.objects.get(author=ben, ended_at=None))
    answer = send(ann, f"/{token}/answer", {"answers": {"only": "pass"}, "rationale": "mine"})
    assert answer.status_code == 409
    assert "kept as your draft" in answer.json()["errors"][0]["what"]
    assert Draft.objects.get(rationale="mine").author.pseudonym == "p-ann"


def test_answer_is_taken_back(ann: Client, queue: Queue) -> None:
    token = taken(ann)
    send(ann, f"/{token}/answer", {"answers": {"only": "pass"}})
    assert ann.get(HERE).json()["undo"] == token
    assert send(ann, f"/{token}/undo").status_code == 204
    case = send(ann, "/next").json()["case"]
    assert (case["token"] != token, ann.get(HERE).json()["sent_in_all"]) == (True, 0)
    assert send(ann, f"/{token}/undo").status_code == 409


def test_lease_of_a_colleague_is_not_there(ann: Client, queue: Queue) -> None:
    theirs = factories.claim(queue, factories.make_person(queue.project, "ben")).token
    for path in ("answer", "skip", "undo", "dispute"):
        assert send(ann, f"/{theirs}/{path}", {}).status_code == 404
    assert ann.put(f"{HERE}/{theirs}/draft", {}, content_type="application/json").status_code == 404
    assert ann.get(f"{HERE}/{theirs}/differences").status_code == 404


def test_practice_has_feedback_and_can_be_disputed(ann: Client, queue: Queue) -> None:
    factories.make_known_set(queue.project, QueuePurpose.PRACTICE, 1, label="fail", rationale="as the rule says")
    factories.calibrate(queue, practice="known")
    token = send(ann, "/practice").json()["case"]["token"]
    assert ann.get(f"{HERE}/{token}/feedback").status_code == 404
    assert send(ann, f"/{token}/answer", {"answers": {"only": "pass"}}).json()["practice"] is True
    feedback = ann.get(f"{HERE}/{token}/feedback").json()
    assert (feedback["right"], feedback["outputs"][0]["known"]) == (False, "fail")
    code = feedback["disputes"][0]["code"]
    assert send(ann, f"/{token}/dispute", {"code": code, "words": "it was changed"}).status_code == 204
    assert ann.get(f"{HERE}/{token}/feedback").json()["disputed"] == "it was changed"


def test_two_outputs_are_answered_by_side_and_compared(ann: Client, project: Project) -> None:
    factories.make_queue(project, 1, upgrade=True)
    case = send(ann, "/next").json()["case"]
    assert [output["position"] for output in case["outputs"]] == ["left", "right"]
    sides = ann.get(f"{HERE}/{case['token']}/differences").json()["sides"]
    assert [side["position"] for side in sides] == ["left", "right"]
    done = send(ann, f"/{case['token']}/answer", {"answers": {"left": "pass", "right": None}})
    assert done.status_code == 200


def test_keys_are_chosen(ann: Client, queue: Queue) -> None:
    keys = ann.get(f"{HERE}/keys").json()
    changed = keys | {"keys": keys["keys"] | {"skip": "j"}, "on": False}
    assert ann.put(f"{HERE}/keys", changed, content_type="application/json").json() == changed
    clash = changed | {"keys": keys["keys"] | {"skip": "x"}}
    answer = ann.put(f"{HERE}/keys", clash, content_type="application/json")
    assert (answer.status_code, answer.json()["errors"][0]["key"]) == (422, "skip")
