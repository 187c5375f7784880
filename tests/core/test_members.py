"""People come and go; what they stated stays."""

import json

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from adjudication.models import Label, Review, Settlement
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from core.errors import InputError, Refused
from core.models import Author, Event, Membership, Project, Role
from core.services import member_dismiss, password_set
from tests import factories
from tests.adjudication.test_concurrency import at_once
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    call_command(*arguments, "--json")
    return json.loads(capsys.readouterr().out)


def test_new_member_can_sign_in_and_stands_under_a_pseudonym(capsys: pytest.CaptureFixture[str]) -> None:
    said = run(capsys, "add_member", "alpha", "ann.smith", "reviewer")
    assert (said["pseudonym"], len(str(said["password"])) >= 20) == ("person 1", True)
    answer = Client().post("/login", {"username": "ann.smith", "password": said["password"]})
    assert answer.status_code == 302
    assert run(capsys, "add_member", "alpha", "bob", "lead")["pseudonym"] == "person 2"


def test_second_call_changes_the_role_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "add_member", "alpha", "ann", "reviewer", "--pseudonym", "heron")
    assert run(capsys, "add_member", "alpha", "ann", "lead") == {
        "project": "alpha",
        "username": "ann",
        "role": "lead",
        "pseudonym": "heron",
    }
    assert (Membership.objects.get().role, Author.objects.get(kind="member").pseudonym) == ("lead", "heron")


def test_command_says_who_is_in_and_the_password_of_a_new_account_once(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("add_member", "alpha", "ann", "reviewer")
    who, password = capsys.readouterr().out.splitlines()
    assert who == "ann is reviewer in alpha, as 'person 1'"
    assert password.endswith(" (shown this once)")
    call_command("add_member", "alpha", "ann", "lead")
    assert capsys.readouterr().out == "ann is lead in alpha, as 'person 1'\n"


def test_pseudonym_of_somebody_else_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "add_member", "alpha", "ann", "reviewer", "--pseudonym", "heron")
    with pytest.raises(CommandError, match="somebody else has this pseudonym in the project \\(found 'heron'\\)"):
        call_command("add_member", "alpha", "bob", "reviewer", "--pseudonym", "heron")
    assert not get_user_model().objects.filter(username="bob").exists()


@pytest.mark.parametrize(
    ("password", "why"),
    [("short", "at least 12 characters"), ("password1234", "too common"), ("alpha-ann.smith", "too similar")],
)
def test_weak_password_is_refused_with_the_reason(password: str, why: str) -> None:
    author = factories.make_person(factories.make_project("alpha"), "ann.smith", Role.REVIEWER)
    with pytest.raises(InputError, match=f"^password: .*{why}"):
        password_set(author=author, password=password)
    assert not author.user.has_usable_password()


def owner_of(project: Project, name: str = "olga") -> tuple[Author, Client]:
    owner, client = factories.make_person(project, name, Role.OWNER), Client()
    client.force_login(owner.user)
    return owner, client


def test_owner_takes_somebody_in_who_signs_in_with_the_password_shown_once() -> None:
    owner, client = owner_of(factories.make_project("alpha"))
    data = {"username": "ann", "role": "reviewer", "pseudonym": "", "email": "ann@example.org"}
    page = client.post("/p/alpha/members", data)
    password = page.context["new"]["password"]
    assert password in page.content.decode()
    assert password not in client.get("/p/alpha/members").content.decode()
    assert Client().post("/login", {"username": "ann", "password": password})["Location"] == "/"
    event = Event.objects.get(name="core.member-added")
    ann = Author.objects.get(user__username="ann")
    assert (event.actor, event.payload) == (owner, {"author": ann.pk, "role": "reviewer"})
    again = client.post("/p/alpha/members", data)
    assert (again.status_code, "is in the project already" in again.content.decode()) == (409, True)


def test_account_of_another_project_is_taken_in_and_left_as_it_is() -> None:
    elsewhere = factories.make_person(factories.make_project("beta"), "ann", Role.LEAD)
    password_set(author=elsewhere, password="correct horse battery staple")
    _, client = owner_of(factories.make_project("alpha"))
    data = {"username": "beta-ann", "role": "reviewer", "pseudonym": "heron", "email": "mallory@example.org"}
    assert client.post("/p/alpha/members", data).status_code == 409
    assert client.post("/p/alpha/members", data | {"email": ""})["Location"] == "/p/alpha/members"
    ann = get_user_model().objects.get(username="beta-ann")
    assert (ann.email, ann.check_password("correct horse battery staple")) == ("", True)
    assert set(ann.memberships.values_list("project__name", "role")) == {("alpha", "reviewer"), ("beta", "lead")}


def test_owner_changes_a_role_and_lets_somebody_go() -> None:
    project = factories.make_project("alpha")
    owner, client = owner_of(project)
    bob = factories.make_person(project, "bob", Role.REVIEWER)
    client.post(f"/p/alpha/members/{bob.pk}/role", {"role": "lead"})
    assert bob.user.memberships.get().role == "lead"
    assert client.post(f"/p/alpha/members/{bob.pk}/role", {"role": "king"}).status_code == 422
    client.post(f"/p/alpha/members/{bob.pk}/remove")
    assert bob.user.memberships.count() == 0
    assert [event.name for event in Event.objects.filter(actor=owner).order_by("pk")] == [
        "core.member-role-set",
        "core.member-removed",
    ]
    outsider = factories.make_person(factories.make_project("beta"), "oz", Role.OWNER)
    for action in ("role", "remove"):
        assert client.post(f"/p/alpha/members/{outsider.pk}/{action}", {"role": "lead"}).status_code == 404
    assert outsider.user.memberships.get().role == "owner"


def test_project_keeps_an_owner() -> None:
    project = factories.make_project("alpha")
    owner, client = owner_of(project)
    for action in ("role", "remove"):
        answer = client.post(f"/p/alpha/members/{owner.pk}/{action}", {"role": "lead"})
        assert (answer.status_code, "is the only owner; allowed: another owner first" in answer.content.decode()) == (
            409,
            True,
        )
    owner_of(project, "otto")
    assert client.post(f"/p/alpha/members/{owner.pk}/remove")["Location"] == "/"
    assert client.get("/p/alpha/members").status_code == 404


def _dismiss(work: tuple[Author, Author]) -> bool:
    actor, other = work
    try:
        member_dismiss(author=other, actor=actor, now=NOW)
    except Refused:
        return False
    return True


@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_remove_each_other_at_once_one_stays() -> None:
    for number in range(5):
        project = factories.make_project(f"round {number}")
        one, other = (factories.make_person(project, name, Role.OWNER) for name in ("olga", "otto"))
        assert sorted(at_once(_dismiss, [(one, other), (other, one)])) == [False, True]
        assert project.memberships.filter(role=Role.OWNER).count() == 1


@pytest.mark.parametrize("how", [["--project", "alpha"], ["--account"]], ids=["project", "account"])
def test_removing_a_person_keeps_every_label_count_and_interval(
    capsys: pytest.CaptureFixture[str], how: list[str]
) -> None:
    """BEHAVIOUR 41."""
    project = factories.make_project("alpha")
    audit = factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No"), "b": ("Yes", "Yes")}))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    ann = factories.make_person(project, "ann")
    for label in ("fail", "pass"):
        factories.answer(audit.queue, ann, label)
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)

    def stands() -> list[object]:
        rows = [list(model.objects.order_by("pk").values()) for model in (Author, Review, Label, Settlement)]
        for author in rows[0]:
            author.pop("user_id")
        return [*rows, list(audit.looks.values("point", "low", "high", "labels", "result"))]

    before = stands()
    client = Client()
    client.force_login(ann.user)
    assert client.get("/p/alpha/work").status_code == 200
    said = run(capsys, "remove_member", "alpha-ann", *how)
    stay = [{"project": "alpha", "pseudonym": "alpha-ann"}]
    assert said == {"username": "alpha-ann", "labels_stay_under": stay}
    assert stands() == before
    assert client.get("/p/alpha/work").status_code in (302, 404)
    assert get_user_model().objects.filter(username="alpha-ann").exists() is (how != ["--account"])


def test_person_who_comes_back_to_the_project_is_the_same_author(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "add_member", "alpha", "ann", "reviewer", "--pseudonym", "heron")
    run(capsys, "remove_member", "ann", "--project", "alpha")
    assert run(capsys, "add_member", "alpha", "ann", "reviewer")["pseudonym"] == "heron"


def test_whoever_is_not_there_cannot_be_removed() -> None:
    factories.make_person(factories.make_project("alpha"), "ann")
    for how, says in (
        (["zoe", "--account"], "there is no such account"),
        (["alpha-ann", "--project", "beta"], "is no member of beta"),
    ):
        with pytest.raises(CommandError, match=says) as ended:
            call_command("remove_member", *how)
        assert ended.value.returncode == 2
