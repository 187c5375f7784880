"""List, make, change or end the webhooks of a project, and see what became of their messages.

The secret of a new webhook is shown this once. Without an option the webhooks are listed.
"""

import json
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.utils import timezone

from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem
from core.models import Author, Project, WebhookDelivery, WebhookEndpoint, WebhookKind
from core.selectors import project_find
from core.services import operator_of
from core.told import DeliveryTold, WebhookTold
from core.webhooks import (
    deliveries_of,
    delivery_send_again,
    webhook_end,
    webhook_make,
    webhook_secret_renew,
    webhooks_counted,
)

LATEST = 1000

Said = tuple[Result, Callable[[], list[str]], bool]


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        wanted = parser.add_mutually_exclusive_group()
        wanted.add_argument("--make", metavar="URL", help="tell this address")
        wanted.add_argument("--secret", type=int, metavar="NUMBER", help="make another secret for this webhook")
        wanted.add_argument("--end", type=int, metavar="NUMBER", help="tell this webhook nothing more")
        wanted.add_argument("--messages", type=int, metavar="NUMBER", help=f"the latest {LATEST:,} to this webhook")
        wanted.add_argument("--again", type=int, metavar="MESSAGE", help="send the message of this number again")
        parser.add_argument(
            "--kind", action="append", default=[], choices=WebhookKind.values, help="what it is told; repeatable"
        )

    def run(self, options: dict[str, Any]) -> Said:
        project, now = project_find(options["project"]), timezone.now()
        actor = operator_of(project)
        by = {"actor": actor, "now": now}
        if options["make"] is not None:
            endpoint, secret = webhook_make(url=options["make"], kinds=options["kind"], **by)
            return _with_secret(project, endpoint, secret)
        if options["secret"] is not None:
            endpoint = _endpoint(project, options["secret"], "--secret")
            return _with_secret(project, endpoint, webhook_secret_renew(endpoint=endpoint, **by))
        if options["messages"] is not None:
            return _messages(_endpoint(project, options["messages"], "--messages"))
        if options["again"] is not None:
            delivery = _delivery(actor, options["again"])
            delivery_send_again(delivery=delivery, **by)
            return _messages(delivery.endpoint)
        if options["end"] is not None:
            webhook_end(endpoint=_endpoint(project, options["end"], "--end"), **by)
        told = [WebhookTold.of(one) for one in webhooks_counted(project)]
        return {"webhooks": [_plain(one) for one in told]}, lambda: [_line(one) for one in told] or ["none yet"], True


def _with_secret(project: Project, endpoint: WebhookEndpoint, secret: str) -> Said:
    told = WebhookTold.of(webhooks_counted(project).get(pk=endpoint.pk))
    return _plain(told) | {"secret": secret}, lambda: [_line(told), f"secret: {secret} (shown this once)"], True


def _messages(endpoint: WebhookEndpoint) -> Said:
    told = [DeliveryTold.of(one) for one in deliveries_of(endpoint)[:LATEST]]
    lines = [f"{one.number}: {one.at:%Y-%m-%d %H:%M:%S} {one.type}, {one.state}; {_log(one)}" for one in told]
    return {"messages": [_plain(one) for one in told]}, lambda: lines or ["none yet"], True


def _log(told: DeliveryTold) -> str:
    return ", ".join(f"{one.at:%Y-%m-%d %H:%M:%S} {one.words}" for one in told.attempts) or "not sent yet"


def _line(told: WebhookTold) -> str:
    state = f"ended {told.ended_at:%Y-%m-%d}" if told.ended_at else f"{told.failures} failures in a row"
    counts = f"{told.waiting} waiting, {told.given_up} given up"
    return f"{told.number}: {told.url}, {' '.join(told.kinds)}, {counts}, {state}"


def _plain(told: WebhookTold | DeliveryTold) -> Result:
    found: Result = json.loads(json.dumps(asdict(told), cls=DjangoJSONEncoder))
    return found


def _endpoint(project: Project, number: int, key: str) -> WebhookEndpoint:
    found = webhooks_counted(project).filter(pk=number).first()
    if found is None:
        raise InputError(Problem("there is no webhook of this number", key=key, value=str(number)))
    return found


def _delivery(actor: Author, number: int) -> WebhookDelivery:
    found = (
        WebhookDelivery.objects.filter(endpoint__project=actor.project, pk=number).select_related("endpoint").first()
    )
    if found is None:
        raise InputError(Problem("there is no message of this number", key="--again", value=str(number)))
    return found
