"""Two projects in one installation: whatever one has, a member of the other cannot tell it from nothing."""

from itertools import product
from uuid import uuid4

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from adjudication.models import Lease
from audits.models import Audit, Job, JobKind
from audits.services.anchorsets import anchor_set_make
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from core.models import Project, Role, Scope, WebhookDelivery
from core.webhooks import webhook_make
from tests import factories
from tests.factories import NOW
from tests.routes import Route, routes

pytestmark = pytest.mark.django_db

METHODS = ("get", "post", "put", "patch", "delete")
# What a number in an address is of, where it is not a job's.
NUMBERS = {"adjudication:reason-code": "code", "desk-api:reason-code": "code", "token-revoke": "key"}
NUMBERS |= {f"{space}member-{what}": "member" for space in ("", "api:") for what in ("role", "removal")}
NUMBERS |= {
    f"{space}{name}": "webhook"
    for space in ("", "api:")
    for name in ("webhook", "webhook-secret", "webhook-end", "webhook-messages", "webhook-again")
}
NO_SUCH_NAME, NO_SUCH_NUMBER = "no-such-audit", 999_999


@pytest.fixture
def other() -> dict[str, object]:
    """A project with one of everything that an address can name: what it is called there."""
    project = factories.make_project("other")
    audit = factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No"), "b": ("Yes", "Yes")}))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    ann = factories.make_person(project, "ann")
    factories.answer(audit.queue, ann)
    operator = factories.operator(audit)
    webhook = webhook_make(url="https://ci.example/", kinds=["look.computed"], actor=operator, now=NOW)[0].pk
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)
    delivery = WebhookDelivery.objects.get().pk
    lease = factories.claim(audit.queue, ann, timezone.now())
    code = project.reason_codes.latest("pk").pk
    job = Job.objects.create(project=project, kind=JobKind.INTAKE, actor=ann, asked_at=NOW)
    anchors = anchor_set_make(audit=audit, name="gold", licence="x", actor=ann, now=NOW).pk
    look = audit.looks.get().pk
    known = {"name": audit.name, "look": look, "token": lease.token, "number": job.pk, "code": code}
    key = factories.make_token(project, Scope.INTAKE).token.pk
    return (
        known
        | {"key": key, "anchors": anchors, "kind": "csv", "member": ann.pk}
        | {
            "webhook": webhook,
            "delivery": delivery,
            "message": delivery,
        }
    )


@pytest.fixture
def project() -> Project:
    return factories.make_project("mine")


def missing(route: Route) -> dict[str, object]:
    nothing = {"name": NO_SUCH_NAME, "look": NO_SUCH_NUMBER, "token": uuid4(), "number": NO_SUCH_NUMBER}
    nothing |= dict.fromkeys(("anchors", "delivery", "message"), NO_SUCH_NUMBER)
    return {name: nothing[name] for name in route.converters if name in nothing}


def ask(client: Client, method: str, url: str) -> HttpResponse:
    """What a form would send goes along, so that it is the id that is answered and not the form."""
    answer: HttpResponse = getattr(client, method)(url, {"reason": "too long"} if method == "post" else None)
    return answer


@pytest.mark.parametrize("role", Role)
def test_ids_of_another_project_answer_as_ids_that_do_not_exist(
    project: Project, other: dict[str, object], role: Role
) -> None:
    """BEHAVIOUR 40."""
    client = Client()
    client.force_login(factories.make_person(project, "m", role).user)
    tried = 0
    for route, method in product(routes(), METHODS):
        if route.in_project and (nothing := missing(route)):
            theirs = {name: other[name] for name in nothing}
            if route.name in NUMBERS:
                theirs["number"] = other[NUMBERS[route.name]]
            there, none = (ask(client, method, route.url(project="mine", **ids)) for ids in (theirs, nothing))
            assert (there.status_code, there.content) == (none.status_code, none.content), (route, method)
            assert there.status_code in (403, 404, 405), (route, method)
            tried += 1
    assert tried >= 19 * len(METHODS)
    assert Audit.objects.count() == 1
    assert Lease.objects.filter(ended_at__isnull=True).count() == 1


def test_the_same_ids_are_there_for_their_own_people(other: dict[str, object]) -> None:
    lead = Client()
    lead.force_login(factories.make_person(Project.objects.get(name="other"), "lea", Role.LEAD).user)
    for name in (
        "audits:integrity",
        "audits:plan",
        "audits:monitor",
        "audits:looks",
        "audits:job",
        "audits:anchor-set",
    ):
        route = next(route for route in routes() if route.name == name)
        assert lead.get(route.url(project="other", **other)).status_code == 200, name


def test_address_that_only_takes_a_form_says_so_to_everybody_in_the_same_words(project: Project) -> None:
    """A page that knew a project, or held a form's token, would differ from visitor to visitor."""
    owner = Client()
    owner.force_login(factories.make_person(project, "lea", Role.OWNER).user)
    answers = [ask(owner, "get", route.url(project="mine", **missing(route))) for route in routes() if route.in_project]
    pages = [answer for answer in answers if answer.status_code == 405 and not answer["Content-Type"].endswith("json")]
    assert len(pages) >= 13
    assert {page.content for page in pages} == {pages[0].content}
    assert "It takes what the form of another page sends." in pages[0].content.decode()
    assert [word for word in ("mine", "csrf", "lea<") if word in pages[0].content.decode()] == []
    assert all(page["Allow"] for page in pages)
    assert ask(Client(), "get", "/logout").content == pages[0].content
