"""Intake by manifest, and the work that is asked for: followed and cancelled."""

from dataclasses import asdict
from typing import Any

from django.http import Http404
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from audits.api.base import NAME, AuditView, example_job
from audits.api.shapes import JobAnswer
from audits.exports.tables import CONTENT_TYPES
from audits.models import Job, JobKind, JobState
from audits.services.uploads import (
    intake_ask,
    intake_cancel,
    packet_ask,
    packet_name,
    packet_path,
    refused_path,
    too_large,
)
from core.api.once import once
from core.api.pages import Pages
from core.api.shapes import Given, shape
from core.errors import Problem
from core.models import Scope
from core.sending import file_answer

ACCEPTED = 202


def accepted(job: Job) -> Response:
    """It will be done: where to see how far it is."""
    where = reverse("audits-api:job", args=[job.project.name, job.pk])
    return Response(asdict(JobAnswer.of(job)), status=ACCEPTED, headers={"Location": where})


class IntakeGiven(Given):
    """The files that the manifest names are sent beside it, in any order, under their own names."""

    manifest = serializers.FileField(required=False, allow_empty_file=True, help_text="the YAML file of the audit")
    files = serializers.ListField(child=serializers.FileField(allow_empty_file=True), required=False)
    good_rows = serializers.BooleanField(
        required=False, default=False, help_text="take in the good rows, and list the others"
    )


class Intakes(AuditView):
    writes = (Scope.INTAKE,)
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="intake",
        summary="Send a manifest with its files",
        description="Answers at once with a job; the audit is open when that is done. The same manifest again changes "
        "nothing, and its job ends with the audit that is there.",
        request={"multipart/form-data": IntakeGiven},
        responses={ACCEPTED: shape(JobAnswer)},
        examples=[OpenApiExample("under way", example_job(), response_only=True)],
    )
    @once
    def post(self, request: Request) -> Response:
        given = self.given(IntakeGiven, request)
        job = intake_ask(
            manifest=given.get("manifest"),
            files=given.get("files", []),
            actor=self.author,
            now=timezone.now(),
            good_rows=given["good_rows"],
        )
        return accepted(job)

    def body_problem(self, size: int) -> Problem | None:
        return too_large(size)


class JobFilter(filters.FilterSet):
    kind = filters.ChoiceFilter(choices=JobKind.choices)
    state = filters.ChoiceFilter(choices=JobState.choices)


class Jobs(AuditView, GenericAPIView):
    reads = (Scope.INTAKE, Scope.AUDITS_READ)
    queryset = Job.objects.none()
    filter_backends = [filters.DjangoFilterBackend]
    filterset_class = JobFilter
    pagination_class = Pages

    @extend_schema(
        responses=shape(JobAnswer)(many=True), operation_id="jobs", summary="What was asked for, the latest first"
    )
    def get(self, request: Request) -> Response:
        jobs = Job.objects.filter(project=self.project).select_related("project", "audit", "actor")
        page: Any = self.paginate_queryset(self.filter_queryset(jobs))
        return self.get_paginated_response([asdict(JobAnswer.of(job)) for job in page])


class JobView(AuditView):
    reads = (Scope.INTAKE, Scope.AUDITS_READ)
    writes = (Scope.INTAKE,)

    def job(self, number: int) -> Job:
        found: Job = self.one(Job.objects.select_related("project", "audit", "actor"), project=self.project, pk=number)
        return found


class OneJob(JobView):
    @extend_schema(
        operation_id="job",
        summary="How far it is",
        responses=shape(JobAnswer),
        examples=[
            OpenApiExample("under way", example_job()),
            OpenApiExample(
                "refused",
                example_job(
                    state="refused",
                    progress="",
                    done=None,
                    expected=None,
                    problems=[{"what": "not in the mapping", "file": "old.jsonl", "row": 3, "value": "maybe"}],
                    may_cancel=False,
                ),
            ),
        ],
    )
    def get(self, request: Request, number: int) -> Response:
        return Response(asdict(JobAnswer.of(self.job(number))))


class JobCancel(JobView):
    @extend_schema(
        operation_id="job_cancel",
        summary="Cancel an intake",
        description="Until it has opened its audit: 409 from then on.",
        request=None,
        responses=shape(JobAnswer),
    )
    @once
    def post(self, request: Request, number: int) -> Response:
        intake_cancel(job=self.job(number), actor=self.author, now=timezone.now())
        return Response(asdict(JobAnswer.of(self.job(number))))


class JobRefused(JobView):
    @extend_schema(
        operation_id="job_refused",
        summary="The rows that an intake of the good ones left out",
        responses={(200, "text/csv"): OpenApiTypes.STR},
    )
    def get(self, request: Request, number: int) -> HttpResponseBase:
        return file_answer(refused_path(self.job(number)), name="refused.csv", content_type=CONTENT_TYPES["csv"])


class Packets(AuditView):
    writes = (Scope.EXPORTS_READ,)

    @extend_schema(
        operation_id="packet_ask",
        summary="Ask for the handoff packet",
        description="Answers at once with a job; once that is done the packet is kept for 30 days. 409 while a holdout "
        "is sealed.",
        parameters=[NAME],
        request=None,
        responses={ACCEPTED: shape(JobAnswer)},
        examples=[OpenApiExample("asked for", example_job(kind="packet", state="waiting", progress=""))],
    )
    @once
    def post(self, request: Request, name: str) -> Response:
        return accepted(packet_ask(audit=self.audit(name), actor=self.author, now=timezone.now()))


class JobPacket(JobView):
    reads = (Scope.EXPORTS_READ,)

    @extend_schema(
        operation_id="job_packet",
        summary="The packet that a job made",
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, number: int) -> HttpResponseBase:
        job = self.job(number)
        if job.audit is None:
            raise Http404
        return file_answer(packet_path(job), name=packet_name(job), content_type="application/zip")
