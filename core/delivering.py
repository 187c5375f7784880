"""Sending what webhooks are told, as Standard Webhooks has it: by one taker for each, every message at least once."""

import json
import logging
import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from core.models import DeliveryState, WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookMessage
from core.outgoing import NoAnswer, post
from core.pulse import DEAD_AFTER, pulse
from core.version import VERSION
from core.webhooks import secrets_in_force

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]

# How long after a failure the message is sent again: the standard's own schedule, but for a first wait of 5 s.
WAITS = (
    timedelta(seconds=30),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
JITTER = 0.25  # of a wait, at most, is added
GIVE_UP_AFTER = timedelta(days=3)  # at the next failure
# So long an endpoint that has just failed is left alone, whatever else waits for it: twice as long each time.
REST, LONGEST_REST = timedelta(seconds=30), timedelta(minutes=30)
AT_MOST = 100  # messages in one go; the sweep goes on


def endpoint_deliver(*, endpoint: int, clock: Clock) -> int:
    """Send what is due to one endpoint, the oldest first, until nothing is or it fails; how many were taken by it.

    Whoever finds it taken leaves, and the taker looks once more after letting go.
    """
    taken = 0
    while taken < AT_MOST and _due(clock()).filter(endpoint=endpoint).exists():
        token = uuid.uuid4().hex
        if not _take(endpoint, token, clock()):
            break
        held = WebhookEndpoint.objects.filter(pk=endpoint, taker=token)
        try:
            with pulse(lambda: held.update(taken_at=clock())):  # noqa: B023 -- ends with this round
                while taken < AT_MOST and (delivery := _next(endpoint, clock())) and _send(delivery, clock):
                    taken += 1
        finally:
            held.update(taker="", taken_at=None)
    return taken


def endpoints_due(*, now: datetime) -> list[int]:
    """What the sweeper asks: endpoints whose message to the worker was lost, or whose wait is over."""
    return sorted(set(_due(now).values_list("endpoint", flat=True)))


def _due(now: datetime) -> QuerySet[WebhookDelivery]:
    rested = Q(endpoint__rests_until=None) | Q(endpoint__rests_until__lte=now)
    free = Q(endpoint__taker="") | Q(endpoint__taken_at__lt=now - DEAD_AFTER)
    return WebhookDelivery.objects.filter(
        rested, free, state=DeliveryState.WAITING, next_at__lte=now, endpoint__ended_at=None
    )


def _take(endpoint: int, token: str, now: datetime) -> bool:
    free = Q(taker="") | Q(taken_at__lt=now - DEAD_AFTER)
    return WebhookEndpoint.objects.filter(free, pk=endpoint).update(taker=token, taken_at=now) == 1


def _next(endpoint: int, now: datetime) -> WebhookDelivery | None:
    """Read anew each time: a person may have ended the endpoint, or asked for something again."""
    waiting = WebhookDelivery.objects.filter(
        endpoint=endpoint, state=DeliveryState.WAITING, next_at__lte=now, endpoint__ended_at=None
    )
    return waiting.select_related("message__project", "endpoint").order_by("next_at", "pk").first()


def _send(delivery: WebhookDelivery, clock: Clock) -> bool:
    """Whether the message was taken. It may be sent again after a kill between answer and log: the id says so."""
    status, fault = None, ""
    try:
        body = body_of(delivery.message)
        status = post(delivery.endpoint.url, body, headers_of(delivery, body, clock()))
    except NoAnswer as error:
        fault = str(error)[:200]
    taken, now = status is not None and 200 <= status < 300, clock()
    with transaction.atomic():
        # The endpoint's row first: whoever sends again has it too.
        WebhookEndpoint.objects.filter(pk=delivery.endpoint_id).update(**_of_endpoint(delivery.endpoint, taken, now))
        seen = {"state": DeliveryState.WAITING, "attempts": delivery.attempts, "asked_at": delivery.asked_at}
        moved = WebhookDelivery.objects.filter(pk=delivery.pk, **seen).update(**_of_delivery(delivery, taken, now))
        if moved:
            n = delivery.attempts + 1
            WebhookAttempt.objects.create(delivery=delivery, n=n, at=now, status=status, fault=fault)
        if not taken:
            _give_up_with(delivery.endpoint, now)
    return taken and bool(moved)


def _of_endpoint(endpoint: WebhookEndpoint, taken: bool, now: datetime) -> dict[str, object]:
    if taken:
        return {"failures": 0, "rests_until": None}
    rest = min(REST * 2 ** min(endpoint.failures, 16), LONGEST_REST)
    return {"failures": endpoint.failures + 1, "rests_until": now + rest}


def _of_delivery(delivery: WebhookDelivery, taken: bool, now: datetime) -> dict[str, object]:
    counted: dict[str, object] = {"attempts": delivery.attempts + 1, "tries": delivery.tries + 1}
    if taken:
        return counted | {"state": DeliveryState.DELIVERED, "ended_at": now}
    wait = WAITS[min(delivery.tries, len(WAITS) - 1)] * (1 + JITTER * random.random())  # noqa: S311 -- no secret
    return counted | {"next_at": now + wait}


def _give_up_with(endpoint: WebhookEndpoint, now: datetime) -> None:
    """What has waited for too long when an attempt fails waits no more, and is for a person to send again."""
    old = WebhookDelivery.objects.filter(
        endpoint=endpoint, state=DeliveryState.WAITING, asked_at__lte=now - GIVE_UP_AFTER
    )
    if given_up := old.update(state=DeliveryState.GIVEN_UP, ended_at=now):
        log.warning("%s: %s messages were given up after %s", endpoint, given_up, GIVE_UP_AFTER)


def body_of(message: WebhookMessage) -> bytes:
    """The same bytes at every attempt."""
    said = {"type": message.kind, "timestamp": message.at.astimezone(UTC).isoformat(), "data": message.data}
    return json.dumps(said, sort_keys=True, separators=(",", ":")).encode()


def headers_of(delivery: WebhookDelivery, body: bytes, now: datetime) -> dict[str, str]:
    # Imported where it is needed: the web process signs nothing.
    from standardwebhooks import Webhook

    name, text = delivery.message.name, body.decode()
    at = now.astimezone(UTC)
    signatures = [Webhook(secret).sign(name, at, text) for secret in secrets_in_force(delivery.endpoint, now)]
    return {
        "Content-Type": "application/json",
        "User-Agent": f"Tertium/{VERSION}",
        "webhook-id": name,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
