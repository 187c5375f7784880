"""Webhooks: who is told, what they are told, and with which secret it is signed. Sending is in `core.delivering`."""

import base64
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Min, Q, QuerySet
from django.utils.crypto import salted_hmac

from core.access import LEADING, require_role
from core.errors import InputError, Problem, Refused
from core.events import event_record, wake
from core.models import (
    Author,
    AuthorKind,
    DeliveryState,
    Project,
    WebhookAttempt,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookKind,
    WebhookMessage,
)
from core.outgoing import target_of

PREFIX = "whsec_"
BOTH_SIGN_FOR = timedelta(days=1)  # after a new secret was made
MOST = 20  # live ones of a project
WAKES = "core.tasks.webhook_due"


@transaction.atomic
def webhook_make(*, url: str, kinds: Iterable[str], actor: Author, now: datetime) -> tuple[WebhookEndpoint, str]:
    """An endpoint that is told of these kinds from now on, and its secret, which nobody can read again later."""
    _require_leading(actor)
    target_of(url)
    if _live(actor.project).count() >= MOST:
        raise Refused(Problem("the project has as many webhooks as it may", allowed=f"{MOST}; end another first"))
    try:
        with transaction.atomic():
            endpoint = WebhookEndpoint.objects.create(
                project=actor.project,
                url=url,
                kinds=_checked_kinds(kinds),
                secret_id=secrets.token_hex(16),
                made_by=actor,
                made_at=now,
            )
    except IntegrityError as error:  # one_live_webhook_per_address
        raise Refused(Problem("a webhook leads there already", key="url", value=url)) from error
    event_record(name="core.webhook-made", actor=actor, now=now, payload=_told(endpoint) | {"kinds": endpoint.kinds})
    return endpoint, secret_of(endpoint.secret_id)


def _checked_kinds(kinds: Iterable[str]) -> list[str]:
    given, known = list(dict.fromkeys(kinds)), ", ".join(WebhookKind.values)
    problems = [
        Problem("not a kind of message", key="kinds", value=kind, allowed=known)
        for kind in given
        if kind not in WebhookKind.values
    ]
    if not given:
        problems.append(Problem("missing", key="kinds", allowed=f"one or more of {known}"))
    if problems:
        raise InputError(problems)
    return sorted(given)


@transaction.atomic
def webhook_secret_renew(*, endpoint: WebhookEndpoint, actor: Author, now: datetime) -> str:
    """Another secret. For a day messages carry the signatures of both, so that no receiver misses one."""
    _require_leading(actor)
    renewed = WebhookEndpoint.objects.filter(pk=endpoint.pk, ended_at=None, secret_id=endpoint.secret_id).update(
        secret_id=secrets.token_hex(16), old_secret_id=endpoint.secret_id, old_until=now + BOTH_SIGN_FOR
    )
    if not renewed:
        raise Refused(Problem(f"{endpoint} has ended, or has another secret by now"))
    endpoint.refresh_from_db()
    event_record(name="core.webhook-secret-renewed", actor=actor, now=now, payload=_told(endpoint))
    return secret_of(endpoint.secret_id)


@transaction.atomic
def webhook_end(*, endpoint: WebhookEndpoint, actor: Author, now: datetime) -> None:
    """It is told nothing more; what still waits for it is given up. Ending it again changes nothing."""
    _require_leading(actor)
    if WebhookEndpoint.objects.filter(pk=endpoint.pk, ended_at=None).update(ended_at=now):
        endpoint.deliveries.filter(state=DeliveryState.WAITING).update(state=DeliveryState.GIVEN_UP, ended_at=now)
        event_record(name="core.webhook-ended", actor=actor, now=now, payload=_told(endpoint))


@transaction.atomic
def delivery_send_again(*, delivery: WebhookDelivery, actor: Author, now: datetime) -> None:
    """Send a message now, whatever became of it: under the same id, so that who has it already can tell."""
    _require_leading(actor)
    # The endpoint's row first, as who delivers has it.
    if not WebhookEndpoint.objects.filter(pk=delivery.endpoint_id, ended_at=None).update(failures=0, rests_until=None):
        raise Refused(Problem(f"{delivery.endpoint} has ended", allowed="one that is told"))
    WebhookDelivery.objects.filter(pk=delivery.pk).update(
        state=DeliveryState.WAITING, asked_at=now, next_at=now, tries=0, ended_at=None
    )
    event_record(name="core.webhook-sent-again", actor=actor, now=now, payload={"delivery": delivery.pk})
    wake(WAKES, {"endpoint": delivery.endpoint_id})


def message_write(
    *,
    project: Project,
    kind: WebhookKind,
    thing: str,
    data: Mapping[str, Any],
    now: datetime,
    at: datetime | None = None,
) -> WebhookMessage | None:
    """Tell whoever asked for this kind, in the caller's transaction, and wake who delivers once that commits.

    The same of the same thing is told once. `data` names records and addresses: what a case says, what a judge or a
    person said of it and who they are, is for those who may ask. `at` is when it became so, where that is past: who
    asked to be told after that is not.
    """
    endpoints = [one for one in _live(project, at) if kind in one.kinds]
    if not endpoints:
        return None
    whole = {"project": project.name, **data}
    message, new = WebhookMessage.objects.get_or_create(
        project=project, kind=kind, thing=thing, defaults={"at": at or now, "data": whole}
    )
    if not new:
        return None
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(message=message, endpoint=endpoint, asked_at=now, next_at=now) for endpoint in endpoints
    )
    for endpoint in endpoints:
        wake(WAKES, {"endpoint": endpoint.pk})
    return message


def is_anybody_told(project: Project, at: datetime | None = None) -> bool:
    """Of anything, or of what became so at a moment."""
    return _live(project, at).exists()


def _live(project: Project, at: datetime | None = None) -> QuerySet[WebhookEndpoint]:
    live = WebhookEndpoint.objects.filter(project=project, ended_at=None)
    return live if at is None else live.filter(made_at__lte=at)


def secret_of(secret_id: str) -> str:
    """The secret that follows from an id and from this installation's SECRET_KEY."""
    key = salted_hmac("core.webhooks", secret_id, algorithm="sha256").digest()
    return PREFIX + base64.b64encode(key).decode()


def secrets_in_force(endpoint: WebhookEndpoint, now: datetime) -> list[str]:
    """The secrets that sign now, the newest first."""
    old = endpoint.old_until is not None and now < endpoint.old_until
    return [secret_of(one) for one in [endpoint.secret_id, *([endpoint.old_secret_id] if old else [])]]


def webhooks_counted(project: Project) -> QuerySet[WebhookEndpoint]:
    """The latest first, each with how many of its messages are `waiting` and `given_up`."""
    return (
        WebhookEndpoint.objects.filter(project=project)
        .select_related("made_by")
        .order_by("-pk")
        .annotate(
            waiting=Count("deliveries", filter=Q(deliveries__state=DeliveryState.WAITING)),
            given_up=Count("deliveries", filter=Q(deliveries__state=DeliveryState.GIVEN_UP)),
        )
    )


def deliveries_of(endpoint: WebhookEndpoint) -> QuerySet[WebhookDelivery]:
    """The latest first, each with its log."""
    found = WebhookDelivery.objects.filter(endpoint=endpoint).select_related("message", "endpoint")
    return found.prefetch_related("log").order_by("-pk")


@dataclass(frozen=True)
class WebhookWorkload:
    """Of all projects, for whoever keeps the installation running; what an ended webhook was not told waits no more."""

    messages: dict[str, int]  # by state
    oldest: float  # seconds since the oldest waiting one was to be sent; 0 where none waits
    attempts: dict[str, int]  # taken, failed


def webhook_workload(now: datetime) -> WebhookWorkload:
    live = WebhookDelivery.objects.filter(endpoint__ended_at=None)
    waiting = live.filter(state=DeliveryState.WAITING).aggregate(oldest=Min("asked_at"))["oldest"]
    well = Q(status__gte=200, status__lt=300)
    attempts = WebhookAttempt.objects.aggregate(all=Count("pk"), taken=Count("pk", filter=well))
    return WebhookWorkload(
        messages=dict.fromkeys(DeliveryState.values, 0) | dict(live.values_list("state").annotate(number=Count("pk"))),
        oldest=(now - waiting).total_seconds() if waiting else 0.0,
        attempts={"taken": attempts["taken"], "failed": attempts["all"] - attempts["taken"]},
    )


def _told(endpoint: WebhookEndpoint) -> dict[str, Any]:
    return {"webhook": endpoint.pk}


def _require_leading(actor: Author) -> None:
    if actor.kind != AuthorKind.OPERATOR:
        require_role(actor, *LEADING)
