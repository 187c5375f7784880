"""Webhooks: made, changed, ended; what became of their messages."""

from dataclasses import asdict, dataclass
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from core.access import LEADING
from core.api.base import ApiView
from core.api.once import once
from core.api.pages import Pages
from core.api.shapes import Given, one_of, shape, texts
from core.models import Scope, WebhookDelivery, WebhookEndpoint, WebhookKind
from core.outgoing import LONGEST_URL
from core.told import DeliveryTold, WebhookTold
from core.webhooks import (
    deliveries_of,
    delivery_send_again,
    webhook_end,
    webhook_make,
    webhook_secret_renew,
    webhooks_counted,
)

CREATED = 201
# An answer that holds a secret is not kept, not even for a day.
NOT_KEPT = "Takes no `Idempotency-Key`: an answer with a secret is stored nowhere."


class WebhookView(ApiView):
    roles = LEADING
    reads = writes = (Scope.WEBHOOKS,)

    def endpoint(self, number: int) -> WebhookEndpoint:
        found: WebhookEndpoint = self.one(webhooks_counted(self.project), pk=number)
        return found


@dataclass(frozen=True)
class SecretAnswer:
    """The secret of a webhook, shown this once."""

    number: int
    secret: str


class WebhookGiven(Given):
    url = texts(LONGEST_URL)
    kinds = serializers.ListField(child=one_of(WebhookKind.values), max_length=len(WebhookKind.values))


class Webhooks(WebhookView, GenericAPIView):
    queryset = WebhookEndpoint.objects.none()
    pagination_class = Pages

    @extend_schema(
        responses=shape(WebhookTold)(many=True), operation_id="webhooks", summary="Who is told what, the latest first"
    )
    def get(self, request: Request) -> Response:
        page: Any = self.paginate_queryset(webhooks_counted(self.project))
        return self.get_paginated_response([asdict(WebhookTold.of(one)) for one in page])

    @extend_schema(
        operation_id="webhook_make",
        summary="Tell an address",
        description=f"The answer has the secret that signs its messages, this once. {NOT_KEPT} A second one for an "
        "address that is told already is a 409.",
        request=WebhookGiven,
        responses={CREATED: shape(SecretAnswer)},
        examples=[
            OpenApiExample(
                "a build server",
                {"url": "https://ci.example/tertium", "kinds": ["target.reached", "import.finished"]},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        given = self.given(WebhookGiven, request)
        endpoint, secret = webhook_make(**given, actor=self.author, now=timezone.now())
        return Response(asdict(SecretAnswer(endpoint.pk, secret)), status=CREATED)


class OneWebhook(WebhookView):
    @extend_schema(operation_id="webhook", summary="One webhook", responses=shape(WebhookTold))
    def get(self, request: Request, number: int) -> Response:
        return Response(asdict(WebhookTold.of(self.endpoint(number))))


class WebhookSecret(WebhookView):
    @extend_schema(
        operation_id="webhook_secret",
        summary="Another secret",
        description=f"For a day both sign. {NOT_KEPT}",
        request=None,
        responses=shape(SecretAnswer),
    )
    def post(self, request: Request, number: int) -> Response:
        secret = webhook_secret_renew(endpoint=self.endpoint(number), actor=self.author, now=timezone.now())
        return Response(asdict(SecretAnswer(number, secret)))


class WebhookEnd(WebhookView):
    @extend_schema(
        operation_id="webhook_end",
        summary="Tell it nothing more",
        description="What still waits for it is given up.",
        request=None,
        responses=shape(WebhookTold),
    )
    @once
    def post(self, request: Request, number: int) -> Response:
        webhook_end(endpoint=self.endpoint(number), actor=self.author, now=timezone.now())
        return Response(asdict(WebhookTold.of(self.endpoint(number))))


class WebhookMessages(WebhookView, GenericAPIView):
    queryset = WebhookDelivery.objects.none()
    pagination_class = Pages

    @extend_schema(
        responses=shape(DeliveryTold)(many=True),
        operation_id="webhook_messages",
        summary="What became of its messages, the latest first",
    )
    def get(self, request: Request, number: int) -> Response:
        page: Any = self.paginate_queryset(deliveries_of(self.endpoint(number)))
        return self.get_paginated_response([asdict(DeliveryTold.of(one)) for one in page])


class WebhookAgain(WebhookView):
    @extend_schema(
        operation_id="webhook_again",
        summary="Send a message again, now",
        description="Under the same `webhook-id`, whatever became of it: who has it already can tell.",
        request=None,
        responses=shape(DeliveryTold),
    )
    @once
    def post(self, request: Request, number: int, message: int) -> Response:
        found = deliveries_of(self.endpoint(number))
        delivery_send_again(delivery=self.one(found, pk=message), actor=self.author, now=timezone.now())
        return Response(asdict(DeliveryTold.of(self.one(found.all(), pk=message))))
