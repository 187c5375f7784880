"""Webhooks: who may make one, what stays secret, and what it is told, by page, API and command."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client

from core.errors import InputError, Refused
from core.models import Event, Project, Role, Scope, StoredAnswer, WebhookDelivery, WebhookEndpoint, WebhookMessage
from core.webhooks import (
    BOTH_SIGN_FOR,
    MOST,
    message_write,
    secret_of,
    secrets_in_force,
    webhook_end,
    webhook_make,
    webhook_secret_renew,
)
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]

URL = "https://ci.example/tertium"
ALL = ["audit.settled", "import.finished", "look.computed", "target.reached"]


@pytest.fixture
def project() -> Project:
    return factories.make_project()


def make(project: Project, url: str = URL, kinds: list[str] = ALL) -> tuple[WebhookEndpoint, str]:
    return webhook_make(url=url, kinds=kinds, actor=factories.operator_of(project), now=NOW)


def tell(project: Project, thing: str = "look 1", kind: str = "look.computed") -> WebhookMessage | None:
    return message_write(project=project, kind=kind, thing=thing, data={"look": 1}, now=NOW)


def everything_stored() -> str:
    return str([list(model._base_manager.values()) for model in apps.get_models()])


def test_secret_is_nowhere_in_the_database_and_follows_from_the_key(project: Project, settings: Any) -> None:
    endpoint, secret = make(project)
    assert (secret[:6], len(secret)) == ("whsec_", 6 + 44)
    assert secret.removeprefix("whsec_") not in everything_stored()
    assert secrets_in_force(endpoint, NOW) == [secret]
    settings.SECRET_KEY = "another"
    assert secret_of(endpoint.secret_id) != secret


def test_two_webhooks_have_two_secrets(project: Project) -> None:
    assert make(project)[1] != make(project, URL + "/2")[1]


def test_both_secrets_sign_for_a_day_after_another_was_made(project: Project) -> None:
    endpoint, first = make(project)
    second = webhook_secret_renew(endpoint=endpoint, actor=endpoint.made_by, now=NOW)
    endpoint.refresh_from_db()
    assert secrets_in_force(endpoint, NOW + BOTH_SIGN_FOR - timedelta(seconds=1)) == [second, first]
    assert secrets_in_force(endpoint, NOW + BOTH_SIGN_FOR) == [second]


def test_of_two_who_renew_a_secret_at_once_one_is_told(project: Project) -> None:
    endpoint, _ = make(project)
    seen = WebhookEndpoint.objects.get()
    webhook_secret_renew(endpoint=endpoint, actor=endpoint.made_by, now=NOW)
    with pytest.raises(Refused, match="has another secret by now"):
        webhook_secret_renew(endpoint=seen, actor=endpoint.made_by, now=NOW)


@pytest.mark.parametrize(("role", "may"), [(Role.REVIEWER, False), (Role.ADJUDICATOR, False), (Role.LEAD, True)])
def test_only_who_leads_makes_a_webhook(project: Project, role: Role, may: bool) -> None:
    actor = factories.make_person(project, "m", role)
    if may:
        webhook_make(url=URL, kinds=ALL, actor=actor, now=NOW)
    else:
        with pytest.raises(Refused):
            webhook_make(url=URL, kinds=ALL, actor=actor, now=NOW)
    assert WebhookEndpoint.objects.count() == may


@pytest.mark.parametrize(
    ("url", "kinds", "key"), [("http://ci.example/", ALL, "url"), (URL, [], "kinds"), (URL, ["x"], "kinds")]
)
def test_what_cannot_be_told_is_refused_by_name(project: Project, url: str, kinds: list[str], key: str) -> None:
    with pytest.raises(InputError) as refused:
        make(project, url, kinds)
    assert ([problem.key for problem in refused.value.problems], WebhookEndpoint.objects.count()) == ([key], 0)


def test_address_is_told_once_until_its_webhook_has_ended(project: Project) -> None:
    endpoint, _ = make(project)
    with pytest.raises(Refused, match="a webhook leads there already"):
        make(project)
    webhook_end(endpoint=endpoint, actor=endpoint.made_by, now=NOW)
    webhook_end(endpoint=endpoint, actor=endpoint.made_by, now=NOW)
    assert make(project)[0] != endpoint
    assert Event.objects.filter(name="core.webhook-ended").count() == 1


def test_project_has_so_many_webhooks_and_no_more(project: Project) -> None:
    for number in range(MOST):
        make(project, f"{URL}/{number}")
    with pytest.raises(Refused, match="as many webhooks as it may"):
        make(project)


def test_message_goes_to_who_asked_for_its_kind_and_to_no_other_project(project: Project) -> None:
    asked, _ = make(project)
    make(project, URL + "/other", ["import.finished"])
    make(factories.make_project("elsewhere"))
    ended, _ = make(project, URL + "/ended")
    webhook_end(endpoint=ended, actor=ended.made_by, now=NOW)
    message = tell(project)
    assert message is not None
    assert list(WebhookDelivery.objects.values_list("endpoint", "message")) == [(asked.pk, message.pk)]
    assert message.data == {"project": "p", "look": 1}


def test_same_of_the_same_thing_is_told_once(project: Project) -> None:
    make(project)
    assert (tell(project) is None, tell(project), tell(project, "look 2") is None) == (False, None, False)
    assert (WebhookMessage.objects.count(), WebhookDelivery.objects.count()) == (2, 2)
    twin = WebhookMessage(project=project, kind="look.computed", thing="look 1", at=NOW, data={})
    with pytest.raises(IntegrityError), transaction.atomic():
        twin.save()
    one = WebhookDelivery.objects.first()
    assert one is not None
    one.pk, one._state.adding = None, True
    with pytest.raises(IntegrityError), transaction.atomic():
        one.save()


def test_nothing_is_written_where_nobody_is_told(project: Project) -> None:
    assert (tell(project), WebhookMessage.objects.count()) == (None, 0)


def test_message_is_gone_with_the_transaction_that_wrote_it(project: Project) -> None:
    make(project)
    with transaction.atomic():
        tell(project)
        transaction.set_rollback(True)
    assert (WebhookMessage.objects.count(), WebhookDelivery.objects.count()) == (0, 0)


def signed_in(project: Project) -> Client:
    client = Client()
    client.force_login(factories.make_person(project, "lea", Role.LEAD).user)
    return client


def test_lead_makes_sees_and_ends_a_webhook_on_pages(project: Project) -> None:
    client = signed_in(project)
    made = client.post("/p/p/webhooks", {"url": URL, "kinds": ALL})
    endpoint = WebhookEndpoint.objects.get()
    secret = secret_of(endpoint.secret_id)
    assert (made.status_code, secret in made.content.decode()) == (200, True)
    tell(project)
    page, listed = (client.get(f"/p/p/webhooks{more}").content.decode() for more in (f"/{endpoint.pk}", ""))
    assert ("look.computed of look 1" in page, URL in listed) == (True, True)
    assert (secret in page + listed, endpoint.secret_id in page + listed) == (False, False)

    renewed = client.post(f"/p/p/webhooks/{endpoint.pk}/secret").content.decode()
    endpoint.refresh_from_db()
    assert secret_of(endpoint.secret_id) in renewed
    assert client.post(f"/p/p/webhooks/{endpoint.pk}/end").status_code == 302
    assert "ended 20" in client.get("/p/p/webhooks").content.decode()
    assert client.post(f"/p/p/webhooks/{endpoint.pk}/secret").status_code == 409
    again = client.post(f"/p/p/webhooks/{endpoint.pk}/again/{WebhookDelivery.objects.get().pk}")
    assert (again.status_code, "has ended" in again.content.decode()) == (409, True)
    assert list(Event.objects.order_by("pk").values_list("name", flat=True)) == [
        "core.webhook-made",
        "core.webhook-secret-renewed",
        "core.webhook-ended",
    ]


def test_page_says_what_is_wrong_with_an_address(project: Project) -> None:
    answer = signed_in(project).post("/p/p/webhooks", {"url": "http://ci.example/", "kinds": ALL})
    assert (answer.status_code, "not an address that is asked" in answer.content.decode()) == (422, True)
    assert answer.client.post("/p/p/webhooks", {"url": URL}).status_code == 422


def test_program_does_by_api_what_the_pages_do(project: Project) -> None:
    token = factories.make_token(project, Scope.WEBHOOKS)
    client = Client(headers={"Authorization": f"Bearer {token.key}", "Idempotency-Key": "once"})
    here = "/api/v1/projects/p/webhooks"
    made = client.post(here, {"url": URL, "kinds": ALL}, content_type="application/json")
    endpoint = WebhookEndpoint.objects.get()
    assert (made.status_code, made.json()) == (
        201,
        {"number": endpoint.pk, "secret": secret_of(endpoint.secret_id)},
    )
    assert client.post(here, {"url": URL, "kinds": ALL}, content_type="application/json").status_code == 409
    renewed = client.post(f"{here}/{endpoint.pk}/secret").json()["secret"]
    assert renewed != made.json()["secret"]
    assert StoredAnswer.objects.count() == 0
    assert made.json()["secret"].removeprefix("whsec_") not in everything_stored()

    tell(project)
    (one,) = client.get(f"{here}/{endpoint.pk}/messages").json()["results"]
    message = WebhookMessage.objects.get()
    assert (one["id"], one["type"], one["state"], one["attempts"]) == (message.name, "look.computed", "waiting", [])
    again = client.post(f"{here}/{endpoint.pk}/messages/{one['number']}/again", **as_json("a"))
    assert (again.status_code, again.json()["number"]) == (200, one["number"])
    assert client.get(here).json()["results"][0]["waiting"] == 1
    ended = client.post(f"{here}/{endpoint.pk}/end", **as_json("e")).json()
    assert (ended["ended_at"] is None, ended["given_up"]) == (False, 1)
    assert client.get(f"{here}/{endpoint.pk}").json() == ended


def as_json(key: str) -> dict[str, Any]:
    return {"content_type": "application/json", "headers": {"Idempotency-Key": key}}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    call_command("webhooks", "p", *arguments, "--json")
    return json.loads(capsys.readouterr().out)


def test_command_does_what_the_pages_do(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    made = run(capsys, "--make", URL, "--kind", "look.computed")
    endpoint = WebhookEndpoint.objects.get()
    assert (made["secret"], made["number"], made["url"]) == (secret_of(endpoint.secret_id), endpoint.pk, URL)
    tell(project)
    number = str(endpoint.pk)
    call_command("webhooks", "p", "--messages", number)
    assert "look.computed, waiting; not sent yet" in capsys.readouterr().out
    delivery = WebhookDelivery.objects.get()
    run(capsys, "--again", str(delivery.pk))
    assert run(capsys, "--secret", number)["secret"] != made["secret"]
    call_command("webhooks", "p", "--end", number)
    assert capsys.readouterr().out.startswith(f"{number}: {URL}, look.computed, 0 waiting, 1 given up, ended 20")
    for wrong in (["--make", "ftp://x", "--kind", "look.computed"], ["--end", "999"], ["--again", "999"]):
        with pytest.raises(CommandError) as ended:
            call_command("webhooks", "p", *wrong)
        assert ended.value.returncode == 2
