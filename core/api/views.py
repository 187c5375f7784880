from dataclasses import asdict, dataclass
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from core.access import public
from core.api.base import ApiView
from core.api.shapes import shape
from core.models import Role, Scope


@public
@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """The OpenAPI document; it is the same for everybody."""
    return HttpResponse(_document(), content_type="application/vnd.oai.openapi+json")


@cache
def _document() -> bytes:
    document = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    rendered: bytes = OpenApiJsonRenderer().render(document, renderer_context={})
    return rendered


@public
@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The document for people, with forms to try it."""
    return render(request, "core/api_docs.html")


class Nothing(ApiView):
    """An address that is none: said in the shape of the API."""

    schema = None
    http_method_names = ["get", "head", "post", "put", "patch", "delete", "options", "trace"]

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        raise NotFound("there is nothing here")


@dataclass(frozen=True)
class ProjectAnswer:
    """A project, and as whom you are known in it. `scopes` are those of the token, or empty for a session."""

    name: str
    author: str
    role: str
    scopes: tuple[str, ...]


class ProjectView(ApiView):
    roles = tuple(Role)
    reads = tuple(Scope)

    @extend_schema(
        operation_id="project",
        summary="Who am I here?",
        responses=shape(ProjectAnswer),
        examples=[
            OpenApiExample(
                "a pipeline",
                {"name": "alpha", "author": "pipeline: nightly", "role": "lead", "scopes": ["audits:read", "intake"]},
            )
        ],
    )
    def get(self, request: Request) -> Response:
        scopes = tuple(request.auth.scopes) if request.auth else ()
        return Response(asdict(ProjectAnswer(self.project.name, self.author.pseudonym, self.role, scopes)))
