"""The people of a project, for its owners."""

from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.base import ApiView
from core.api.once import once
from core.api.pages import Pages
from core.api.shapes import Given, one_of, shape
from core.models import Author, Role, Scope
from core.selectors import members_of
from core.services import member_dismiss, member_enrol, member_role_set

CREATED = 201
USERNAME = get_user_model()._meta.get_field("username")


@dataclass(frozen=True)
class MemberAnswer:
    """A member. `pseudonym` stands beside their labels; `password` is that of a new account, shown this once."""

    number: int
    pseudonym: str
    username: str
    email: str
    role: str
    password: str | None = None

    @classmethod
    def of(cls, author: Any, password: str | None = None) -> "MemberAnswer":
        user = author.user
        return cls(author.pk, author.pseudonym, user.get_username(), user.email, author.role, password)


class MembersView(ApiView):
    roles = (Role.OWNER,)
    reads = writes = (Scope.DECIDE,)

    def member(self, number: int) -> Author:
        """Whoever is or was one: a change to somebody who has left is refused, as on the page."""
        found: Author = self.one(Author.objects.filter(project=self.project), pk=number)
        return found


class MemberGiven(Given):
    username = serializers.CharField(max_length=USERNAME.max_length, validators=USERNAME.validators)
    role = one_of(Role.values)
    pseudonym = serializers.CharField(
        max_length=100, required=False, allow_blank=True, default="", help_text="empty: a number"
    )
    email = serializers.EmailField(
        required=False, allow_blank=True, default="", help_text="of a new account, where single sign-on finds it"
    )


class Members(MembersView, GenericAPIView):
    queryset = Author.objects.none()
    pagination_class = Pages

    @extend_schema(
        responses=shape(MemberAnswer)(many=True), operation_id="members", summary="Who is in the project, and as what"
    )
    def get(self, request: Request) -> Response:
        page: Any = self.paginate_queryset(members_of(self.project))
        return self.get_paginated_response([asdict(MemberAnswer.of(author)) for author in page])

    @extend_schema(
        operation_id="member_add",
        summary="Take somebody in",
        description="A new account comes with a password, this once. Takes no `Idempotency-Key`: an answer with a "
        "password is stored nowhere. Somebody who is in already is a 409.",
        request=MemberGiven,
        responses={CREATED: shape(MemberAnswer)},
        examples=[OpenApiExample("a reviewer", {"username": "ann", "role": "reviewer"}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        given = self.given(MemberGiven, request)
        author, password = member_enrol(**given, actor=self.author, now=timezone.now())
        member = members_of(self.project).get(pk=author.pk)
        return Response(asdict(MemberAnswer.of(member, password)), status=CREATED)


class RoleGiven(Given):
    role = one_of(Role.values)


class MemberRole(MembersView):
    @extend_schema(
        operation_id="member_role",
        summary="Another role for one of them",
        request=RoleGiven,
        responses=shape(MemberAnswer),
        examples=[OpenApiExample("a lead", {"role": "lead"}, request_only=True)],
    )
    @once
    def post(self, request: Request, number: int) -> Response:
        author, role = self.member(number), Role(self.given(RoleGiven, request)["role"])
        member_role_set(author=author, role=role, actor=self.author, now=timezone.now())
        return Response(asdict(MemberAnswer.of(members_of(self.project).get(pk=number))))


class MemberRemoval(MembersView):
    @extend_schema(
        operation_id="member_remove",
        summary="One of them leaves; their labels stay",
        request=None,
        responses={204: None},
    )
    @once
    def post(self, request: Request, number: int) -> Response:
        member_dismiss(author=self.member(number), actor=self.author, now=timezone.now())
        return Response(status=204)
