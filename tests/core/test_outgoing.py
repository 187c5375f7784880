"""Where a webhook may lead: over TLS, to hosts that everybody may reach, at the address that was checked."""

import datetime as dt
import socket
import ssl
import time
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from core import outgoing
from core.errors import InputError
from core.outgoing import NoAnswer, Target, may_be_reached, post, target_of
from tests.receiving import receiver

PRIVATE = [
    "127.0.0.1",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fd00::1",
    "ff02::1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001:0:7f00:1::",
]


@pytest.fixture
def production(settings: Any) -> None:
    settings.PRODUCTION, settings.WEBHOOK_NETWORKS = True, []


@pytest.mark.parametrize("address", PRIVATE)
def test_private_address_is_refused_in_production(production: None, address: str) -> None:
    assert not may_be_reached(ip_address(address))
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(InputError, match="leads to a private address"):
        target_of(f"https://{host}/in")


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:4700::1111"])
def test_public_address_may_be_reached(production: None, address: str) -> None:
    assert may_be_reached(ip_address(address))


def test_network_that_the_installation_names_is_open_and_no_other(production: None, settings: Any) -> None:
    settings.WEBHOOK_NETWORKS = [ip_network("10.1.0.0/16"), ip_network("fd00::/8")]
    open_to = [ip_address(one) for one in ("10.1.2.3", "10.2.2.3", "fd00::7", "127.0.0.1")]
    assert [may_be_reached(one) for one in open_to] == [True, False, True, False]


def test_address_is_taken_apart() -> None:
    assert target_of("https://ci.example/tertium?k=v") == Target(True, "ci.example", 443, "/tertium?k=v")
    assert target_of("https://ci.example:8443") == Target(True, "ci.example", 8443, "/")
    assert target_of("http://localhost:9/x") == Target(False, "localhost", 9, "/x")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ci.example",
        "http://ci.example/",
        "ftp://ci.example/",
        "file:///etc/passwd",
        "https://",
        "https://user@ci.example/",
        "https://user:word@ci.example/",
        "https://ci.example/#part",
        "https://ci.example:port/",
        "https://ci.example:99999/",
        "https://[::1/",
        "https://ci.example/a b",
        "https://ci.example/\r\nX: y",
        "https://ćì.example/",
    ],
)
def test_what_is_no_address_of_a_receiver_is_refused(url: str) -> None:
    with pytest.raises(InputError) as refused:
        target_of(url)
    assert refused.value.problems[0].key == "url"


def test_plain_http_is_for_this_machine_and_never_in_production(production: None, settings: Any) -> None:
    settings.WEBHOOK_NETWORKS = [ip_network("127.0.0.0/8")]
    with pytest.raises(InputError, match="not an address that is asked"):
        target_of("http://localhost/in")
    with pytest.raises(InputError, match="at most 500 characters"):
        target_of("https://ci.example/" + "x" * 500)


def answering(monkeypatch: pytest.MonkeyPatch, *rounds: list[str]) -> list[str]:
    """Names stand for these addresses, one list at each question; the addresses that were then connected to."""
    asked, connected = iter(rounds), []
    real = socket.create_connection

    def connect(place: tuple[str, int], *more: Any) -> socket.socket:
        connected.append(place[0])
        return real(("127.0.0.1", place[1]), *more)

    monkeypatch.setattr(outgoing, "look_up", lambda _: next(asked))
    monkeypatch.setattr(outgoing.socket, "create_connection", connect)
    return connected


def test_name_that_stands_for_a_private_address_is_not_asked(production: None, monkeypatch: pytest.MonkeyPatch) -> None:
    connected = answering(monkeypatch, ["127.0.0.1"], ["93.184.215.14", "10.0.0.1"])
    for _ in range(2):
        with pytest.raises(NoAnswer, match="leads to a private address"):
            post("https://ci.example/in", b"{}", {})
    assert connected == []


def test_name_is_looked_up_once_and_the_checked_address_is_what_is_asked(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that says something else at a second question (DNS rebinding) finds no second question."""
    with receiver() as told:
        connected = answering(monkeypatch, ["93.184.215.14"], ["127.0.0.1"])
        assert post(told.url, b"{}", {"X": "y"}) == 204
    assert connected == ["93.184.215.14"]
    ((headers, body),) = told.received
    assert (headers["Host"], headers["X"], body) == (told.url.split("/")[2], "y", b"{}")


def test_further_addresses_of_a_name_are_tried_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing, "may_be_reached", lambda _: True)
    with receiver() as told:
        monkeypatch.setattr(outgoing, "look_up", lambda _: ["127.0.0.9", "127.0.0.1"])
        assert post(told.url, b"", {}) == 204


def test_redirection_is_not_followed() -> None:
    with receiver() as told:
        told.answers = [302]
        assert post(told.url, b"{}", {}) == 302
    assert len(told.received) == 1


def drip(handler: Any) -> None:
    """Something, again and again, and never an end."""
    for _ in range(200):
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.02)


def hang(handler: Any) -> None:
    handler.rfile.read(1)


def flood(handler: Any) -> None:
    """A body without an end behind a status."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        handler.wfile.write(b"x" * 65536)


@pytest.mark.parametrize("before", [drip, hang])
def test_receiver_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch, before: Any) -> None:
    monkeypatch.setattr(outgoing, "SECONDS", 0.3)
    with receiver() as told:
        told.before = before
        began = time.monotonic()
        with pytest.raises(NoAnswer, match=r"no answer (within 0 s|in time)"):
            post(told.url, b"{}", {})
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("refused", [True, False])
def test_time_that_is_over_before_there_is_a_connection_ends_it(monkeypatch: pytest.MonkeyPatch, refused: bool) -> None:
    """A name may stand for a hundred addresses that never answer, or for one that answers late and then drips."""
    monkeypatch.setattr(outgoing, "SECONDS", 0.1)
    real, tried = socket.create_connection, []

    def connect(place: tuple[str, int], *more: Any) -> socket.socket:
        tried.append(place)
        time.sleep(0.15)
        if refused:
            raise TimeoutError
        return real(place, *more)

    with receiver() as told:
        told.before = drip
        monkeypatch.setattr(outgoing, "look_up", lambda _: ["127.0.0.1"] * 100)
        monkeypatch.setattr(outgoing.socket, "create_connection", connect)
        with pytest.raises(NoAnswer, match="no answer within 0 s"):
            post(told.url, b"{}", {})
        assert (len(tried), told.received) == (1, [])


def test_body_of_an_answer_is_not_read() -> None:
    with receiver() as told:
        told.before = flood
        assert post(told.url, b"{}", {}) == 200


def test_receiver_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver() as told:
        url = told.url
    with pytest.raises(NoAnswer, match="it takes no connection"):
        post(url, b"{}", {})

    def unknown(*_: Any, **__: Any) -> None:
        raise socket.gaierror

    monkeypatch.setattr(outgoing.socket, "getaddrinfo", unknown)
    with pytest.raises(NoAnswer, match="its name is not known"):
        post("https://nowhere.example/", b"{}", {})


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Of `localhost`, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = tmp_path / "both.pem"
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return file


def test_certificate_is_held_to_the_name_and_not_to_the_address(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    real = ssl.create_default_context
    with receiver(serving) as told:
        with pytest.raises(NoAnswer, match="its certificate does not hold: self-signed certificate"):
            post(told.url, b"{}", {})
        monkeypatch.setattr(outgoing.ssl, "create_default_context", lambda: real(cafile=certificate))
        assert post(told.url, b"{}", {}) == 204
        elsewhere = told.url.replace("localhost", "ci.example")
        answering(monkeypatch, ["93.184.215.14"])
        with pytest.raises(NoAnswer, match="its certificate does not hold: Hostname mismatch"):
            post(elsewhere, b"{}", {})
    assert len(told.received) == 1
