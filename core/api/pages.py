"""Lists, a page at a time, by a cursor that holds while rows come in."""

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from core.api.problems import ALLOWED

MOST, USUAL = 200, 50
NO_PLACE = {"cursor": f"not a place in this list{ALLOWED}what `next` held"}


class Pages(CursorPagination):
    """The latest first. `limit` says how many; `next` is where to go on, or null."""

    ordering = "-pk"
    page_size = USUAL
    max_page_size = MOST
    page_size_query_param = "limit"

    def get_page_size(self, request: Request) -> int:
        asked = request.query_params.get("limit")
        if asked is None:
            return USUAL
        if not (asked.isascii() and asked.isdigit() and 1 <= int(asked) <= MOST):
            raise ValidationError({"limit": f"not a number of rows{ALLOWED}a whole number from 1 to {MOST}"})
        return int(asked)

    def decode_cursor(self, request: Request) -> Any:
        try:
            return super().decode_cursor(request)
        except NotFound as error:
            raise ValidationError(NO_PLACE) from error

    def page_of(self, answer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """The fields of a page, for lists that are read from an index."""
        where = {"allow_null": True, "help_text": "the address of that page, or null"}
        fields = {name: serializers.CharField(**where) for name in ("next", "previous")}
        return fields | {"results": answer(many=True)}

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        limit = {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL}
        return [
            {"name": "cursor", "in": "query", "required": False, "schema": {"type": "string"}},
            {"name": "limit", "in": "query", "required": False, "schema": limit},
        ]


def cursor_number(request: Request) -> int:
    """Where a page begins, in lists that are read from an index: the number that `next` held."""
    asked = request.query_params.get("cursor", "0")
    if not (asked.isascii() and asked.isdigit() and len(asked) < 19):
        raise ValidationError(NO_PLACE)
    return int(asked)


def page_answer(request: Request, rows: list[Any], after: int | None) -> Response:
    """A page of such a list, in the same shape as all others."""
    following = replace_query_param(request.build_absolute_uri(), "cursor", after) if after else None
    return Response({"next": following, "previous": None, "results": rows})
