"""Retention of texts: what was dropped, and what would go, for owners."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from audits.api.base import AuditView
from audits.api.jobs import ACCEPTED, accepted
from audits.api.shapes import JobAnswer
from audits.retention_pages import texts_dropped
from audits.services.retaining import retention_ask
from core.api.once import once
from core.api.pages import Pages
from core.api.shapes import Given, shape
from core.models import Event, Role, Scope


@dataclass(frozen=True)
class DroppedAnswer:
    """Texts of loads `before` a moment that were dropped; their hashes stay."""

    at: datetime
    by: str
    before: str
    texts: int
    bytes: int

    @classmethod
    def of(cls, one: Event) -> "DroppedAnswer":
        said = one.payload
        return cls(one.at, one.actor.pseudonym, said["before"], said["texts"], said["bytes"])


class RetentionGiven(Given):
    before = serializers.CharField(max_length=40, help_text="the first day to keep, in UTC")
    drop = serializers.BooleanField(required=False, default=False, help_text="drop them; a dry run comes first")
    despite_undecided = serializers.BooleanField(
        required=False, default=False, help_text="even where people still have to read them"
    )


class RetentionView(AuditView, GenericAPIView):
    roles = (Role.OWNER,)
    reads = writes = (Scope.DECIDE,)
    queryset = Event.objects.none()
    pagination_class = Pages

    @extend_schema(
        responses=shape(DroppedAnswer)(many=True),
        operation_id="texts_dropped",
        summary="Every time that texts were dropped, the latest first",
    )
    def get(self, request: Request) -> Response:
        page: Any = self.paginate_queryset(texts_dropped(self.project))
        return self.get_paginated_response([asdict(DroppedAnswer.of(one)) for one in page])

    @extend_schema(
        operation_id="retention_ask",
        summary="Ask what dropping old texts would do, or drop them",
        description="Answers at once with a job, whose `outcome` says what would go. 409 where texts are to be dropped "
        "that no dry run has counted. It cannot be undone.",
        request=RetentionGiven,
        responses={ACCEPTED: shape(JobAnswer)},
        examples=[OpenApiExample("a dry run", {"before": "2026-01-01"}, request_only=True)],
    )
    @once
    def post(self, request: Request) -> Response:
        asked = self.given(RetentionGiven, request)
        return accepted(retention_ask(**asked, actor=self.author, now=timezone.now()))
