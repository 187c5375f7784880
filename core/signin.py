from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from core.errors import Problem

TOO_MANY_TRIES = 429
NO_ADDRESS = "::"  # of a socket, or of a header that holds none: all of these count as one


@method_decorator(never_cache, name="dispatch")
class SignIn(LoginView):
    """The sign-in page, and the same form inside a page whose session has ended (asked for by htmx)."""

    redirect_authenticated_user = True
    form_class = AuthenticationForm

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
    context = {"form": AuthenticationForm(request), "problems": [problem], "next": request.POST.get("next", "")}
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
