"""Typed readers of environment variables. An odd value stops the start and says what is allowed."""

import os
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network
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


def whole_number(name: str, default: int) -> int:
    value = os.environ.get(name, str(default))
    if not (value.isascii() and value.isdigit()):
        raise ImproperlyConfigured(f"{name} is {value!r}; allowed: a whole number")
    return int(value)


def hosts(name: str, default: str) -> list[str]:
    """Host names with commas between; a port or a scheme would match no request, and say so to nobody."""
    found = [host.strip() for host in os.environ.get(name, default).split(",") if host.strip()]
    for host in found:
        if "/" in host or host.rpartition("]")[2].count(":"):
            raise ImproperlyConfigured(f"{name} has {host!r}; allowed: host names alone, as in audit.example")
    return found


def networks(name: str, default: str) -> list[IPv4Network | IPv6Network]:
    """Networks with commas between, or none."""
    given = [one.strip() for one in os.environ.get(name, default).split(",") if one.strip()]
    try:
        return [ip_network(one) for one in given]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}; allowed: networks as in 10.1.0.0/16") from error


def base_path(name: str) -> str:
    """The path under which a proxy shows us, or nothing where we have a host of our own."""
    path = os.environ.get(name, "")
    if path and (not path.startswith("/") or path.endswith("/") or "//" in path):
        raise ImproperlyConfigured(f"{name} is {path!r}; allowed: a path as in /tertium, or nothing")
    return path


def public_url(name: str, *, plain_allowed: bool) -> str:
    """The address under which people and programs find us, or nothing where that is not said."""
    address = os.environ.get(name, "")
    schemes = ("https", "http") if plain_allowed else ("https",)
    try:
        parts = urlsplit(address)
        whole = parts.scheme in schemes and parts.hostname and address == f"{parts.scheme}://{parts.netloc}{parts.path}"
    except ValueError:
        whole = False
    if address and (not whole or "@" in address or address.endswith("/")):
        allowed = " or ".join(f"{scheme}://" for scheme in schemes)
        raise ImproperlyConfigured(
            f"{name} is {address!r}; allowed: an address that begins with {allowed} and ends with host or path, "
            "as in https://audit.example/tertium, or nothing"
        )
    return address


def issuer(name: str, *, plain_allowed: bool) -> str:
    """The address of an OpenID Connect provider, or nothing; without TLS anybody on the way could be anybody."""
    address = os.environ.get(name, "").rstrip("/")
    schemes = ("https://", "http://") if plain_allowed else ("https://",)
    if address and not address.startswith(schemes):
        raise ImproperlyConfigured(
            f"{name} is {address!r}; allowed: an address that begins with {' or '.join(schemes)}"
        )
    return address


def choice(name: str, default: str, allowed: Sequence[str]) -> str:
    value = os.environ.get(name, default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name} is {value!r}; allowed: {', '.join(allowed)}")
    return value


def require_said(name: str, meaning: str) -> None:
    """Refuse to guess what an installation has to say itself."""
    if name not in os.environ:
        raise ImproperlyConfigured(f"{name} is not set; required in production: {meaning}")


def folder(path: Path) -> Path:
    """`path`, made for this user alone where it is missing."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"the folder {str(path)!r} cannot be made ({error.strerror}); "
            "name one that can be written to in TERTIUM_VAR, or set DATABASE_URL and REDIS_URL"
        ) from error
    return path


def secret(name: str) -> str | None:
    """The value of NAME, or the content of the file that NAME_FILE names, or None. An empty text counts as None."""
    path = os.environ.get(f"{name}_FILE")
    if path and os.environ.get(name):
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; allowed: one of them")
    if path:
        try:
            return Path(path).read_text(encoding="utf-8").strip() or None
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE names {path!r}: {error.strerror}") from error
    return os.environ.get(name) or None


def database(url: str | None, embedded: Path) -> dict[str, object]:
    """Django's settings for `postgresql://…` or `sqlite:///path`; for the file `embedded` where url is empty."""
    if not url:
        return _sqlite(embedded)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {error}") from error
    path = unquote(parts.path)
    if parts.scheme == "sqlite" and not parts.netloc and path.startswith("/"):
        return _sqlite(Path(path))
    if parts.scheme not in {"postgres", "postgresql"}:
        # The value itself stays unsaid: it may hold a password.
        raise ImproperlyConfigured(
            f"DATABASE_URL has the scheme {parts.scheme!r}; "
            "allowed: postgresql://user:password@host:port/name, sqlite:///absolute/path"
        )
    if not path.strip("/"):
        raise ImproperlyConfigured("DATABASE_URL names no database; allowed: postgresql://user:password@host:port/name")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": path.lstrip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        # A folder with a server's socket goes here, as `?host=/run/postgresql`: a URL's host loses its capitals.
        "OPTIONS": dict(parse_qsl(parts.query)),
    }


def cache(url: str | None, embedded: Path) -> dict[str, object]:
    """Django's settings for what processes count together: in the server of Celery's `url`, or in the folder
    `embedded` where url is empty. Celery's name for a server on a socket is not the one that its client knows."""
    if not url:
        return {"BACKEND": "django.core.cache.backends.filebased.FileBasedCache", "LOCATION": embedded}
    parts = urlsplit(url)
    if parts.scheme not in {"redis", "rediss", "redis+socket"}:
        # As above: the value itself stays unsaid.
        raise ImproperlyConfigured(
            f"REDIS_URL has the scheme {parts.scheme!r}; "
            "allowed: redis://user:password@host:port/0, rediss:// for TLS, redis+socket:///path"
        )
    on_socket = f"unix://{parts.path}?db={dict(parse_qsl(parts.query)).get('virtual_host', '0')}"
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": on_socket if parts.scheme == "redis+socket" else url,
        "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 0.5},
    }


def _sqlite(file: Path) -> dict[str, object]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": file,
        # To open the file, read its tables and check its pages in again took longer than a whole answer at the desk.
        "CONN_MAX_AGE": 60,
        "OPTIONS": {
            # Writers queue instead of failing: a deferred transaction that upgrades to a
            # writer is refused at once by SQLite, whatever the timeout.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; "
            # A dropped text is overwritten in the file, not only forgotten.
            "PRAGMA secure_delete=ON;",
        },
        # A file, not shared memory: several processes must see one test database.
        "TEST": {"NAME": file.with_name(f"test-{file.name}")},
    }
