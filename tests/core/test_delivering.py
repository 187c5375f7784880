"""Messages reach who asked for them, signed, at least once and under one id; what fails is tried again and given up."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest
from celery import Celery
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from config.metrics import Everything
from core import delivering
from core.delivering import GIVE_UP_AFTER, LONGEST_REST, WAITS, endpoint_deliver, endpoints_due
from core.models import Project, Role, WebhookAttempt, WebhookDelivery, WebhookEndpoint
from core.pulse import DEAD_AFTER
from core.tasks import webhook_due, webhooks_sweep
from core.webhooks import delivery_send_again, message_write, webhook_make, webhook_secret_renew
from tests import factories
from tests.killing import killed_at
from tests.receiving import Receiver, receiver

pytestmark = [pytest.mark.database, pytest.mark.django_db]

# The library holds a signature's time against the clock of the machine.
NOW = timezone.now()
SECOND = timedelta(seconds=1)


@pytest.fixture
def told() -> Iterator[Receiver]:
    with receiver() as one:
        yield one


@pytest.fixture(autouse=True)
def _no_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivering, "JITTER", 0)


class Told:
    """A webhook of a project that leads to a receiver, and its secret."""

    def __init__(self, url: str) -> None:
        self.project: Project = factories.make_project()
        self.operator = factories.operator_of(self.project)
        self.endpoint, self.secret = webhook_make(url=url, kinds=["look.computed"], actor=self.operator, now=NOW)

    def tell(self, number: int = 1, now: datetime = NOW) -> WebhookDelivery:
        message_write(
            project=self.project, kind="look.computed", thing=f"look {number}", data={"look": number}, now=now
        )
        return WebhookDelivery.objects.latest("pk")

    def deliver(self, now: datetime = NOW) -> int:
        return endpoint_deliver(endpoint=self.endpoint.pk, clock=lambda: now)


@pytest.fixture
def one(told: Receiver) -> Told:
    return Told(told.url)


def outcomes() -> list[tuple[int, int | None]]:
    return list(WebhookAttempt.objects.order_by("pk").values_list("n", "status"))


def test_message_is_signed_as_the_standard_has_it(one: Told, told: Receiver) -> None:
    delivery = one.tell()
    assert one.deliver() == 1
    ((headers, body),) = told.received
    said = Webhook(one.secret).verify(body, headers)
    assert said == {
        "type": "look.computed",
        "timestamp": NOW.astimezone(UTC).isoformat(),
        "data": {"project": "p", "look": 1},
    }
    assert headers["webhook-id"] == delivery.message.name
    assert headers["Content-Type"] == "application/json"
    delivery.refresh_from_db()
    assert (delivery.state, delivery.ended_at, outcomes()) == ("delivered", NOW, [(1, 204)])


@pytest.mark.parametrize("altered", ["webhook-id", "webhook-timestamp", "webhook-signature", "body"])
def test_nothing_of_a_message_can_be_altered(one: Told, told: Receiver, altered: str) -> None:
    one.tell()
    one.deliver()
    ((headers, body),) = told.received
    if altered == "body":
        body = body.replace(b"look.computed", b"look.imagined")
    else:
        headers |= {altered: {"webhook-timestamp": str(int(NOW.timestamp()) + 1)}.get(altered, "v1,c2lnbmF0dXJl")}
    with pytest.raises(WebhookVerificationError):
        Webhook(one.secret).verify(body, headers)


def test_old_message_sent_by_somebody_else_is_refused_by_its_time(one: Told, told: Receiver) -> None:
    one.tell()
    one.deliver(NOW - timedelta(minutes=6))
    assert told.received == []  # it was to be sent later
    old = NOW - timedelta(minutes=6)
    one.tell(2, old)
    one.deliver(old)
    ((headers, body),) = told.received
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(one.secret).verify(body, headers)


def test_both_secrets_verify_for_a_day(one: Told, told: Receiver) -> None:
    second = webhook_secret_renew(endpoint=one.endpoint, actor=one.operator, now=NOW)
    one.tell()
    one.deliver()
    ((headers, body),) = told.received
    assert Webhook(one.secret).verify(body, headers) == Webhook(second).verify(body, headers)


@pytest.mark.parametrize("status", [302, 400, 404, 410, 429, 500])
def test_what_is_no_2xx_is_sent_again_under_the_same_id_with_the_same_body(
    one: Told, told: Receiver, status: int
) -> None:
    told.answers = [status]
    delivery = one.tell()
    assert one.deliver() == 0
    delivery.refresh_from_db()
    assert (delivery.state, delivery.next_at) == ("waiting", NOW + WAITS[0])
    assert one.deliver(NOW + WAITS[0] - SECOND) == 0
    assert one.deliver(NOW + WAITS[0]) == 1
    (first, body), (second, again) = told.received
    assert (first["webhook-id"], body) == (second["webhook-id"], again)
    assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) == 30
    assert outcomes() == [(1, status), (2, 204)]


def test_message_is_tried_on_the_stated_schedule_and_given_up(
    one: Told, told: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    told.answers = [500] * 20
    delivery, now, waits = one.tell(), NOW, []
    while True:
        one.deliver(now)
        delivery.refresh_from_db()
        if delivery.state == "given up":
            break
        waits.append(delivery.next_at - now)
        now = delivery.next_at
    assert (tuple(waits), len(told.received), now - NOW) == (WAITS, 10, sum(WAITS, timedelta()))
    assert GIVE_UP_AFTER < now - NOW == timedelta(hours=75, minutes=35, seconds=30)
    assert "1 messages were given up after 3 days" in caplog.text
    page = lead(one.project).get(f"/p/p/webhooks/{one.endpoint.pk}").content.decode()
    assert ("given up" in page, page.count("answered 500")) == (True, 10)
    assert one.deliver(now + timedelta(days=9)) == 0


def lead(project: Project) -> Client:
    client = Client()
    client.force_login(factories.make_person(project, "lea", Role.LEAD).user)
    return client


def test_jitter_adds_a_quarter_of_a_wait_at_most(one: Told, told: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivering, "JITTER", 0.25)
    told.answers = [500] * 8
    waits = set()
    for number in range(8):
        delivery = one.tell(number, now := NOW + number * timedelta(hours=1))
        one.deliver(now)
        delivery.refresh_from_db()
        waits.add(delivery.next_at - now)
        WebhookDelivery.objects.update(state="delivered", ended_at=now)
    assert WAITS[0] <= min(waits) < max(waits) <= WAITS[0] * 1.25


def test_endpoint_that_fails_is_left_alone_for_longer_each_time_whatever_waits_for_it(
    one: Told, told: Receiver
) -> None:
    told.answers = [500] * 8
    for number in range(9):
        one.tell(number)
    rests, now = [], NOW
    for _ in range(8):
        assert one.deliver(now) == 0
        endpoint = WebhookEndpoint.objects.get()
        assert endpoint.rests_until is not None
        rests.append((endpoint.rests_until - now).total_seconds())
        assert one.deliver(endpoint.rests_until - SECOND) == 0
        now = endpoint.rests_until
    assert (rests, len(told.received)) == ([30, 60, 120, 240, 480, 960, 1800, 1800], 8)
    assert timedelta(minutes=30) == LONGEST_REST
    assert one.deliver(now + timedelta(days=1)) == 9
    endpoint = WebhookEndpoint.objects.get()
    assert (endpoint.failures, endpoint.rests_until) == (0, None)


def test_what_has_waited_too_long_is_given_up_with_what_fails_and_not_before(one: Told, told: Receiver) -> None:
    """A worker that was away for days has not asked anybody yet: nothing is given up for that."""
    old = NOW - GIVE_UP_AFTER
    for number in range(3):
        one.tell(number, old)
    young = one.tell(3)
    told.answers = [500]
    one.deliver()
    states = list(WebhookDelivery.objects.order_by("pk").values_list("state", flat=True))
    assert states == ["given up"] * 3 + ["waiting"]
    assert one.deliver(NOW + timedelta(minutes=1)) == 1
    young.refresh_from_db()
    assert young.state == "delivered"


def test_message_sent_again_keeps_its_id_and_its_log(one: Told, told: Receiver) -> None:
    delivery = one.tell()
    one.deliver()
    delivery_send_again(delivery=delivery, actor=one.operator, now=NOW + SECOND)
    assert one.deliver(NOW + SECOND) == 1
    assert (told.ids, outcomes()) == ([delivery.message.name] * 2, [(1, 204), (2, 204)])


def test_person_sends_again_at_once_what_was_given_up(one: Told, told: Receiver) -> None:
    told.answers = [500]
    delivery = one.tell(1, NOW - GIVE_UP_AFTER)
    one.deliver()
    page = lead(one.project).post(f"/p/p/webhooks/{one.endpoint.pk}/again/{delivery.pk}")
    assert page.status_code == 302
    assert one.deliver(timezone.now()) == 1
    delivery.refresh_from_db()
    assert (delivery.state, delivery.tries, delivery.attempts) == ("delivered", 1, 2)


def test_endpoint_that_somebody_has_is_left_to_them_until_they_must_be_dead(one: Told, told: Receiver) -> None:
    one.tell()
    WebhookEndpoint.objects.update(taker="somebody", taken_at=NOW)
    assert (one.deliver(NOW + DEAD_AFTER), endpoints_due(now=NOW + DEAD_AFTER)) == (0, [])
    assert endpoints_due(now=NOW + DEAD_AFTER + SECOND) == [one.endpoint.pk]
    assert one.deliver(NOW + DEAD_AFTER + SECOND) == 1
    assert WebhookEndpoint.objects.get().taker == ""


def test_ended_webhook_is_told_nothing_more(one: Told, told: Receiver) -> None:
    one.tell()
    WebhookEndpoint.objects.update(ended_at=NOW)
    assert (one.deliver(), endpoints_due(now=NOW), told.received) == (0, [], [])


def test_log_quotes_neither_address_nor_secret(one: Told, told: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told.answers = [500]
    one.tell(1, NOW - GIVE_UP_AFTER)
    one.deliver()
    assert caplog.text != ""
    assert [secret for secret in (told.url, one.secret, "/in?x") if secret in caplog.text] == []


def test_attempt_has_a_status_or_a_fault(one: Told) -> None:
    delivery = one.tell()
    for wrong in ({"status": None, "fault": ""}, {"status": 200, "fault": "x"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            WebhookAttempt.objects.create(delivery=delivery, n=1, at=NOW, **wrong)


def test_delivery_has_ended_exactly_when_it_waits_no_more(one: Told) -> None:
    one.tell()
    for wrong in ({"state": "delivered"}, {"ended_at": NOW}):
        with pytest.raises(IntegrityError), transaction.atomic():
            WebhookDelivery.objects.update(**wrong)


def test_metrics_count_what_waits_and_what_failed(one: Told, told: Receiver) -> None:
    told.answers = [500]
    one.tell(1, NOW - timedelta(seconds=50))
    one.deliver()
    one.tell(2)
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in Everything(NOW)._webhooks()
        for sample in metric.samples
    }
    assert found == {
        ("tertium_webhook_messages", "waiting"): 2,
        ("tertium_webhook_messages", "delivered"): 0,
        ("tertium_webhook_messages", "given up"): 0,
        ("tertium_oldest_webhook_seconds",): 50,
        ("tertium_webhook_attempts_total", "taken"): 0,
        ("tertium_webhook_attempts_total", "failed"): 1,
    }


STATEMENTS = 2  # between two deaths


@pytest.mark.django_db(transaction=True)
def test_delivery_whose_worker_was_killed_is_ended_once_by_the_next_under_the_same_id(told: Receiver) -> None:
    one, now = Told(told.url), NOW
    for statement in count(step=STATEMENTS):
        now += timedelta(hours=1)
        delivery = one.tell(statement, now)
        before = len(told.received)
        deliver: Callable[..., Any] = partial(endpoint_deliver, endpoint=one.endpoint.pk)
        died = killed_at(statement, partial(deliver, clock=lambda now=now: now))
        deliver(clock=lambda now=now: now + DEAD_AFTER + SECOND)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.attempts, delivery.log.count()) == ("delivered", 1, 1)
        assert set(told.ids[before:]) == {delivery.message.name}
        assert len(told.received) - before in (1, 2)
        if not died:
            break
    assert statement > 3 * STATEMENTS


@pytest.mark.django_db(transaction=True)
def test_broker_that_was_down_costs_no_message(told: Receiver) -> None:
    """Without a broker the wake is lost; the sweep finds what was to be sent."""
    one = Told(told.url)
    one.tell()
    assert told.received == []
    webhooks_sweep()
    assert len(told.received) == 1
    webhooks_sweep()
    webhook_due(endpoint=one.endpoint.pk)
    assert len(told.received) == 1


@pytest.mark.django_db(transaction=True)
def test_worker_is_woken_once_the_message_is_committed(told: Receiver, celery_broker: Celery, worker: str) -> None:
    one = Told(told.url)
    one.tell(now=timezone.now())
    end = time.monotonic() + 30
    while not told.received and time.monotonic() < end:
        time.sleep(0.05)
    ((headers, body),) = told.received
    assert json.loads(body)["data"]["look"] == 1
    assert Webhook(one.secret).verify(body, headers)
