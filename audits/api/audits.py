"""Audits: listed, looked at, registered, extended."""

from dataclasses import asdict
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from audits.api.base import CURSOR, NAME, AuditView, example_job
from audits.api.jobs import ACCEPTED, accepted
from audits.api.shapes import (
    AuditAnswer,
    IntegrityAnswer,
    JobAnswer,
    LookAnswer,
    PlanAnswer,
    WholeLookAnswer,
)
from audits.calibration import calibration_context, share_dict
from audits.exports.comparison import integrity_state, integrity_words
from audits.models import Audit, AuditState, JobKind, Look
from audits.overview import audits_of, standing_of, standings_of
from audits.pairs import REREAD, pairs_page, rereading_of, run_caches
from audits.progress import progress_of
from audits.samples import extended_sample
from audits.selectors import column_warnings_of, looks_listed, require_registered
from audits.services.jobs import job_ask
from core.api.once import once
from core.api.pages import Pages, cursor_number, page_answer
from core.api.shapes import Given, shape
from judges.diagnosis import PairDiagnosis
from judges.models import ComparisonKind
from judges.summaries import summary_of

EXAMPLE = {
    "name": "swap-1",
    "kind": "judge_swap",
    "state": "registered",
    "comparison": "swap-1",
    "rubric": "right 1",
    "manifest_hash": "9f2c…",
    "opened_at": "2026-11-30T02:00:00Z",
    "drawn": 300,
    "settled": 120,
    "integrity_passed": True,
    "integrity": "Integrity: 796 of 800 cases are eligible, the rules of the manifest hold.",
    "interval": "accuracy difference -1.2 points, 95 % interval -3.4 to 1.0",
    "official": "In shadow: the baseline is official.",
    "next": "180 of 300 drawn cases are still to be settled.",
    "job": None,
}


class AuditFilter(filters.FilterSet):
    state = filters.ChoiceFilter(choices=AuditState.choices)
    kind = filters.ChoiceFilter(field_name="comparison__kind", choices=ComparisonKind.choices)


class Audits(AuditView, GenericAPIView):
    queryset = Audit.objects.none()
    filter_backends = [filters.DjangoFilterBackend]
    filterset_class = AuditFilter
    pagination_class = Pages

    @extend_schema(
        responses=shape(AuditAnswer)(many=True),
        operation_id="audits",
        summary="Audits, the latest first",
        examples=[OpenApiExample("one", EXAMPLE)],
    )
    def get(self, request: Request) -> Response:
        page: Any = self.paginate_queryset(self.filter_queryset(audits_of(self.project)))
        return self.get_paginated_response([asdict(AuditAnswer.of(one)) for one in standings_of(page)])


class OneAudit(AuditView):
    @extend_schema(
        operation_id="audit",
        summary="Where one audit stands",
        parameters=[NAME],
        responses=shape(AuditAnswer),
        examples=[OpenApiExample("one", EXAMPLE)],
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(asdict(AuditAnswer.of(standing_of(self.audit(name)))))


class Manifest(AuditView):
    @extend_schema(
        operation_id="manifest",
        summary="The manifest, as it was sent",
        parameters=[NAME],
        responses={(200, "application/yaml"): OpenApiTypes.ANY},
    )
    def get(self, request: Request, name: str) -> HttpResponse:
        return HttpResponse(self.audit(name).manifest, content_type="application/yaml; charset=utf-8")


class Integrity(AuditView):
    @extend_schema(
        operation_id="integrity",
        summary="What was compared, and whether it may be",
        parameters=[NAME],
        responses=shape(IntegrityAnswer),
    )
    def get(self, request: Request, name: str) -> Response:
        audit = self.audit(name)
        summary, warnings = summary_of(audit.comparison), column_warnings_of(audit)
        answer = IntegrityAnswer(summary.integrity["passed"], summary.integrity, summary.stability, warnings)
        return Response(asdict(answer))


class Transitions(AuditView):
    @extend_schema(
        operation_id="transitions",
        summary="How verdicts moved from the old side to the new one",
        parameters=[NAME],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(summary_of(self.audit(name).comparison).transitions)


STATE = OpenApiParameter("state", str, "query", description="a state of pairs, such as disagree or missing")
CASE = OpenApiParameter("case", str, "query", description="the pair of this case id")


class Pairs(AuditView):
    queries = ("state", "case", "cursor")

    @extend_schema(
        operation_id="pairs",
        summary="Pairs, each with why it is what it is",
        description="409 while a holdout is sealed.",
        parameters=[NAME, STATE, CASE, CURSOR],
        responses=inline_serializer("PairsPage", Pages().page_of(shape(PairDiagnosis))),
    )
    def get(self, request: Request, name: str) -> Response:
        audit, asked = self.audit(name), request.query_params
        states = [asked["state"]] if asked.get("state") else []
        page = pairs_page(audit, case=asked.get("case", ""), states=states, after=cursor_number(request))
        return page_answer(request, [asdict(pair) for pair in page.pairs], page.after)


class Caches(AuditView):
    @extend_schema(
        operation_id="caches",
        summary="How many judgments came from a cache, by what their provenance proves",
        parameters=[NAME],
        responses={200: {"type": "array", "items": {"type": "object", "additionalProperties": {}}}},
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(run_caches(self.audit(name)))


class Readers(AuditView):
    queries = ("side", "parser", "setting", "mapping")

    @extend_schema(
        operation_id="readers",
        summary="What another parser or mapping would read",
        description=f"The first {REREAD} responses of one side; the command reads all. 409 while a holdout is sealed.",
        parameters=[
            NAME,
            OpenApiParameter("side", str, "query", required=True, enum=["baseline", "candidate"]),
            OpenApiParameter("parser", str, "query", required=True),
            OpenApiParameter("setting", str, "query"),
            OpenApiParameter("mapping", str, "query"),
        ],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request, name: str) -> Response:
        wanted = {key: request.query_params.get(key, "") for key in self.queries}
        return Response(asdict(rereading_of(self.audit(name), **wanted, first=REREAD)))


class Plan(AuditView):
    @extend_schema(
        operation_id="plan",
        summary="The plan, what it needs, and its registrations",
        parameters=[NAME],
        responses=shape(PlanAnswer),
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(asdict(PlanAnswer.of(self.audit(name))))


class Register(AuditView):
    @extend_schema(
        operation_id="register",
        summary="Register the plan: draw the sample",
        parameters=[NAME],
        request=None,
        responses={ACCEPTED: shape(JobAnswer)},
        examples=[OpenApiExample("asked for", example_job(kind="register", state="waiting", progress=""))],
    )
    @once
    def post(self, request: Request, name: str) -> Response:
        audit = self.audit(name)
        return accepted(job_ask(kind=JobKind.REGISTER, audit=audit, actor=self.author, now=timezone.now()))


class ExtendGiven(Given):
    labels = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=2**31 - 1),
        help_text="totals by stratum; those not named stay as they are",
    )


class Extend(AuditView):
    @extend_schema(
        operation_id="extend",
        summary="Draw more cases",
        parameters=[NAME],
        request=ExtendGiven,
        responses={ACCEPTED: shape(JobAnswer)},
        examples=[OpenApiExample("to 200 and 120", {"labels": {"agree": 200, "disagree": 120}}, request_only=True)],
    )
    @once
    def post(self, request: Request, name: str) -> Response:
        audit = require_registered(self.audit(name))
        labels = extended_sample(audit, self.given(ExtendGiven, request)["labels"])
        asked = {"labels": labels}
        job = job_ask(kind=JobKind.EXTEND, audit=audit, actor=self.author, now=timezone.now(), asked=asked)
        return accepted(job)


class ProgressView(AuditView):
    @extend_schema(
        operation_id="progress",
        summary="How far the sample is, and what holds it up",
        parameters=[NAME],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(progress_of(self.audit(name), timezone.now()).as_dict())


class LookFilter(filters.FilterSet):
    final = filters.ChoiceFilter(choices=[("true", "true"), ("false", "false")], method="finals")

    def finals(self, looks: Any, name: str, value: str) -> Any:
        return looks.filter(final=value == "true")


class Looks(AuditView, GenericAPIView):
    queryset = Look.objects.none()
    filter_backends = [filters.DjangoFilterBackend]
    filterset_class = LookFilter
    pagination_class = Pages

    @extend_schema(
        responses=shape(LookAnswer)(many=True),
        operation_id="looks",
        summary="Looks, the latest first",
        parameters=[NAME],
    )
    def get(self, request: Request, name: str) -> Response:
        audit = self.audit(name)
        page: Any = self.paginate_queryset(self.filter_queryset(looks_listed(audit)))
        integrity = f"{integrity_words(integrity_state(audit))}."
        return self.get_paginated_response([asdict(LookAnswer.of(look, integrity)) for look in page])


class OneLook(AuditView):
    @extend_schema(
        operation_id="look",
        summary="One look with all that was computed",
        parameters=[NAME],
        responses=shape(WholeLookAnswer),
    )
    def get(self, request: Request, name: str, look: int) -> Response:
        looks = self.audit(name).looks.select_related("registration", "audit__comparison")
        return Response(asdict(WholeLookAnswer.of(self.one(looks, pk=look))))


class CalibrationView(AuditView):
    @extend_schema(
        operation_id="calibration",
        summary="How reviewers answer cases whose label is known",
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: Request) -> Response:
        found = calibration_context(self.project)
        sets = {
            kind: [asdict(one) | {"people": [share_dict(share) for share in one.people]} for one in found[kind]]
            for kind in ("practice", "anchors")
        }
        disputes = [
            {
                "case_id": one.review.item.case.case_id,
                "set": one.review.item.queue.name,
                "by": one.review.author.pseudonym,
                "words": one.words,
                "at": one.at,
            }
            for one in found["disputes"]
        ]
        return Response(sets | {"shares": [share_dict(one) for one in found["shares"]], "disputes": disputes})
