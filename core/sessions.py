"""How long a session lasts: an idle limit and an absolute one, both judged here and not by the browser."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

BEGAN, SEEN = "began", "seen"  # seconds since 1970, in the session
TOUCHED_EVERY = 60  # seconds: a session is written at most this often, not with every request


def session_begin(request: HttpRequest, **_: Any) -> None:
    """Called when somebody has signed in."""
    request.session[BEGAN] = request.session[SEEN] = _now()


class SessionLimits:
    """Ends a session that was left alone for too long or is too old. One that does not say when it began has ended.

    A page that renews itself (`X-Renewal`) is not a person: it does not keep a session alive.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            now, session = _now(), request.session
            too_old = now - session.get(BEGAN, 0) >= settings.SESSION_ABSOLUTE_SECONDS
            left_alone = now - session.get(SEEN, 0) >= settings.SESSION_IDLE_SECONDS
            if too_old or left_alone:
                logout(request)
            elif now - session[SEEN] >= TOUCHED_EVERY and "X-Renewal" not in request.headers:
                session[SEEN] = now
        return self.get_response(request)


def _now() -> int:
    return int(timezone.now().timestamp())
