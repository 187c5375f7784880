"""What leads and owners do about the desk: serve skipped cases again, name reasons."""

from dataclasses import asdict, dataclass
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from adjudication.models import ReasonCode, ReasonOwner, ReasonStage, Skip
from adjudication.selectors import reasons_given, reasons_of, skips_open
from adjudication.services.reasons import LONGEST_CODE, LONGEST_MEANING, reason_code_add, reason_code_place
from adjudication.services.skips import skips_lift
from adjudication.skipped import SkipTold
from core.api.base import ApiView
from core.api.once import once
from core.api.pages import Pages
from core.api.shapes import Given, one_of, shape, texts
from core.models import Role, Scope

CREATED = 201
MOST_ITEMS = 1000


@dataclass(frozen=True)
class LiftedAnswer:
    lifted: int


class SkipsView(ApiView):
    roles = (Role.LEAD, Role.OWNER)
    reads, writes = (Scope.AUDITS_READ,), (Scope.AUDITS_WRITE,)


class Skips(SkipsView, GenericAPIView):
    queryset = Skip.objects.none()
    pagination_class = Pages

    @extend_schema(
        responses=shape(SkipTold)(many=True),
        operation_id="skips",
        summary="What reviewers passed on, the latest first",
    )
    def get(self, request: Request) -> Response:
        page: Any = self.paginate_queryset(skips_open(self.project))
        return self.get_paginated_response([asdict(SkipTold.of(skip)) for skip in page])


class LiftGiven(Given):
    items = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), max_length=MOST_ITEMS
    )


class Lift(SkipsView):
    @extend_schema(
        operation_id="skips_lift",
        summary="Serve cases again to those who passed them on",
        request=LiftGiven,
        responses=shape(LiftedAnswer),
        examples=[OpenApiExample("two cases", {"items": [17, 23]}, request_only=True)],
    )
    @once
    def post(self, request: Request) -> Response:
        items = self.given(LiftGiven, request)["items"]
        return Response(asdict(LiftedAnswer(skips_lift(items=items, actor=self.author, now=timezone.now()))))


@dataclass(frozen=True)
class ReasonAnswer:
    """A reason code where it stands now. `revision` goes with the next placement."""

    number: int
    code: str
    meaning: str
    needs_text: bool
    stage: str
    owner: str
    revision: int
    given: int


class ReasonsView(ApiView):
    roles = (Role.OWNER,)
    reads, writes = (Scope.AUDITS_READ,), (Scope.DECIDE,)

    def reasons(self) -> list[dict[str, Any]]:
        given = reasons_given(self.project)
        found: Any = reasons_of(self.project)
        return [
            asdict(
                ReasonAnswer(
                    code.pk,
                    code.code,
                    code.meaning,
                    code.needs_text,
                    code.stage,
                    code.owner,
                    code.revision,
                    given.get(code.code, 0),
                )
            )
            for code in found
        ]

    def reason(self, number: int) -> dict[str, Any]:
        return next(reason for reason in self.reasons() if reason["number"] == number)


class PlacementGiven(Given):
    stage = one_of(ReasonStage.values)
    owner = one_of(ReasonOwner.values)
    revision = serializers.IntegerField(min_value=1, max_value=2**15 - 1)


class NewReasonGiven(Given):
    code = texts(LONGEST_CODE)
    meaning = texts(LONGEST_MEANING, required=False, default="")
    stage = one_of([one for one in ReasonStage.values if one != ReasonStage.RETIRED])
    owner = one_of(ReasonOwner.values)
    needs_text = serializers.BooleanField(required=False, default=False)


class Reasons(ReasonsView):
    @extend_schema(
        operation_id="reason_codes", summary="The project's reason codes", responses=shape(ReasonAnswer)(many=True)
    )
    def get(self, request: Request) -> Response:
        return Response(self.reasons())

    @extend_schema(
        operation_id="reason_code_add",
        summary="A code of your own; it cannot be renamed",
        request=NewReasonGiven,
        responses={CREATED: shape(ReasonAnswer)},
        examples=[
            OpenApiExample(
                "a code",
                {"code": "outdated source", "meaning": "", "stage": "desk", "owner": "rubric"},
                request_only=True,
            )
        ],
    )
    @once
    def post(self, request: Request) -> Response:
        given = self.given(NewReasonGiven, request)
        code = reason_code_add(**given, actor=self.author, now=timezone.now())
        return Response(self.reason(code.pk), status=CREATED)


class OneReason(ReasonsView):
    @extend_schema(
        operation_id="reason_code_place",
        summary="Another stage or owner for a code, or its retirement",
        request=PlacementGiven,
        responses=shape(ReasonAnswer),
        examples=[
            OpenApiExample("retire it", {"stage": "retired", "owner": "rubric", "revision": 1}, request_only=True)
        ],
    )
    @once
    def post(self, request: Request, number: int) -> Response:
        code = self.one(ReasonCode.objects.filter(project=self.project), pk=number)
        reason_code_place(code=code, **self.given(PlacementGiven, request), actor=self.author, now=timezone.now())
        return Response(self.reason(number))
