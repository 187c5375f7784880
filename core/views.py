import sys

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from core.access import ProjectRequest, access, public, signed_in
from core.checks import why_unready
from core.errors import InputError, Problem
from core.forms import TokenForm
from core.models import Membership, Role
from core.notices import notice
from core.pages import Link, links_of
from core.tokens import pipeline_token_make, token_revoke, tokens_of

BAD_INPUT, NOT_READY = InputError.status, 503
SHOWN_TOKENS = 100
RETRY_AFTER = 5  # seconds
AWAY = "Nothing was lost that was shown as saved, and a review that is sent again is stored once."


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return notice(request, "400.html", 400, Problem("the request cannot be read, or was sent to another host"))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return notice(request, "403.html", 403, Problem("you may not do this"))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return notice(request, "404.html", 404, Problem("there is nothing here"))


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    return notice(request, "403_csrf.html", 403, Problem("the token against forged requests is missing or old"))


def server_error(request: HttpRequest) -> HttpResponse:
    """What nobody caught. A database that is away or restarts is no fault of ours, and passes: 503, and ask again.

    Not by a middleware: session and sign-in ask the database too, before any view.
    """
    status, template, words = 500, "500.html", Problem("something went wrong here")
    if isinstance(sys.exc_info()[1], (OperationalError, InterfaceError)):
        status, template = NOT_READY, "503.html"
        words = Problem("the database does not answer", allowed="the same again, in a moment")
    answer = notice(request, template, status, words, what=AWAY)
    if status == NOT_READY:
        answer["Retry-After"] = str(RETRY_AFTER)
    return answer


@public
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 when this process answers and reaches its database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok\n", content_type="text/plain")


@public
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when this process may be sent visitors: its database is prepared, and guarded. Where it is not, 503 and why.

    The broker is not asked: answers are stored without it.
    """
    try:
        wanting = why_unready()
    except DatabaseError:
        wanting = "the database does not answer"
    if wanting:
        return HttpResponse(f"not ready: {wanting}\n", content_type="text/plain", status=NOT_READY)
    return HttpResponse("ready\n", content_type="text/plain")


@signed_in
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The projects of whoever is signed in; the only one at once."""
    members = Membership.objects.filter(user=request.user.pk).select_related("project").order_by("project__name")
    links = [Link(member.project.name, reverse("project", args=[member.project.name])) for member in members]
    if len(links) == 1:
        return redirect(links[0].url)
    return render(request, "core/home.html", {"projects": links})


@access(*Role)
@require_GET
def project_home(request: ProjectRequest) -> HttpResponse:
    """Where somebody in this role begins."""
    links, _ = links_of(request.project.name, request.role)
    return redirect(links[0].url) if links else render(request, "core/project.html")


@access(Role.OWNER)
@require_http_methods(["GET", "POST"])
def tokens(request: ProjectRequest) -> HttpResponse:
    """The project's tokens, and a form for one more, whose key is shown in the answer and never again."""
    if request.method == "GET":
        return _tokens_page(request, TokenForm())
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _tokens_page(request, form, status=BAD_INPUT)
    try:
        token, key = pipeline_token_make(**form.cleaned_data, actor=request.author, now=timezone.now())
    except InputError as error:
        return _tokens_page(request, form, error.problems, status=error.status)
    return _tokens_page(request, TokenForm(), made=token.author.pseudonym, key=key)


@access(Role.OWNER)
@require_POST
def token_revoked(request: ProjectRequest, number: int) -> HttpResponse:
    token = get_object_or_404(tokens_of(request.project), pk=number)
    token_revoke(token=token, actor=request.author, now=timezone.now())
    return redirect("tokens", request.project.name)


def _tokens_page(
    request: ProjectRequest,
    form: TokenForm,
    problems: tuple[Problem, ...] = (),
    status: int = 200,
    **made: str,
) -> HttpResponse:
    shown, now = list(tokens_of(request.project)[: SHOWN_TOKENS + 1]), timezone.now()
    rows = [(token, token.revoked_at is None and token.expires_at > now) for token in shown[:SHOWN_TOKENS]]
    context = {"rows": rows, "more": len(shown) > SHOWN_TOKENS, "form": form, "problems": problems} | made
    return render(request, "core/tokens.html", context, status=status)
