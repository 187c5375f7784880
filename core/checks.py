import logging
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection, connections
from django.http.request import validate_host
from django.urls import get_resolver

from core.access import UNDECLARED, undeclared
from core.commands import unprepared
from core.records import unguarded_tables

UNGUARDED = "core.E002"
ELSEWHERE = "core.E003"

log = logging.getLogger(__name__)


def every_view_says_who_may_see_it(**_: Any) -> list[CheckMessage]:
    return [
        Error(f"{route}: the view does not say who may see it", id=UNDECLARED)
        for route in undeclared(get_resolver().url_patterns)
    ]


def public_url_leads_here(**_: Any) -> list[CheckMessage]:
    """What others are told must be an address that we answer."""
    if not settings.PUBLIC_URL:
        return []
    parts = urlsplit(settings.PUBLIC_URL)
    faults = []
    if not validate_host(str(parts.hostname), settings.ALLOWED_HOSTS):
        faults.append(f"its host is none of ALLOWED_HOSTS ({', '.join(settings.ALLOWED_HOSTS)})")
    if parts.path != settings.BASE_PATH:
        faults.append(f"its path is {parts.path or 'none'}, TERTIUM_BASE_PATH is {settings.BASE_PATH or 'none'}")
    return [Error(f"TERTIUM_PUBLIC_URL is {settings.PUBLIC_URL}: {fault}", id=ELSEWHERE) for fault in faults]


def refuse_unguarded() -> None:
    """Called where a server or worker starts: with a trigger gone, what people stated could be altered.

    No system check, because `migrate`, which brings the triggers back, runs those first. A database that cannot be
    asked now is no reason to stay away: requests fail until it is back, and /readyz goes on asking.
    """
    try:
        tables = unguarded_tables(connection)
    except DatabaseError as error:
        log.warning("the database cannot be asked for its triggers (%s)", type(error).__name__)
        return
    finally:
        connections.close_all()  # a process that forks now would share the connection with its children
    if tables:
        raise ImproperlyConfigured(
            f"({UNGUARDED}) {', '.join(tables)}: triggers that guard these tables are missing; "
            "manage.py migrate installs them, and doctor says whether they are there"
        )


def why_unready() -> str:
    """What keeps the database from being worked with, or nothing. Raises DatabaseError where it does not answer."""
    if unprepared():
        return "the database is not prepared: manage.py migrate"
    tables = unguarded_tables(connection)
    return f"triggers are missing on {', '.join(tables)}: manage.py migrate" if tables else ""
