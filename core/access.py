"""Who may do what. Every view says whom it lets in, and the server does not start where one says nothing."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver
from django.utils.cache import patch_cache_control

from core.errors import Problem, Refused
from core.models import Author, AuthorKind, Membership, Project, Role, Scope
from core.rows import Joined

log = logging.getLogger(__name__)

View = Callable[..., HttpResponse]
UNDECLARED = "core.E001"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
LEADING = (Role.LEAD, Role.OWNER)


class ProjectRequest(HttpRequest):
    """What a view declared with `@access` gets."""

    project: Project
    role: Role
    author: Author


@dataclass(frozen=True)
class Declared:
    """Whom a view lets in: anybody, whoever is signed in, or members of the project in these roles. A token needs one
    of the scopes beside: those of `reads` to look, those of `writes` to change."""

    signed_in: bool
    roles: frozenset[Role] = frozenset()
    reads: frozenset[Scope] = frozenset()
    writes: frozenset[Scope] = frozenset()


def role_of(author: Author) -> Role | None:
    """The role of the person behind an author, or None for one who is no member (or has left). A pipeline leads."""
    asked = getattr(author, "role", None)  # by `access`, for this request
    if asked is not None:
        return Role(asked)
    if author.kind == AuthorKind.PIPELINE:
        return Role.LEAD
    membership = Membership.objects.filter(project=author.project_id, user=author.user_id).first()
    return None if membership is None else Role(membership.role)


def require_role(author: Author, *allowed: Role) -> Role:
    role = role_of(author)
    if role not in allowed:
        names = ", ".join(role.value for role in allowed)
        raise Refused(Problem(f"{author} may not do this", value=role.value if role else "no role", allowed=names))
    return role


def public(view: View) -> View:
    """Anybody may see this."""
    view.access = Declared(signed_in=False)  # type: ignore[attr-defined]
    return view


def signed_in(view: View) -> View:
    """Whoever is signed in may see this."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            return _sign_in_first(request)
        return _private(view(request, *args, **kwargs))

    guarded.access = Declared(signed_in=True)  # type: ignore[attr-defined]
    return guarded


def access(*roles: Role) -> Callable[[View], View]:
    """Members of the project named in the URL may see this, in these roles.

    The view gets `request.project`, `request.role` and `request.author` and no longer the name. Whoever
    is no member cannot tell the project from one that does not exist.
    """

    def declare(view: View) -> View:
        @wraps(view)
        def guarded(request: ProjectRequest, project: str, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return _sign_in_first(request)
            author = member_of(request.user, project)
            if author is None:
                raise Http404
            request.author, request.project, request.role = author, author.project, Role(author.role)
            if request.role not in roles:
                log_refusal(request, author, author.role)
                raise PermissionDenied
            return _private(view(request, *args, **kwargs))

        guarded.access = Declared(signed_in=True, roles=frozenset(roles))  # type: ignore[attr-defined]
        return guarded

    return declare


for_leads = access(*LEADING)


def undeclared(patterns: Iterable[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    """The routes whose view does not say whom it lets in."""
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from undeclared(pattern.url_patterns, route)
        elif not isinstance(getattr(pattern.callback, "access", None), Declared):
            yield f"/{route}"


def refuse_undeclared(patterns: Iterable[URLPattern | URLResolver]) -> None:
    """Called where a process starts: a route that nobody thought about is not served."""
    routes = list(undeclared(patterns))
    if routes:
        raise ImproperlyConfigured(
            f"({UNDECLARED}) {', '.join(routes)}: the view does not say who may see it; "
            "allowed: @access(Role…), @signed_in or @public from core.access"
        )


_MEMBERS = Joined(a=Author, p=Project)
_MEMBER = f"""
SELECT {_MEMBERS.columns}, m.role
FROM core_author a
JOIN core_project p ON p.id = a.project_id
JOIN core_membership m ON m.project_id = a.project_id AND m.user_id = a.user_id
WHERE p.name = %(project)s AND a.user_id = %(user)s"""  # noqa: S608 -- from names of our own models


def log_refusal(request: HttpRequest, author: Author, right: str) -> None:
    """`right` is what was not enough."""
    log.warning("refused: %s as %s on %s %s", author, right, request.method, request.path)


def member_of(user: AbstractBaseUser | AnonymousUser, project: str) -> Any:
    """The author under whom this user works in the project, with the project and the role, in one query."""
    for author, found, role in _MEMBERS.ask(_MEMBER, {"project": project, "user": user.pk}):
        author.project, author.role = found, role
        return author
    return None


def _sign_in_first(request: HttpRequest) -> HttpResponse:
    """A page leads to the sign-in; a request that a page makes is told, so that the page can keep what was typed.

    From what a form sent it goes on with the page of the form: the form's own address may show nothing.
    """
    if request.headers.get("HX-Request"):
        return _private(HttpResponse("Sign in first.", status=401, content_type="text/plain"))
    page = request.get_full_path() if request.method in SAFE_METHODS else request.headers.get("Referer", "/")
    return redirect_to_login(page)


def _private(response: HttpResponse) -> HttpResponse:
    """Neither a proxy nor the browser of the next person at this desk keeps the page."""
    patch_cache_control(response, private=True, no_store=True)
    return response
