"""The reviewer's and the adjudicator's pages, asked as a browser asks."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from adjudication.models import Draft, Item, Label, Lease, LeaseEnd, Presentation, Queue, Review, Skip
from adjudication.services.queues import NewItem, items_add, queue_open
from adjudication.services.undo import review_undo
from core.models import Author, Project, Role
from tests import factories
from tests.factories import MINUTE

pytestmark = pytest.mark.django_db
INSIDE = {"HX-Request": "true"}


class Desk:
    """One person's browser, as far as the server can tell."""

    def __init__(self, author: Author) -> None:
        self.author = author
        self.client = Client()
        self.client.force_login(author.user)
        self.base = f"/p/{author.project.name}"

    def page(self) -> str:
        answer = self.client.get(f"{self.base}/review")
        assert answer.status_code == 200
        return answer.content.decode()

    @property
    def token(self) -> str:
        """Of the case that the page shows."""
        return re.findall(r'hx-post="/p/[^/]+/review/([0-9a-f-]{36})"', self.page())[0]

    def post(self, token: str, action: str = "", inside: bool = True, **data: Any) -> HttpResponse:
        path = f"{self.base}/review/{token}" + (f"/{action}" if action else "")
        return self.client.post(path, data, headers=INSIDE if inside else None)


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def ann(project: Project) -> Desk:
    return Desk(factories.make_person(project, "ann"))


@pytest.fixture
def ben(project: Project) -> Desk:
    return Desk(factories.make_person(project, "ben"))


@pytest.fixture
def ada(project: Project) -> Desk:
    return Desk(factories.make_person(project, "ada", Role.ADJUDICATOR))


def one_case(project: Project, question: str, output: str, evidence: tuple[str, ...] = ()) -> Queue:
    case_set = factories.load_cases(project, [factories.case_row("c1", input=question)])
    system = factories.load_artifacts(case_set, rows=[factories.artifact_row("c1", 1, output, evidence)])
    artifact = system.artifacts.get()
    queue = queue_open(project=project, name="q", rubric=factories.make_rubric(project))
    items_add(queue=queue, items=[NewItem(artifact.case_id, (artifact.pk,), 1)])
    return queue


def test_page_shows_the_case_with_guideline_scale_and_reasons(project: Project, ann: Desk) -> None:
    one_case(project, "Who?", "Ada Lovelace", ("first source", "second source"))
    page = ann.page()
    for text in ("Who?", "Ada Lovelace", "first source", "second source", "Is it right?", "rubric boundary"):
        assert page.count(text) >= 1, text
    assert re.findall(r'type="radio" name="only" value="(\w+)"', page) == ["0", "1", "cannot"]


def test_case_without_an_input_has_no_empty_box_for_it(project: Project, ann: Desk) -> None:
    one_case(project, "", "Ada Lovelace")
    page = ann.page()
    assert re.findall(r'class="text (\w+)"', page) == ["output"]
    ann.post(ann.token, only="1")
    work = ann.client.get("/p/p/work").content.decode()
    assert re.findall(r'class="excerpt" dir="auto">([^<]*)<', work) == ["(a case without an input)"]


def test_saving_stores_the_answer_and_brings_the_next_case(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 2)
    token = ann.token
    answer = ann.post(token, only="1", reasons=["evidence missing", "other"], rationale="a\r\nb", seconds="41")
    assert answer.status_code == 200
    review = Review.objects.get()
    assert (review.author, review.rationale, review.seconds) == (ann.author, "a\nb", 41)
    assert [label.label for label in review.labels.all()] == ["pass"]
    assert sorted(reason.code for reason in review.reasons.all()) == ["evidence missing", "other"]
    assert answer.content.decode().count("question c002") == 1
    assert "Saved." in answer.content.decode()


def test_without_script_saving_leads_to_the_next_case(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 2)
    answer = ann.post(ann.token, inside=False, only="0")
    assert (answer.status_code, answer["Location"]) == (302, "/p/p/review")
    assert Label.objects.get().label == "fail"


def test_cannot_judge_is_an_answer(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 1)
    ann.post(ann.token, only="cannot")
    assert Label.objects.get().label is None


def test_answer_pressed_five_times_is_stored_once(project: Project, ann: Desk) -> None:
    """BEHAVIOUR 18."""
    factories.make_queue(project, 2)
    token = ann.token
    assert [ann.post(token, only="1").status_code for _ in range(5)] == [200] * 5
    assert Review.objects.count() == 1


def test_missing_grade_is_said_and_nothing_is_stored(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 1)
    answer = ann.post(ann.token, rationale="long thoughts")
    assert answer.status_code == 422
    assert answer.content.decode().strip() == (
        '<p class="message error">Give a grade, or “cannot judge”, before you save.</p>'
    )
    assert not Review.objects.exists()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"only": "7"}, "7 is not one of the available choices."),
        ({"only": "1", "reasons": ["judge error"]}, "Not a reason that the desk offers"),
        ({"only": "1", "reasons": ["other"]}, "The reason “other” needs a rationale that says what it is."),
        ({"only": "1", "rationale": "x" * 20_001}, "Ensure this value has at most 20000 characters (it has 20001)."),
    ],
)
def test_what_the_form_cannot_take_is_said(project: Project, ann: Desk, data: dict[str, Any], says: str) -> None:
    factories.make_queue(project, 1)
    answer = ann.post(ann.token, **data)
    assert (answer.status_code, says in answer.content.decode()) == (422, True)
    assert not Review.objects.exists()


def test_draft_survives_into_another_browser(project: Project, ann: Desk) -> None:
    """BEHAVIOUR 16."""
    factories.make_queue(project, 1)
    saved = ann.post(ann.token, "draft", only="0", reasons=["other"], rationale="not yet", seconds="9")
    assert (saved.status_code, saved.content) == (204, b"")
    elsewhere = Desk(ann.author).page()
    assert re.findall(r'value="(\w+)" required data-key="[^"]*" checked', elsewhere) == ["0"]
    assert re.findall(r'name="reasons" value="([^"]+)" data-key="\w" checked', elsewhere) == ["other"]
    assert ">\nnot yet</textarea>" in elsewhere
    assert 'name="seconds" value="9"' in elsewhere


def test_skipped_case_goes_to_the_next_person_and_not_back(project: Project, ann: Desk, ben: Desk) -> None:
    """BEHAVIOUR 13."""
    factories.make_queue(project, 3)
    assert "question c001" in ann.page()
    assert ann.post(ann.token, "skip", reason="not my field").status_code == 200
    assert Skip.objects.get().reason == "not my field"
    assert "question c001" not in ann.page()
    assert "question c001" in ben.page()


def test_what_was_passed_on_comes_back_when_asked_for(project: Project, ann: Desk) -> None:
    factories.make_person(project, "a colleague")
    factories.make_queue(project, 1)
    ann.post(ann.token, "skip", reason="tired")
    page = ann.page()
    assert ("Nothing is waiting" in page, "Take it up again" in page) == (True, True)
    assert "question c001" in ann.client.get("/p/p/review?passed-on").content.decode()
    assert ann.post(ann.token, only="1").status_code == 200
    assert Review.objects.count() == 1


def test_skip_needs_a_reason(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 1)
    answer = ann.post(ann.token, "skip", reason=" ")
    assert (answer.status_code, Skip.objects.count()) == (422, 0)


def test_undo_returns_the_case_with_its_answers(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 2)
    token = ann.token
    ann.post(token, only="1", rationale="well")
    answer = ann.post(token, "undo")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "question c001" in page
    assert ">\nwell</textarea>" in page
    assert "<strong>0</strong> sent" in page


def test_delayed_second_press_after_an_undo_does_not_answer_again(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 2)
    token = ann.token
    ann.post(token, only="1")
    ann.post(token, "undo")
    assert ann.post(token, only="1").status_code == 200
    assert Review.objects.count() == 1


def test_lost_case_keeps_the_words_and_says_so(project: Project, ann: Desk, ben: Desk) -> None:
    factories.make_queue(project, 1)
    token = ann.token
    Lease.objects.update(expires_at=timezone.now() - MINUTE)
    other = ben.token
    answer = ann.post(token, only="1", rationale="mine")
    assert answer.status_code == 409
    assert "This case is no longer yours" in answer.content.decode()
    assert Draft.objects.get(author=ann.author).rationale == "mine"
    assert ann.post(token, "draft", only="1", rationale="mine still").status_code == 409
    assert Draft.objects.get(author=ann.author).rationale == "mine still"
    assert "A colleague had this case before" in ben.page()
    assert ben.post(other, only="0").status_code == 200
    assert Review.objects.get().author == ben.author


def test_lease_that_ran_out_unnoticed_still_takes_the_answer(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 1)
    token = ann.token
    Lease.objects.update(expires_at=timezone.now() - MINUTE, ended_at=timezone.now(), end=LeaseEnd.EXPIRED)
    assert ann.post(token, only="1").status_code == 200
    assert Review.objects.count() == 1


@pytest.mark.parametrize("action", ["", "draft", "skip", "undo"])
def test_anothers_token_is_as_one_that_does_not_exist(project: Project, ann: Desk, ben: Desk, action: str) -> None:
    factories.make_queue(project, 2)
    theirs = ann.post(ben.token, action, only="1", reason="x")
    missing = ann.post(str(uuid4()), action, only="1", reason="x")
    assert (theirs.status_code, theirs.content) == (404, missing.content)
    assert not Review.objects.exists()
    assert not Draft.objects.exists()
    assert not Skip.objects.exists()


def test_token_leads_nowhere_in_another_project(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 1)
    token = ann.token
    other = factories.make_project("other")
    factories.member_add(project=other, username=ann.author.user.username, role=Role.REVIEWER)
    assert ann.client.post(f"/p/other/review/{token}", {"only": "1"}).status_code == 404
    assert not Review.objects.exists()


def test_two_outputs_are_unswapped(project: Project, ann: Desk, ben: Desk) -> None:
    """BEHAVIOUR 10."""
    factories.make_queue(project, 6, answers=2, upgrade=True)
    for desk in (ann, ben):
        for _ in range(6):
            assert desk.post(desk.token, left="0", right="1").status_code == 200
    for review in Review.objects.select_related("presentation"):
        left, right = review.presentation.order
        assert dict(review.labels.values_list("artifact", "label")) == {left: "fail", right: "pass"}
    assert Presentation.objects.count() == 12


def test_two_outputs_stay_where_they_are_on_reload(project: Project, ann: Desk) -> None:
    """BEHAVIOUR 10."""
    case_set = factories.load_cases(project, ["c1"])
    systems = [
        factories.load_artifacts(case_set, name, [factories.artifact_row("c1", 1, f"{name} says")])
        for name in ("first", "second")
    ]
    queue = queue_open(project=project, name="q", rubric=factories.make_rubric(project))
    artifacts = tuple(system.artifacts.get().pk for system in systems)
    items_add(queue=queue, items=[NewItem(case_set.cases.get().pk, artifacts, 1)])
    pages = [re.findall("(first|second) says", ann.page()) for _ in range(5)]
    assert len(pages[0]) == 2
    assert pages == [pages[0]] * 5


def test_adjudicator_sees_both_answers_and_no_names(project: Project, ann: Desk, ben: Desk, ada: Desk) -> None:
    """BEHAVIOUR 11."""
    factories.make_queue(project, 1, answers=2)
    ann.post(ann.token, only="1", rationale="because it is right")
    ben.post(ben.token, only="0", reasons=["rubric boundary"], rationale="because it is wrong")
    page = ada.page()
    assert page.count("Answer A") == page.count("Answer B") == 1
    for said in ("because it is right", "because it is wrong", "rubric boundary"):
        assert said in page
    assert "p-ann" not in page
    assert "p-ben" not in page
    place = page.index("because it is right")
    assert [ada.page().index("because it is right") for _ in range(3)] == [place] * 3


def test_adjudicator_may_give_a_third_answer(project: Project, ann: Desk, ben: Desk, ada: Desk) -> None:
    factories.make_queue(project, 1, answers=2)
    ann.post(ann.token, only="1")
    ben.post(ben.token, only="0")
    assert ada.post(ada.token, only="cannot").status_code == 200
    item = Item.objects.get()
    assert (item.state, item.settlements.get().how) == ("settled", "underspecified")


def test_adjudicator_gets_what_everybody_passed_on(project: Project, ann: Desk, ben: Desk, ada: Desk) -> None:
    factories.make_queue(project, 1)
    ann.post(ann.token, "skip", reason="too hard")
    ben.post(ben.token, "skip", reason="too long")
    page = ada.page()
    assert "Nobody answered" in page
    assert ("too hard" in page, "too long" in page, "p-ann" in page) == (True, True, False)


def test_words_about_left_and_right_say_when_they_were_mirrored(
    project: Project, ann: Desk, ben: Desk, ada: Desk
) -> None:
    factories.make_queue(project, 1, answers=2, upgrade=True)
    item = Item.objects.get()
    order = list(item.shown.values_list("artifact", flat=True))
    for desk, ordered in ((ann, order), (ben, order[::-1]), (ada, order)):
        Presentation.objects.create(item=item, author=desk.author, order=ordered, salt="s", at=factories.NOW)
    ann.post(ann.token, left="1", right="0", rationale="left is better")
    ben.post(ben.token, left="1", right="0", rationale="left is better too")
    page = ada.page()
    assert page.count("had left and right the other way round") == 1
    assert sorted(re.findall(r'data-takes-over="([^"]*)"', page)) == ["left=0 right=1", "left=1 right=0"]


NASTY = "<script>alert(1)</script> [x](javascript:alert(1)) \u202ereversed\u202c \x07 {{ 7|add:7 }} & <b>"


def test_texts_are_shown_as_the_characters_they_are(project: Project, ann: Desk, ben: Desk, ada: Desk) -> None:
    """BEHAVIOUR 37."""
    one_case(project, NASTY, NASTY, (NASTY,))
    Item.objects.get().slots.update(n=1)
    page = ann.page()
    shown = (
        "&lt;script&gt;alert(1)&lt;/script&gt; [x](javascript:alert(1)) "
        '<span class="unseen" title="right-to-left override">U+202E</span>reversed'
        '<span class="unseen" title="pop directional formatting">U+202C</span> '
        '<span class="unseen" title="control character">U+0007</span> {{ 7|add:7 }} &amp; &lt;b&gt;'
    )
    assert page.count(shown) == 3
    assert "<script>alert" not in page


def test_half_of_a_character_does_not_break_the_page(project: Project, ann: Desk) -> None:
    one_case(project, "lone \ud83d half", "ok")
    assert 'lone <span class="unseen" title="control character">U+D83D</span> half' in ann.page()
    ann.post(ann.token, only="1")
    assert "U+D83D" in ann.client.get("/p/p/work").content.decode()


def test_guideline_is_markdown_without_anything_that_runs_or_loads(project: Project, ann: Desk) -> None:
    guideline = "# Rules\n\n- **one**\n\n<script>x</script> ![pic](https://a.example/p.png) [go](javascript:x)"
    spec = factories.RubricSpec("marked", "1", guideline, tuple(factories.ScaleLabel(x, None) for x in ("no", "yes")))
    factories.make_queue(project, 1, rubric=factories.rubric_publish(project=project, spec=spec))
    page = ann.page()
    assert "<h3>Rules</h3>" in page
    assert "<li><strong>one</strong></li>" in page
    assert ("<img" in page, "<script>x" in page, 'href="javascript' in page) == (False, False, False)


def test_my_work_lists_own_answers_and_skips(project: Project, ann: Desk) -> None:
    factories.make_person(project, "a colleague")
    factories.make_queue(project, 5)
    ann.post(ann.token, only="1")
    ann.post(ann.token, "skip", reason="tired")
    page = ann.client.get("/p/p/work").content.decode()
    assert (page.count("question c001"), page.count("question c002"), page.count("question c003")) == (1, 1, 0)
    assert "tired" not in page.split("Sent by you")[1]
    assert re.findall(r'class="tile"><strong>([^<]+)</strong> ([a-z ]+)', page) == [
        ("3", "to review"),
        ("1", "sent by you"),
    ]


def test_my_work_goes_back_page_by_page(project: Project, ann: Desk) -> None:
    """BEHAVIOUR 39."""
    queue = factories.make_queue(project, 60)
    for minutes in range(60):
        factories.answer(queue, ann.author, now=factories.NOW + minutes * MINUTE)
    first = ann.client.get("/p/p/work").content.decode()
    older = re.search(r'href="(\?before=[^"]+)"', first)
    second = ann.client.get(f"/p/p/work{older[1]}").content.decode()
    assert (first.count('class="excerpt"'), second.count('class="excerpt"')) == (50, 10)
    assert "before=" not in second
    assert ann.client.get("/p/p/work?before=nonsense").status_code == 404


def test_undo_after_the_answer_is_withdrawn_elsewhere_is_refused_in_one_sentence(project: Project, ann: Desk) -> None:
    factories.make_queue(project, 1)
    token = ann.token
    ann.post(token, only="1")
    review_undo(lease=Lease.objects.get(token=token), actor=ann.author, now=timezone.now())
    answer = ann.post(token, "undo")
    assert (answer.status_code, "This answer cannot be taken back any more." in answer.content.decode()) == (409, True)


@pytest.mark.parametrize("cases", [1, 30])
def test_review_page_asks_the_database_no_more_for_a_longer_queue(
    project: Project, ann: Desk, cases: int, django_assert_max_num_queries: Any
) -> None:
    """BEHAVIOUR 39."""
    factories.make_queue(project, cases)
    ann.page()
    with django_assert_max_num_queries(25):
        ann.page()


def test_answer_with_all_that_it_brings_takes_no_more_statements_than_it_did(
    project: Project, ann: Desk, django_assert_max_num_queries: Any
) -> None:
    """Savepoints included. Each statement costs a third of a millisecond of processor and more."""
    factories.make_queue(project, 4, answers=2)
    ann.post(ann.token, only="1")
    token, page = ann.token, ann.page()
    ahead = page.split('<template data-token="')[1][:36]
    with django_assert_max_num_queries(46):
        assert ann.post(token, only="1", ahead=ahead)["X-Desk-Onward"] == "yes"


def test_page_without_its_texts_is_light(project: Project, ann: Desk) -> None:
    one_case(project, "q", "a" * 1_000_000)
    assert len(ann.page().encode()) - 1_000_000 < 20_000
