"""Signing in by an OpenID Connect provider: who somebody is, the provider says; what they may do, we do."""

import logging
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET

from core.access import public
from core.errors import InputError, Problem
from core.services import external_account_user
from core.signin import BACKEND, SignInForm

log = logging.getLogger(__name__)

NEXT = "sso-next"
SECONDS = 5  # a provider that takes longer is taken for gone
NOT_LET_IN, NO_PROVIDER = 403, 502


@public
@require_GET
def sso(request: HttpRequest) -> HttpResponse:
    """On to the provider."""
    client = _client(request)
    request.session[NEXT] = request.GET.get("next", "")
    try:
        answer: HttpResponse = client.authorize_redirect(request, request.build_absolute_uri(reverse("sso-callback")))
    except _failures() as error:
        return _refused(request, _no_answer(error), NO_PROVIDER)
    return answer


@public
@require_GET
def sso_callback(request: HttpRequest) -> HttpResponse:
    """Back from the provider, whose token is checked: signature, issuer, audience, nonce, age."""
    client = _client(request)
    try:
        claims = client.authorize_access_token(request).get("userinfo") or {}
    except _failures() as error:
        return _refused(request, _no_answer(error), NO_PROVIDER)
    verified = claims.get("email_verified") is True
    try:
        user = external_account_user(
            issuer=settings.OIDC_ISSUER,
            subject=str(claims.get("sub", "")),
            email=str(claims.get("email", "")) if verified else "",
            now=timezone.now(),
        )
    except InputError as error:
        return _refused(request, error.problems, NOT_LET_IN)
    onward = request.session.pop(NEXT, "")
    login(request, user, backend=BACKEND)
    safe = url_has_allowed_host_and_scheme(onward, {request.get_host()}, require_https=request.is_secure())
    return redirect(onward if safe else settings.LOGIN_REDIRECT_URL)


def _client(request: HttpRequest) -> Any:
    if not settings.OIDC_ISSUER:
        raise Http404
    return _client_of(settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET)


@cache
def _client_of(issuer: str, client_id: str, secret: str | None) -> Any:
    from authlib.integrations.django_client import OAuth

    options = {"scope": "openid email", "code_challenge_method": "S256", "default_timeout": SECONDS}
    return OAuth().register(
        "sso",
        server_metadata_url=f"{issuer}/.well-known/openid-configuration",
        client_id=client_id,
        client_secret=secret,
        client_kwargs=options,
    )


def _failures() -> tuple[type[Exception], ...]:
    from authlib.common.errors import AuthlibBaseError
    from joserfc.errors import JoseError
    from requests import RequestException

    return AuthlibBaseError, JoseError, RequestException, ValueError, RuntimeError


def _no_answer(error: Exception) -> list[Problem]:
    log.warning("no sign-in by %s: %s", settings.OIDC_ISSUER, error)
    return [Problem(f"{settings.OIDC_NAME} did not say who you are; try again, or sign in with a password")]


def _refused(request: HttpRequest, problems: list[Problem], status: int) -> HttpResponse:
    context = {"form": SignInForm(request), "problems": problems, "sso": settings.OIDC_NAME}
    return render(request, "core/login.html", context, status=status)
