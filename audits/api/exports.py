"""Downloads, streamed; and labels that people gave elsewhere, taken in."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from audits.api.base import NAME, AuditView, example_job
from audits.api.jobs import ACCEPTED, accepted
from audits.api.shapes import JobAnswer, LabelsAnswer
from audits.exports.anchors import anchor_lines
from audits.exports.report import report_data, report_json
from audits.exports.reviews import review_lines
from audits.exports.tables import CONTENT_TYPES
from audits.models import Audit
from audits.selectors import require_registered
from audits.services.uploads import labels_ask, too_large, upload_folder, upload_remove, upload_store
from core.api.once import once
from core.api.shapes import Given, one_of, shape
from core.errors import InputError, Problem
from core.models import Scope
from core.sending import saved_as

KIND = OpenApiParameter("kind", str, "path", enum=list(CONTENT_TYPES))
FILES = {(200, kind.partition(";")[0]): OpenApiTypes.STR for kind in CONTENT_TYPES.values()}
AT_ONCE = 5_000_000  # bytes that are taken in while the client waits


class Report(AuditView):
    reads = (Scope.EXPORTS_READ,)

    @extend_schema(
        operation_id="report",
        summary="The whole report",
        parameters=[NAME],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request, name: str) -> HttpResponse:
        text = report_json(report_data(self.audit(name), timezone.now()))
        return HttpResponse(text, content_type="application/json")


class Download(AuditView):
    reads = (Scope.EXPORTS_READ,)
    what: str
    lines: Callable[[Audit, str], Iterator[str]]

    def streamed(self, name: str, kind: str) -> HttpResponseBase:
        audit = self.audit(name)
        if kind not in CONTENT_TYPES:
            raise Http404
        lines = type(self).lines(require_registered(audit), kind)
        answer = StreamingHttpResponse(lines, content_type=CONTENT_TYPES[kind])
        return saved_as(answer, f"{name}-{self.what}.{kind}")


class Anchors(Download):
    what, lines = "anchors", anchor_lines

    @extend_schema(
        operation_id="anchors", summary="Settled cases, as anchors", parameters=[NAME, KIND], responses=FILES
    )
    def get(self, request: Request, name: str, kind: str) -> HttpResponseBase:
        return self.streamed(name, kind)


class Reviews(Download):
    what, lines = "reviews", review_lines

    @extend_schema(
        operation_id="reviews", summary="What people said, review by review", parameters=[NAME, KIND], responses=FILES
    )
    def get(self, request: Request, name: str, kind: str) -> HttpResponseBase:
        return self.streamed(name, kind)


class LabelsGiven(Given):
    """`scope` says what becomes of labels of cases that were not drawn."""

    files = serializers.ListField(child=serializers.FileField(allow_empty_file=True), required=False)
    scope = one_of(["drawn or refused", "drawn only", "all"], default="drawn or refused", required=False)


class Labels(AuditView):
    writes = (Scope.INTAKE,)
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="labels",
        summary="Take in labels that people gave elsewhere",
        description=f"As the manifest's `reviews` describes their file; all or nothing. Up to {AT_ONCE:,} bytes are "
        "taken in at once; for more the answer is a job.",
        parameters=[NAME],
        request={"multipart/form-data": LabelsGiven},
        responses={200: shape(LabelsAnswer), ACCEPTED: shape(JobAnswer)},
        examples=[
            OpenApiExample(
                "taken in",
                json.loads(
                    '{"file": "labels.csv", "rows": 40, "taken": 40, "missing": 0, "duplicates": 0, "absent": 80,'
                    '"unknown": 0, "left_out": 0, "not_drawn": 0, "elsewhere": 0, "reviews": 40, "adjudications": 0,'
                    '"duplicate": 0, "surplus": 0, "waiting": 0, "settled": {"imported": 40}}'
                ),
                response_only=True,
                status_codes=["200"],
            ),
            OpenApiExample("under way", example_job(kind="labels"), response_only=True, status_codes=[str(ACCEPTED)]),
        ],
    )
    @once
    def post(self, request: Request, name: str) -> Response:
        audit = self.audit(name)
        given: dict[str, Any] = self.given(LabelsGiven, request)
        if not given.get("files"):
            raise InputError(Problem("no file was sent", key="files", allowed="the files that hold the labels"))
        if sum(file.size for file in given["files"]) > AT_ONCE:
            asked = {"files": given["files"], "scope": given["scope"]}
            return accepted(labels_ask(audit=audit, **asked, actor=self.author, now=timezone.now()))
        # Imported where it is needed: whoever only reads must not pay for what draws a sample.
        from audits.services.importing import reviews_import

        folder = upload_store(given["files"])
        try:
            paths = [upload_folder(folder) / str(file.name) for file in given["files"]]
            report = reviews_import(
                audit=audit, paths=paths, scope=given["scope"], actor=self.author, now=timezone.now()
            )
        finally:
            upload_remove(folder)
        return Response(report.as_dict())

    def body_problem(self, size: int) -> Problem | None:
        return too_large(size)
