"""The receiver of docs/api.md, as it stands there, told by real deliveries."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from standardwebhooks import WebhookVerificationError

from core.delivering import WAITS, endpoint_deliver
from core.models import WebhookDelivery, WebhookKind
from core.webhooks import delivery_send_again, message_write, webhook_make
from tests import factories
from tests.receiving import receiver

TEXT = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.mark.django_db
def test_receiver_of_the_documentation_takes_a_message_once_and_nothing_that_was_altered() -> None:
    project, now = factories.make_project(), timezone.now()
    actor = factories.operator_of(project)
    with receiver() as told:
        endpoint, secret = webhook_make(url=told.url, kinds=["look.computed"], actor=actor, now=now)
        message_write(project=project, kind=WebhookKind.LOOK_COMPUTED, thing="look 1", data={"look": 1}, now=now)
        endpoint_deliver(endpoint=endpoint.pk, clock=lambda: now)
        delivery_send_again(delivery=WebhookDelivery.objects.get(), actor=actor, now=now)
        endpoint_deliver(endpoint=endpoint.pk, clock=lambda: now)
    theirs: dict[str, Any] = {"SECRET": secret}
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(block, theirs)
    first, second = [theirs["receive"](headers, body) for headers, body in told.received]
    assert (first["type"], first["data"], second) == ("look.computed", {"project": "p", "look": 1}, None)
    headers, body = told.received[0]
    for altered in ({"webhook-id": "msg_another"}, {"webhook-timestamp": str(int(now.timestamp()) - 301)}):
        with pytest.raises(WebhookVerificationError):
            theirs["receive"](headers | altered, body)


def test_every_kind_and_wait_is_documented() -> None:
    assert {kind for kind in WebhookKind.values if f"| `{kind}` |" not in TEXT} == set()
    (said,) = re.findall(r"is sent again after (.*?), each", TEXT)
    units = {"s": 1, "min": 60, "h": 3600}
    waits = [int(number) * units[unit] for number, unit in re.findall(r"(\d+) (s|min|h)\b", said)]
    assert waits == [wait.total_seconds() for wait in WAITS]


def test_message_of_the_documentation_has_the_shape_of_one() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    assert set(json.loads(block)) == {"type", "timestamp", "data"}
