"""What is said of webhooks, by the API and the command alike."""

from dataclasses import dataclass
from datetime import datetime

from core.models import WebhookDelivery, WebhookEndpoint


@dataclass(frozen=True)
class WebhookTold:
    """A webhook; `failures` in a row, after which it is left alone until `rests_until`."""

    number: int
    url: str
    kinds: list[str]
    made_by: str
    made_at: datetime
    ended_at: datetime | None
    waiting: int
    given_up: int
    failures: int
    rests_until: datetime | None

    @classmethod
    def of(cls, one: WebhookEndpoint) -> "WebhookTold":
        """`one` is of `webhooks_counted`."""
        return cls(
            number=one.pk,
            url=one.url,
            kinds=one.kinds,
            made_by=one.made_by.pseudonym,
            made_at=one.made_at,
            ended_at=one.ended_at,
            waiting=one.waiting,  # type: ignore[attr-defined]
            given_up=one.given_up,  # type: ignore[attr-defined]
            failures=one.failures,
            rests_until=one.rests_until,
        )


@dataclass(frozen=True)
class AttemptTold:
    """`status` of the answer, or null where there was none; `words` say why."""

    at: datetime
    status: int | None
    words: str


@dataclass(frozen=True)
class DeliveryTold:
    """A message to a webhook: `id` is its `webhook-id`. `state`: waiting, delivered or given up."""

    number: int
    id: str
    type: str
    at: datetime
    state: str
    next_at: datetime | None
    ended_at: datetime | None
    attempts: list[AttemptTold]

    @classmethod
    def of(cls, one: WebhookDelivery) -> "DeliveryTold":
        """`one` is of `deliveries_of`."""
        return cls(
            number=one.pk,
            id=one.message.name,
            type=one.message.kind,
            at=one.message.at,
            state=one.state,
            next_at=None if one.ended_at else one.next_at,
            ended_at=one.ended_at,
            attempts=[AttemptTold(attempt.at, attempt.status, attempt.words) for attempt in one.log.all()],
        )
