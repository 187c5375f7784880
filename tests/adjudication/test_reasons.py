"""Reason codes belong to a project: it adds its own, moves and retires them, and what was given stays given."""

import re
from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.test import Client

from adjudication.blind import blind_item
from adjudication.in_hand import draft_of
from adjudication.keys import PageKeys, page_keys
from adjudication.models import ReasonCode, ReasonOwner, ReasonPlacement, ReasonStage, ReviewReason
from adjudication.reasons import FIRST_REASONS
from adjudication.selectors import reasons_given, reasons_of
from adjudication.services.drafts import draft_save
from adjudication.services.presentations import presentation_ensure
from adjudication.services.reasons import reason_code_add, reason_code_place
from core.errors import InputError, Refused
from core.models import Author, Event, Project, Role
from tests import factories
from tests.factories import NOW, claim, submit

pytestmark = [pytest.mark.database, pytest.mark.django_db]
PAGE = "/p/p/reason-codes"
DESK = [
    "rubric boundary",
    "rubric insufficient",
    "evidence interpretation",
    "evidence missing",
    "ambiguous task",
    "policy priority",
    "other",
]
DIAGNOSIS = [
    "output-order sensitivity",
    "parser invalid",
    "mapping gap",
    "judge nondeterminism",
    "evidence packaging",
    "cache",
    "policy change",
    "judge error",
]


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def owner(project: Project) -> Author:
    return factories.make_person(project, "olga", Role.OWNER)


@pytest.fixture
def ann(project: Project) -> Author:
    return factories.make_person(project, "ann")


def names(project: Project, *stages: ReasonStage) -> list[str]:
    return [reason.code for reason in reasons_of(project, *stages)]


def named(project: Project, code: str) -> ReasonCode:
    (found,) = [reason for reason in reasons_of(project) if reason.code == code]
    return found


def place(
    project: Project, code: str, stage: ReasonStage, owner: Author, revision: int = 1, whose: ReasonOwner | None = None
) -> None:
    found = named(project, code)
    reason_code_place(code=found, revision=revision, stage=stage, owner=whose or found.owner, actor=owner, now=NOW)


def add(code: str, owner: Author, stage: ReasonStage = ReasonStage.DESK, needs_text: bool = False) -> ReasonCode:
    return reason_code_add(
        code=code, meaning="", needs_text=needs_text, stage=stage, owner=ReasonOwner.POLICY, actor=owner, now=NOW
    )


def offered(project: Project, person: Author) -> dict[str, str]:
    """What the page of a case offers this person: code and key."""
    lease = claim(factories.make_queue(project, 1, name=f"queue of {person}"), person)
    presentation = presentation_ensure(item=lease.item, author=person, now=NOW)
    return {reason.code: reason.key for reason in blind_item(lease, presentation, None, PageKeys()).reasons}


def test_project_begins_with_codes_of_each_stage_and_an_owner_for_each(project: Project) -> None:
    assert names(project, ReasonStage.DESK) == DESK
    assert names(project, ReasonStage.CALIBRATION) == ["gold-label dispute"]
    assert names(project, ReasonStage.DIAGNOSIS) == DIAGNOSIS
    assert {reason.owner for reason in reasons_of(project)} == set(ReasonOwner)


def test_projects_of_before_get_the_same_codes_by_migration() -> None:
    of_before = Project.objects.create(name="of before", created_at=NOW)
    import_module("adjudication.migrations.0005_first_reason_codes").seed(apps, None)
    fields = ("code", "meaning", "stage", "owner", "needs_text")
    assert [[getattr(code, name) for name in fields] for code in reasons_of(of_before)] == [
        [getattr(first, name) for name in fields] for first in FIRST_REASONS
    ]


def test_desk_offers_the_codes_of_its_stage_alone(project: Project, ann: Author) -> None:
    assert list(offered(project, ann)) == DESK


def test_own_code_is_offered_under_a_key_that_nothing_else_has(project: Project, owner: Author, ann: Author) -> None:
    for code in ("xk", "needs a native speaker", "k", "gun u"):  # keys of the page come first in these
        add(code, owner)
    reasons = offered(project, ann)
    assert list(reasons)[-4:] == ["xk", "needs a native speaker", "k", "gun u"]
    assert reasons["k"] == reasons["xk"] == ""
    keys = [key for key in reasons.values() if key]
    assert len(keys) == len(set(keys))
    assert not set(keys) & (page_keys(PageKeys(), 1) | {"f", "p", "1", "2"})


def test_code_can_be_given_another_stage_and_owner(project: Project, owner: Author, ann: Author) -> None:
    place(project, "cache", ReasonStage.DESK, owner, whose=ReasonOwner.PACKAGING)
    assert "cache" in offered(project, ann)
    assert named(project, "cache").owner == ReasonOwner.PACKAGING
    assert Event.objects.filter(name="adjudication.reason-code-placed").get().payload == {
        "code": "cache",
        "stage": "desk",
        "owner": "packaging",
    }


def test_retired_code_is_not_offered_and_still_shows_on_old_reviews(project: Project, owner: Author) -> None:
    people = [factories.make_person(project, name) for name in ("ann", "ben")]
    judge = factories.make_person(project, "ada", Role.ADJUDICATOR)
    queue = factories.make_queue(project, 1, answers=2)
    submit(claim(queue, people[0]), "pass", reasons=["policy priority"])
    lease = claim(queue, people[1])
    place(project, "policy priority", ReasonStage.RETIRED, owner)
    with pytest.raises(InputError, match="not a reason that the desk offers"):
        submit(lease, "fail", reasons=["policy priority"])
    submit(lease, "fail")
    settling = claim(queue, judge)
    page = blind_item(settling, presentation_ensure(item=settling.item, author=judge, now=NOW), None, PageKeys())
    assert "policy priority" not in [reason.code for reason in page.reasons]
    assert sorted(answer.reasons for answer in page.answers) == [(), ("policy priority",)]
    place(project, "policy priority", ReasonStage.DESK, owner, revision=2)
    assert names(project, ReasonStage.DESK) == DESK


def test_draft_with_a_code_retired_meanwhile_keeps_its_words(project: Project, owner: Author, ann: Author) -> None:
    factories.make_queue(project, 1)
    client = Client()
    client.force_login(ann.user)
    token = re.search(r"/review/([0-9a-f-]{36})/draft", client.get("/p/p/review").content.decode())
    assert token is not None
    place(project, "other", ReasonStage.RETIRED, owner)
    sent = {"rationale": "my words", "reasons": ["other"], "only": "1"}
    url = f"/p/p/review/{token[1]}"
    assert client.post(f"{url}/draft", sent).status_code == 204
    answer = client.post(url, sent)
    assert (answer.status_code, b"not a reason that the desk offers" in answer.content.lower()) == (422, True)


def test_code_is_never_renamed_nor_deleted(project: Project) -> None:
    for model in (ReasonCode, ReasonPlacement):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            model._base_manager.filter(pk=model.objects.first().pk).update(id=1)
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            model._base_manager.filter(pk=model.objects.first().pk)._raw_delete(using="default")


@pytest.mark.parametrize("name", ["other", "OTHER", "  Rubric   boundary "])
def test_name_that_was_ever_used_is_taken(project: Project, owner: Author, name: str) -> None:
    place(project, "other", ReasonStage.RETIRED, owner)
    with pytest.raises(Refused, match="there is a code of this name"):
        add(name, owner)


@pytest.mark.parametrize("name", ["", "  ", "x" * 61, "a\x00b"])
def test_odd_names_are_refused(project: Project, owner: Author, name: str) -> None:
    with pytest.raises(InputError):
        add(name, owner)


def test_of_two_who_move_a_code_at_once_one_is_told(project: Project, owner: Author) -> None:
    place(project, "cache", ReasonStage.DESK, owner)
    with pytest.raises(Refused, match="somebody else has changed this code meanwhile"):
        place(project, "cache", ReasonStage.RETIRED, owner)
    assert named(project, "cache").stage == ReasonStage.DESK


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.ADJUDICATOR, Role.LEAD])
def test_only_an_owner_changes_codes(project: Project, role: Role) -> None:
    person = factories.make_person(project, "someone", role)
    with pytest.raises(Refused, match="may not do this"):
        add("mine", person)
    with pytest.raises(Refused, match="may not do this"):
        place(project, "cache", ReasonStage.RETIRED, person)


def test_code_that_asks_for_words_gets_them(project: Project, owner: Author, ann: Author) -> None:
    add("explain", owner, needs_text=True)
    lease = claim(factories.make_queue(project, 1), ann)
    with pytest.raises(InputError, match="“explain” needs a rationale"):
        submit(lease, reasons=["explain"], rationale=" ")
    submit(lease, reasons=["explain"], rationale="so")
    assert [reason.code for reason in ReviewReason.objects.all()] == ["explain"]


def test_codes_given_are_counted_and_answers_taken_back_are_not(project: Project, ann: Author) -> None:
    queue = factories.make_queue(project, 3)
    for reasons in (["other", "ambiguous task"], ["other"], []):
        submit(claim(queue, ann), reasons=reasons, rationale="so")
    assert reasons_given(project) == {"ambiguous task": 1, "other": 2}


def test_owner_adds_and_retires_codes_on_the_page(project: Project, owner: Author) -> None:
    client = Client()
    client.force_login(owner.user)
    new = {"code": "tone", "meaning": "how it is said", "stage": "desk", "owner": "policy"}
    assert client.post(PAGE, new)["Location"] == PAGE
    page = client.get(PAGE).content.decode()
    assert "how it is said" in page
    code = named(project, "tone")
    moved = {"revision": "1", "stage": "retired", "owner": "rubric"}
    assert client.post(f"{PAGE}/{code.pk}", moved)["Location"] == PAGE
    assert "Retired: not offered any more" in client.get(PAGE).content.decode()
    again = client.post(f"{PAGE}/{code.pk}", moved | {"stage": "desk"})
    assert (again.status_code, "somebody else has changed this code" in again.content.decode()) == (409, True)
    taken = client.post(PAGE, new)
    assert (taken.status_code, "there is a code of this name" in taken.content.decode()) == (409, True)
    odd = client.post(f"{PAGE}/{code.pk}", {"revision": "2", "stage": "never", "owner": "rubric"})
    assert (odd.status_code, "desk, calibration, diagnosis, retired" in odd.content.decode()) == (422, True)


def test_code_of_another_project_is_not_there(project: Project, owner: Author) -> None:
    elsewhere = reasons_of(factories.make_project("elsewhere"))[0]
    client = Client()
    client.force_login(owner.user)
    assert client.post(f"{PAGE}/{elsewhere.pk}", {"revision": "1"}).status_code == 404
    with pytest.raises(Refused, match="no member of the project of this code"):
        reason_code_place(
            code=elsewhere, revision=1, stage=ReasonStage.DESK, owner=ReasonOwner.POLICY, actor=owner, now=NOW
        )


def test_draft_is_shown_with_the_codes_that_are_offered(project: Project, owner: Author, ann: Author) -> None:
    lease = claim(factories.make_queue(project, 1), ann)
    draft_save(lease=lease, actor=ann, answers={}, reasons=["cache", "other"], rationale="", seconds=0, now=NOW)
    page = blind_item(
        lease, presentation_ensure(item=lease.item, author=ann, now=NOW), draft_of(lease.item, ann), PageKeys()
    )
    assert [reason.code for reason in page.reasons if reason.chosen] == ["other"]


def test_command_lists_codes_with_stage_owner_and_use(
    project: Project, ann: Author, capsys: pytest.CaptureFixture[str]
) -> None:
    submit(claim(factories.make_queue(project, 1), ann), reasons=["ambiguous task"])
    call_command("reason_codes", "p")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(FIRST_REASONS)
    assert lines[4] == "desk: ambiguous task (policy), given 1 time"
