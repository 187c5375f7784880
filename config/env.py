"""Typed readers of environment variables. An odd value stops the start and says what is allowed."""

import os
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str) -> str:
    return os.environ.get(name, default)


def flag(name: str, default: bool) -> bool:
    value = os.environ.get(name, str(default))
    if value not in {"True", "False"}:
        raise ImproperlyConfigured(f"{name} is {value!r}; allowed: True, False")
    return value == "True"


def words(name: str, default: str) -> list[str]:
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def secret(name: str) -> str | None:
    """The value of NAME, or the content of the file that NAME_FILE names, or None."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE names {path!r}: {error.strerror}") from error
    return os.environ.get(name)


def database(url: str | None, embedded: Path) -> dict[str, object]:
    """Django's settings for `postgresql://…`, or for the embedded SQLite file where url is empty."""
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": embedded,
            "OPTIONS": {
                # Writers queue instead of failing: a deferred transaction that upgrades to a
                # writer is refused at once by SQLite, whatever the timeout.
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
            },
            # A file, not shared memory: several processes must see one test database.
            "TEST": {"NAME": embedded.with_name(f"test-{embedded.name}")},
        }
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured(f"DATABASE_URL has the scheme {parts.scheme!r}; allowed: postgresql")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": dict(parse_qsl(parts.query)),
    }
