"""Tokens: what they open, for how long, and who may make them."""

import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from core.errors import InputError, Refused
from core.models import ApiToken, Event, Project, Role, Scope
from core.services import account_remove, member_remove
from core.tokens import person_token_make, pipeline_token_make, token_revoke
from tests import factories

pytestmark = pytest.mark.django_db
HERE = "/api/v1/projects/p"


@pytest.fixture
def project() -> Project:
    return factories.make_project()


def ask(key: str) -> int:
    return int(Client().get(HERE, headers={"Authorization": f"Bearer {key}"}).status_code)


def test_key_is_nowhere_in_the_database(project: Project) -> None:
    key = factories.make_token(project, Scope.INTAKE).key
    (row,) = ApiToken.objects.values()
    assert key not in str(row)
    assert key.removeprefix("tertium_")[6:] not in str(row) + str(list(Event.objects.values()))


def test_token_says_whom_it_acts_as(project: Project) -> None:
    key = factories.make_token(project, Scope.INTAKE, Scope.AUDITS_READ).key
    answer = Client().get(HERE, headers={"Authorization": f"bearer {key}"})
    scopes = ["audits:read", "intake"]
    assert answer.json() == {"name": "p", "author": "pipeline: nightly", "role": "lead", "scopes": scopes}


def test_two_tokens_of_a_name_act_as_one_author(project: Project) -> None:
    first, second = (factories.make_token(project, Scope.INTAKE) for _ in range(2))
    assert (first.author, first.key != second.key) == (second.author, True)


def test_token_opens_nothing_once_it_has_expired_or_was_revoked_or_is_misspelt(project: Project) -> None:
    now = timezone.now()
    expired = factories.make_token(project, Scope.INTAKE, now=now - timedelta(days=30, seconds=1))
    live = factories.make_token(project, Scope.INTAKE, now=now - timedelta(days=30) + timedelta(minutes=1))
    assert [ask(expired.key), ask(live.key), ask(live.key[:-1]), ask(""), ask("é")] == [401, 200, 401, 401, 401]
    token_revoke(token=live.token, actor=factories.operator_of(project), now=now)
    assert ask(live.key) == 401


def test_token_of_a_person_ends_with_their_membership_or_account(project: Project) -> None:
    left, gone = (factories.make_person(project, name) for name in ("left", "gone"))
    operator, now = factories.operator_of(project), timezone.now()
    keys = [
        person_token_make(author=one, scopes=["review"], days=1, actor=operator, now=now)[1] for one in (left, gone)
    ]
    assert [ask(key) for key in keys] == [200, 200]
    member_remove(author=left)
    account_remove(user=gone.user)
    assert [ask(key) for key in keys] == [404, 404]


def test_account_that_was_switched_off_opens_nothing(project: Project) -> None:
    token = factories.make_token(project, Scope.REVIEW)
    type(token.author.user).objects.update(is_active=False)
    assert ask(token.key) == 401


def test_pipeline_may_not_be_given_what_only_a_person_says(project: Project) -> None:
    owner = factories.make_person(project, "o", Role.OWNER)
    with pytest.raises(InputError, match="not a scope of this token") as refused:
        pipeline_token_make(name="x", scopes=["review", "decide"], days=0, actor=owner, now=timezone.now())
    assert [problem.key for problem in refused.value.problems] == ["scopes", "scopes", "days"]


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.ADJUDICATOR, Role.LEAD])
def test_only_an_owner_makes_a_token_of_a_pipeline(project: Project, role: Role) -> None:
    actor = factories.make_person(project, "m", role)
    with pytest.raises(Refused):
        pipeline_token_make(name="x", scopes=["intake"], days=1, actor=actor, now=timezone.now())


def test_nobody_but_the_operator_makes_a_token_that_acts_as_a_person(project: Project) -> None:
    owner = factories.make_person(project, "o", Role.OWNER)
    with pytest.raises(Refused, match="command line"):
        person_token_make(author=owner, scopes=["decide"], days=1, actor=owner, now=timezone.now())


def test_last_use_is_noted(project: Project) -> None:
    token = factories.make_token(project, Scope.INTAKE)
    ask(token.key)
    token.token.refresh_from_db()
    assert token.token.used_at is not None


def test_owner_makes_sees_and_revokes_tokens_on_a_page(project: Project) -> None:
    client = Client()
    client.force_login(factories.make_person(project, "o", Role.OWNER).user)
    made = client.post("/p/p/tokens", {"name": "nightly", "scopes": ["intake", "audits:read"], "days": 30})
    key = made.context["key"]
    assert (ask(key), key in made.content.decode()) == (200, True)
    page = client.get("/p/p/tokens").content.decode()
    assert ("pipeline: nightly" in page, key in page, key[:14] in page) == (True, False, True)
    assert client.post(f"/p/p/tokens/{ApiToken.objects.get().pk}/revoke").status_code == 302
    assert (ask(key), "revoked" in client.get("/p/p/tokens").content.decode()) == (401, True)
    assert list(Event.objects.values_list("name", flat=True).order_by("pk"))[-2:] == [
        "core.token-made",
        "core.token-revoked",
    ]


def test_page_says_what_is_wrong_with_a_wish(project: Project) -> None:
    client = Client()
    client.force_login(factories.make_person(project, "o", Role.OWNER).user)
    answer = client.post("/p/p/tokens", {"name": "x", "scopes": ["review"], "days": 400})
    assert (answer.status_code, ApiToken.objects.count()) == (422, 0)
    blank = client.post("/p/p/tokens", {"name": "x\x00", "scopes": ["intake"], "days": 4})
    assert blank.status_code == 422


def test_command_makes_lists_and_revokes(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    factories.make_person(project, "ann")
    call_command("api_token", "p", "--pipeline", "nightly", "--scope", "intake", "--json")
    key = json.loads(capsys.readouterr().out)["key"]
    call_command("api_token", "p", "--person", "p-ann", "--scope", "review", "--json")
    person = json.loads(capsys.readouterr().out)
    assert (ask(key), ask(person["key"]), person["author"]) == (200, 200, "p-ann")
    call_command("api_token", "p", "--revoke", str(person["number"]))
    assert "revoked" in capsys.readouterr().out
    assert (ask(key), ask(person["key"])) == (200, 401)
    for wrong in (["--person", "nobody"], ["--revoke", "999"], ["--person", "p-ann", "--scope", "intake"]):
        with pytest.raises(CommandError) as ended:
            call_command("api_token", "p", *wrong)
        assert ended.value.returncode == 2
