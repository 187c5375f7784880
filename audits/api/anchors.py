"""Anchor sets: listed, fetched, made from an audit, taken in from a file."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from audits.anchormonitor import SHOWN, monitored
from audits.anchorsets import anchor_sets_of
from audits.api.base import NAME, AuditView, example_job
from audits.api.jobs import ACCEPTED, accepted
from audits.api.shapes import JobAnswer
from audits.exports.anchorfiles import CARDS, SET_FORMATS, SET_TYPES, card_text, set_bytes
from audits.models import AnchorSet
from audits.services.anchoring import PURPOSES, known_set_ask
from audits.services.anchorsets import LONGEST_LICENCE, LONGEST_NAME, anchor_set_ask
from audits.services.uploads import anchors_ask, too_large
from core.api.once import once
from core.api.pages import Pages
from core.api.shapes import Given, one_of, shape, texts
from core.errors import Problem
from core.models import Scope
from core.sending import saved_as


@dataclass(frozen=True)
class AnchorSetAnswer:
    """A version of an anchor set, of an `audit` or of a file (`source`). `changes`: since the version before."""

    number: int
    name: str
    version: int
    anchors: int
    content_hash: str
    licence: str
    rubric: str
    rubric_version: str
    rubric_hash: str
    audit: str | None
    source: str
    changes: dict[str, int]
    by: str
    at: datetime

    @classmethod
    def of(cls, one: AnchorSet) -> "AnchorSetAnswer":
        return cls(
            number=one.pk,
            name=one.name,
            version=one.version,
            anchors=one.anchors,
            content_hash=one.content_hash,
            licence=one.licence,
            rubric=one.rubric,
            rubric_version=one.rubric_version,
            rubric_hash=one.rubric_hash,
            audit=one.audit.name if one.audit else None,
            source=one.source,
            changes=one.changes,
            by=one.actor.pseudonym,
            at=one.at,
        )


@dataclass(frozen=True)
class WholeAnchorSetAnswer:
    """A version with its data card, and what the latest runs of judges made of its anchors: that monitors a judge, and
    does not validate it."""

    anchor_set: AnchorSetAnswer
    card: dict[str, Any]
    monitored: dict[str, Any]


class AnchorsGiven(Given):
    file = serializers.FileField(required=False, allow_empty_file=True, help_text="a file of a set, as exported")
    card = serializers.FileField(required=False, allow_empty_file=True, help_text="the `.card.json` that came with it")


class AnchorSets(AuditView, GenericAPIView):
    writes = (Scope.INTAKE,)
    queryset = AnchorSet.objects.none()
    pagination_class = Pages
    parser_classes = [MultiPartParser]

    @extend_schema(
        responses=shape(AnchorSetAnswer)(many=True),
        operation_id="anchor_sets",
        summary="Versions of anchor sets, the latest first",
    )
    def get(self, request: Request) -> Response:
        page: Any = self.paginate_queryset(anchor_sets_of(self.project))
        return self.get_paginated_response([asdict(AnchorSetAnswer.of(one)) for one in page])

    @extend_schema(
        operation_id="anchor_set_take",
        summary="Take in a set as it was exported, unchanged",
        description="Answers at once with a job. An altered file is refused by its hash; the same again adds nothing.",
        request={"multipart/form-data": AnchorsGiven},
        responses={ACCEPTED: shape(JobAnswer)},
        examples=[OpenApiExample("under way", example_job(kind="anchors in"), response_only=True)],
    )
    @once
    def post(self, request: Request) -> Response:
        given = self.given(AnchorsGiven, request)
        file, card = given.get("file"), given.get("card")
        return accepted(anchors_ask(file=file, card=card, actor=self.author, now=timezone.now()))

    def body_problem(self, size: int) -> Problem | None:
        return too_large(size)


class OneSet(AuditView):
    def found(self, number: int) -> AnchorSet:
        sets = AnchorSet.objects.select_related("project", "audit__project", "actor")
        one: AnchorSet = self.one(sets, project=self.project, pk=number)
        return one


class OneAnchorSet(OneSet):
    @extend_schema(
        operation_id="anchor_set", summary="One version, with its card", responses=shape(WholeAnchorSetAnswer)
    )
    def get(self, request: Request, anchors: int) -> Response:
        one = self.found(anchors)
        seen = monitored(one, SHOWN).as_dict()
        return Response(asdict(WholeAnchorSetAnswer(AnchorSetAnswer.of(one), json.loads(one.card_text), seen)))


def _kinds(kinds: tuple[str, ...]) -> OpenApiParameter:
    return OpenApiParameter("kind", str, "path", enum=list(kinds))


def _types(kinds: tuple[str, ...]) -> dict[tuple[int, str], Any]:
    binary = {"parquet": OpenApiTypes.BINARY}
    return {(200, SET_TYPES[kind].partition(";")[0]): binary.get(kind, OpenApiTypes.STR) for kind in kinds}


class AnchorFile(OneSet):
    reads = (Scope.EXPORTS_READ,)

    @extend_schema(
        operation_id="anchor_file",
        summary="The anchors of a version, as a file",
        parameters=[_kinds(SET_FORMATS)],
        responses=_types(SET_FORMATS),
    )
    def get(self, request: Request, anchors: int, kind: str) -> HttpResponseBase:
        one = self.found(anchors)
        if kind not in SET_FORMATS:
            raise Http404
        answer = StreamingHttpResponse(set_bytes(one, kind), content_type=SET_TYPES[kind])
        return saved_as(answer, f"{one.name}-{one.version}.{kind}")


class AnchorCard(OneSet):
    reads = (Scope.EXPORTS_READ,)

    @extend_schema(
        operation_id="anchor_card",
        summary="The data card of a version",
        parameters=[_kinds(CARDS)],
        responses={(200, SET_TYPES["json"].partition(";")[0]): OpenApiTypes.OBJECT, **_types(("md",))},
    )
    def get(self, request: Request, anchors: int, kind: str) -> HttpResponse:
        one = self.found(anchors)
        if kind not in CARDS:
            raise Http404
        answer = HttpResponse(card_text(one, kind), content_type=SET_TYPES[kind])
        return saved_as(answer, f"{one.name}-{one.version}.card.{kind}")


class KnownSetGiven(Given):
    name = texts(LONGEST_NAME, help_text="a new one, or that of a set to add to")
    purpose = one_of(PURPOSES, help_text="to practise on, or to hide in audits")


class KnownSets(OneSet):
    @extend_schema(
        operation_id="known_set_make",
        summary="Make a practice set, or hidden anchors, of the anchors whose content the project has",
        description="Answers at once with a job, whose `outcome` says how many cases it came to.",
        request=KnownSetGiven,
        responses={ACCEPTED: shape(JobAnswer)},
        examples=[OpenApiExample("to practise on", {"name": "first", "purpose": "practice"}, request_only=True)],
    )
    @once
    def post(self, request: Request, anchors: int) -> Response:
        one, asked = self.found(anchors), self.given(KnownSetGiven, request)
        return accepted(known_set_ask(anchor_set=one, **asked, actor=self.author, now=timezone.now()))


class MakeGiven(Given):
    name = texts(LONGEST_NAME)
    licence = texts(LONGEST_LICENCE)


class AuditAnchorSets(AuditView):
    @extend_schema(
        operation_id="anchor_set_make",
        summary="Make the next version of a set from what is settled",
        description="409 where nothing has changed since the last one, or while a holdout is sealed.",
        parameters=[NAME],
        request=MakeGiven,
        responses={ACCEPTED: shape(JobAnswer)},
        examples=[OpenApiExample("a set", {"name": "gold", "licence": "CC-BY-4.0"}, request_only=True)],
    )
    @once
    def post(self, request: Request, name: str) -> Response:
        audit = self.audit(name)
        asked = self.given(MakeGiven, request)
        return accepted(anchor_set_ask(audit=audit, **asked, actor=self.author, now=timezone.now()))
