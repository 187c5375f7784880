"""A view of the API: it says whom it lets in, finds who asks, and answers in one shape."""

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import QuerySet
from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.cache import patch_cache_control
from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, ParseError, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from core.access import Declared, log_refusal, member_of, role_of
from core.api.problems import ALLOWED, TooLarge
from core.api.throttles import PerPerson
from core.characters import UNSTORABLE
from core.errors import Problem
from core.models import ApiToken, Author, Project, Role, Scope
from core.tokens import token_find, token_used

BODY_LIMIT = 5_000_000  # bytes of a body that is no upload
DRAINED = 64 * 2**20  # a client that is still sending would not read the answer
DEEPEST, TOO_DEEP = 20, "JSON nested too deeply"
SAFE = ("GET", "HEAD", "OPTIONS")


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer tertium_…`"""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        kind, _, key = get_authorization_header(request).decode("latin-1").partition(" ")
        if kind.lower() != "bearer":
            return None
        now = timezone.now()
        token = token_find(key.strip(), now)
        if token is None:
            raise AuthenticationFailed("the token is not known, has expired or was revoked")
        token_used(token=token, now=now)
        return token.author.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


class AlwaysJson(BaseContentNegotiation):
    """Whatever a client would rather have: errors are JSON, and downloads say their type in their address."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        content = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == content), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


class Json(JSONParser):
    """JSON, nested no deeper than anything here is: what is deeper could end whoever walks through it. Nor does it
    hold what no answer can say again: a number above all numbers, a name with half a character."""

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        try:
            found = super().parse(*args, **kwargs)
        except RecursionError as error:
            raise ParseError(TOO_DEEP) from error
        level = [found]
        for _ in range(DEEPEST):
            level = [inner for one in level for inner in _inside(one)]
        if level:
            raise ParseError(TOO_DEEP)
        return found


def _inside(found: Any) -> Iterable[Any]:
    if isinstance(found, float) and not isfinite(found):
        raise ParseError("a number is too large")
    if isinstance(found, dict):
        if any(UNSTORABLE.search(name) for name in found):
            raise ParseError("a name holds what cannot be stored")
        return found.values()
    return found if isinstance(found, list) else ()


class ApiView(APIView):
    """Members of the project in these `roles`, and tokens that have one of the scopes for what is asked."""

    roles: ClassVar[tuple[Role, ...]] = ()
    reads: ClassVar[tuple[Scope, ...]] = ()
    writes: ClassVar[tuple[Scope, ...]] = ()
    queries: ClassVar[tuple[str, ...]] = ()  # what a query may name, beside filters and pages

    authentication_classes: Any = [TokenAuthentication, SessionAuthentication]
    permission_classes: Any = []  # `check_permissions` below is what asks
    throttle_classes: Any = [PerPerson]
    parser_classes: Any = [Json]
    renderer_classes: Any = [JSONRenderer]
    content_negotiation_class: Any = AlwaysJson
    http_method_names = ["get", "head", "post", "put", "delete"]

    author: Author
    project: Project
    role: Role

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., HttpResponseBase]:
        view = super().as_view(**initkwargs)
        declared = Declared(bool(cls.roles), frozenset(cls.roles), frozenset(cls.reads), frozenset(cls.writes))
        view.access = declared  # type: ignore[attr-defined]
        return view

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.asked_project = kwargs.pop("project", "")
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self._require_size(request)
        super().initial(request, *args, **kwargs)
        if any("\x00" in str(value) for value in kwargs.values()):
            raise Http404  # no name has it, and PostgreSQL takes it in no query
        known = self.known_queries()
        if unknown := [name for name in request.query_params if name not in known]:
            raise ValidationError(dict.fromkeys(unknown, f"not known here{ALLOWED}{', '.join(known) or 'nothing'}"))

    @classmethod
    def known_queries(cls) -> list[str]:
        filters = getattr(getattr(cls, "filterset_class", None), "base_filters", ())
        return [*cls.queries, *filters, *(("cursor", "limit") if getattr(cls, "pagination_class", None) else ())]

    def check_permissions(self, request: Request) -> None:
        author = self._author(request)
        role = author and role_of(author)
        if author is None or role is None or author.project.name != self.asked_project:
            raise Http404
        if role not in self.roles:
            log_refusal(request, author, role)
            raise PermissionDenied
        if request.auth is not None and hasattr(self, str(request.method).lower()):  # else it is a 405
            needed = self.reads if request.method in SAFE else self.writes
            if not set(needed) & set(request.auth.scopes):
                log_refusal(request, author, f"a token for {', '.join(request.auth.scopes)}")
                raise PermissionDenied
        author.role = role  # type: ignore[attr-defined]  # so that no service asks for it again
        self.author, self.project, self.role = author, author.project, role

    def _author(self, request: Request) -> Author | None:
        user = request.user  # asks the authenticators
        if isinstance(request.auth, ApiToken):
            return request.auth.author
        if not user or not user.is_authenticated:
            raise NotAuthenticated("a token or a signed-in session is needed")
        member: Author | None = member_of(user, self.asked_project) if "\x00" not in self.asked_project else None
        return member

    def body_problem(self, size: int) -> Problem | None:
        """What is wrong with a body of so many bytes."""
        if size <= BODY_LIMIT:
            return None
        return Problem("the body is too large", value=f"{size:,} bytes", allowed=f"at most {BODY_LIMIT:,} bytes")

    def _require_size(self, request: Request) -> None:
        """By the announced size, before a byte is read: looking for a session's token would read it all."""
        announced = request.META.get("CONTENT_LENGTH") or "0"
        size = int(announced) if announced.isascii() and announced.isdigit() else 0
        if problem := self.body_problem(size):
            request._request.read(min(size, DRAINED))
            raise TooLarge(problem)

    def given(self, taken: type[Serializer[Any]], request: Request) -> dict[str, Any]:
        """What was sent, as values that a service takes."""
        form = taken(data=request.data)
        form.is_valid(raise_exception=True)
        values: dict[str, Any] = form.validated_data
        return values

    def one(self, found: QuerySet[Any], **where: Any) -> Any:
        """The one record there is, or 404."""
        try:
            record: models.Model | None = found.filter(**where).first()
        except (OverflowError, ValueError):
            record = None
        if record is None:
            raise Http404
        return record

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        answer = super().finalize_response(request, response, *args, **kwargs)
        patch_cache_control(answer, private=True, no_store=True)
        return answer
