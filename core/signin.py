from ipaddress import ip_address
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import AbstractUser
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django_otp import match_token, user_has_device
from django_otp.plugins.otp_totp.models import TOTPDevice

from core.errors import Problem

TOO_MANY_TRIES = 429
BACKEND = "core.signin.PasswordAndCode"
NO_ADDRESS = "::"  # of a socket, or of a header that holds none: all of these count as one


class PasswordAndCode(ModelBackend):
    """A password, and a code from whoever has set up a second factor. Where one is wrong, nobody learns which."""

    def authenticate(  # type: ignore[override]
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, code: str = ""
    ) -> AbstractUser | None:
        user: AbstractUser | None = super().authenticate(request, username=username, password=password)
        if user is None or not user_has_device(user):
            return user
        return user if code and match_token(user, code) else None


class SignInForm(AuthenticationForm):
    """The field for a code is there once anybody here has a second factor."""

    code = forms.CharField(
        label="Code of your second factor, if you use one",
        required=False,
        max_length=16,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code"}),
    )

    def __init__(self, request: HttpRequest | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        if not TOTPDevice.objects.filter(confirmed=True).exists():
            del self.fields["code"]

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if "username" in given and "password" in given:
            code = given.get("code", "").replace(" ", "")
            who = authenticate(self.request, username=given["username"], password=given["password"], code=code)
            if who is None:
                raise self.get_invalid_login_error()
            self.confirm_login_allowed(who)
            self.user_cache = who
        return given


@method_decorator(never_cache, name="dispatch")
class SignIn(LoginView):
    """The sign-in page, and the same form inside a page whose session has ended (asked for by htmx)."""

    redirect_authenticated_user = True
    form_class = SignInForm

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        return super().get_context_data(**more) | {"sso": settings.OIDC_NAME if settings.OIDC_ISSUER else ""}

    def get_template_names(self) -> list[str]:
        return [_template(self.request)]

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        response = super().dispatch(request, *args, **kwargs)
        get_token(request)  # the open page may have lost this alone: it comes back with any answer
        # A page that is open goes on where it is: it needs no other page, only to know that it may.
        return HttpResponse(status=204) if _inside_a_page(request) and response.status_code == 302 else response


def locked_out(request: HttpRequest, *_: object) -> HttpResponse:
    """What somebody gets who failed too often, even with the right password; or for an account that is not there."""
    minutes = int(settings.AXES_COOLOFF_TIME.total_seconds() // 60)
    problem = Problem("too many failed attempts to sign in", allowed=f"another one {minutes} minutes after the last")
    context = {"form": SignInForm(request), "problems": [problem], "next": request.POST.get("next", "")}
    return render(request, _template(request), context, status=TOO_MANY_TRIES)


def client_address(request: HttpRequest) -> str:
    """Whose attempt it is. Behind our proxy, what that proxy saw: it appends to what a visitor may have invented."""
    seen = str(request.META.get("REMOTE_ADDR", ""))
    if settings.BEHIND_TLS_PROXY:
        seen = request.headers.get("X-Forwarded-For", seen).rpartition(",")[2].strip()
    try:
        return str(ip_address(seen))
    except ValueError:
        return NO_ADDRESS


def _template(request: HttpRequest) -> str:
    return "core/_login_form.html" if _inside_a_page(request) else "core/login.html"


def _inside_a_page(request: HttpRequest) -> bool:
    return bool(request.headers.get("HX-Request"))
