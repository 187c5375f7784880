"""Requests to addresses that people gave us: over TLS, to hosts that everybody may reach, and to no other.

A name is looked up once; what was found is checked, and the connection goes there and nowhere else: a name that says
something else a moment later leads nowhere. Not by a client of the usual kind, which looks the name up itself.
"""

import contextlib
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from threading import Timer
from urllib.parse import urlsplit

from django.conf import settings

from core.errors import InputError, Problem

LONGEST_URL = 500
CONNECT_SECONDS = 3.0  # for each of the addresses that a name has
SECONDS = 10.0  # for all of it, however slowly something comes
HERE = ("localhost", "127.0.0.1", "::1")
ALLOWED = "https://host/path, without a name, a password or a fragment"
SIX_TO_FOUR = ip_network("2002::/16")  # would lead to the IPv4 address inside


class NoAnswer(Exception):
    """The request brought no answer; the words say why."""


@dataclass(frozen=True)
class Target:
    secure: bool
    host: str
    port: int
    path: str


def target_of(url: str) -> Target:
    """Where an address leads; raises InputError where no request goes there."""
    if len(url) > LONGEST_URL:
        raise InputError(Problem("too long", key="url", value=url, allowed=f"at most {LONGEST_URL} characters"))
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    plain = parts.scheme == "http" and parts.hostname in HERE and not settings.PRODUCTION
    whole = url.isascii() and url.isprintable() and " " not in url and parts.hostname
    if not whole or not (parts.scheme == "https" or plain) or "@" in parts.netloc or parts.fragment:
        raise InputError(Problem("not an address that is asked", key="url", value=url, allowed=ALLOWED))
    with contextlib.suppress(ValueError):
        if not may_be_reached(ip_address(str(parts.hostname))):
            raise InputError(_closed(str(parts.hostname)))
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme == "https", str(parts.hostname), port or (80 if plain else 443), path)


def may_be_reached(address: IPv4Address | IPv6Address) -> bool:
    """Whether everybody may reach it, or the installation says that we may."""
    if any(address in network for network in settings.WEBHOOK_NETWORKS):
        return True
    special = address.is_multicast or address.is_reserved or address in SIX_TO_FOUR
    return address.is_global and not special


def _closed(host: str) -> Problem:
    return Problem(
        "leads to a private address", key="url", value=host, allowed="a public one, or one in TERTIUM_WEBHOOK_NETWORKS"
    )


def post(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """The status of the answer, of which nothing more is read. A redirection is an answer like any other."""
    try:
        target = target_of(url)
    except InputError as error:
        raise NoAnswer(str(error)) from error
    connection = _Checked(target, _addresses(target))
    limit = Timer(SECONDS, connection.cut)
    limit.daemon = True
    limit.start()
    try:
        connection.request("POST", target.path, body, dict(headers))
        return connection.getresponse().status
    except (OSError, HTTPException, ValueError) as error:
        raise NoAnswer(f"no answer within {SECONDS:.0f} s" if connection.late else _words(error)) from error
    finally:
        limit.cancel()
        connection.close()


def _addresses(target: Target) -> list[str]:
    """What the name stands for now. Where one of several is private, none is asked."""
    addresses = look_up(target.host)
    if any(not may_be_reached(ip_address(address)) for address in addresses):
        raise NoAnswer(_closed(target.host).what)
    return addresses


def look_up(host: str) -> list[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NoAnswer("its name is not known") from error
    return [str(place[0]).partition("%")[0] for *_, place in found]


def _words(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate does not hold: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "it takes no connection"
    return f"the connection failed ({type(error).__name__})"


class _Checked(HTTPConnection):
    """Connects to the addresses given, in turn, and in TLS asks for the certificate of the name."""

    def __init__(self, target: Target, addresses: list[str]) -> None:
        super().__init__(target.host, target.port, timeout=CONNECT_SECONDS)
        self.default_port = 443 if target.secure else 80  # stands in no `Host` header
        self.target, self.addresses, self.late = target, addresses, False

    def connect(self) -> None:
        self.sock = self._connected()
        self.sock.settimeout(SECONDS)
        if self.target.secure:
            context = ssl.create_default_context()
            # Not on the way: what is being wrapped could not be cut.
            self.sock = context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
        self._require_time()
        if self.target.secure:
            self.sock.do_handshake()

    def _connected(self) -> socket.socket:
        *others, last = self.addresses
        for address in others:
            with contextlib.suppress(OSError):
                return socket.create_connection((address, self.port), CONNECT_SECONDS)
            self._require_time()
        return socket.create_connection((last, self.port), CONNECT_SECONDS)

    def _require_time(self) -> None:
        """There was nothing to cut yet when the time was over."""
        if self.late:
            raise TimeoutError

    def cut(self) -> None:
        """Called from another thread: what waits there for an answer gets none."""
        self.late = True
        if self.sock is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)
