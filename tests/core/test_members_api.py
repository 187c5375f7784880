"""The people of a project, by their owner's token."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from core.models import Membership, Project, Role, StoredAnswer
from core.services import operator_of
from core.tokens import person_token_make
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]
HERE = "/api/v1/projects/p/members"


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def owner(project: Project) -> Client:
    author = factories.make_person(project, "olga", Role.OWNER)
    key = person_token_make(author=author, scopes=["decide"], days=1, actor=operator_of(project), now=timezone.now())[1]
    return Client(headers={"Authorization": f"Bearer {key}", "Idempotency-Key": "k"})


def send(client: Client, address: str, **given: str) -> tuple[int, dict[str, object]]:
    key = {"Idempotency-Key": address}
    answer = client.post(f"{HERE}{address}", given, content_type="application/json", headers=key)
    return answer.status_code, answer.json() if answer.content else {}


def test_owner_takes_somebody_in_gives_another_role_and_lets_go(owner: Client) -> None:
    status, made = send(owner, "", username="ann", role="reviewer")
    user = get_user_model().objects.get(username="ann")
    assert (status, made["role"], user.check_password(str(made["password"]))) == (201, "reviewer", True)
    assert StoredAnswer.objects.count() == 0  # it would hold the password
    assert send(owner, "", username="ann", role="lead")[0] == 409
    assert send(owner, f"/{made['number']}/role", role="lead")[1] == made | {"role": "lead", "password": None}
    listed = owner.get(HERE).json()["results"]
    assert [(one["username"], one["role"]) for one in listed] == [("ann", "lead"), ("p-olga", "owner")]
    assert send(owner, f"/{made['number']}/remove") == (204, {})
    assert Membership.objects.filter(user=user).count() == 0


def test_only_owner_stays(owner: Client) -> None:
    (me,) = owner.get(HERE).json()["results"]
    for address, given in ((f"/{me['number']}/remove", {}), (f"/{me['number']}/role", {"role": "lead"})):
        status, said = send(owner, address, **given)
        assert (status, "is the only owner" in str(said)) == (409, True)


def test_what_is_no_member_is_said_by_field(owner: Client) -> None:
    status, said = send(owner, "", username="a b", role="boss", email="x")
    assert (status, {one["key"] for one in said["errors"]}) == (422, {"username", "role", "email"})
