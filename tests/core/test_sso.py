"""Signing in by OpenID Connect, against a provider that runs beside the test."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from joserfc import jwt
from joserfc.jwk import RSAKey

from core.models import Author, ExternalAccount, Role
from core.services import member_add
from tests import factories

pytestmark = [pytest.mark.database, pytest.mark.django_db]

KEY, OTHER_KEY = (RSAKey.generate_key(2048, {"kid": "k1"}) for _ in range(2))
CLIENT, EMAIL = "tertium-here", "lea@example.org"


class Provider(ThreadingHTTPServer):
    """Knows one person; `claims` is what it says of them, on top of what it has to say."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.signs_with = KEY
        self.claims: dict[str, Any] = {"sub": "17", "email": EMAIL, "email_verified": True}
        self.nonce, self.asked_for_token = "", {}


class _Answers(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        provider = self.server
        if self.path == "/jwks":
            self._json({"keys": [KEY.as_dict(private=False)]})
        else:
            self._json(
                {
                    "issuer": provider.issuer,
                    "authorization_endpoint": f"{provider.issuer}/authorize",
                    "token_endpoint": f"{provider.issuer}/token",
                    "jwks_uri": f"{provider.issuer}/jwks",
                    "id_token_signing_alg_values_supported": ["RS256"],
                }
            )

    def do_POST(self) -> None:
        provider = self.server
        provider.asked_for_token = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        now = int(time.time())
        claims = {"iss": provider.issuer, "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": provider.nonce}
        token = jwt.encode({"alg": "RS256", "kid": "k1"}, claims | provider.claims, provider.signs_with)
        self._json({"access_token": "unused", "token_type": "Bearer", "id_token": token})

    def _json(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def provider(settings: Any) -> Iterator[Provider]:
    with Provider() as provider:
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = provider.issuer, CLIENT
        settings.OIDC_CLIENT_SECRET, settings.OIDC_NAME = "secret", "Example ID"
        yield provider
        provider.shutdown()


@pytest.fixture
def lead(db: None) -> Author:
    return member_add(project=factories.make_project("alpha"), username="lea", role=Role.LEAD, email=EMAIL)


def sign_in(provider: Provider, browser: Client, onward: str = "/account") -> Any:
    there = browser.get("/login/sso", {"next": onward})["Location"]
    asked = parse_qs(urlsplit(there).query)
    provider.nonce = asked["nonce"][0]
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["redirect_uri"] == ["http://testserver/login/sso/callback"]
    return browser.get("/login/sso/callback", {"code": "c", "state": asked["state"][0]})


def test_person_with_a_known_address_is_signed_in_and_tied_to_the_subject(provider: Provider, lead: Author) -> None:
    browser = Client()
    assert "Sign in with Example ID" in browser.get("/login").content.decode()
    assert sign_in(provider, browser)["Location"] == "/account"
    assert provider.asked_for_token["code_verifier"]
    assert browser.get("/account").status_code == 200
    assert ExternalAccount.objects.get().subject == "17"
    # From now on the subject counts, whatever becomes of the address.
    provider.claims = {"sub": "17", "email": "lea.new@example.org", "email_verified": True}
    assert sign_in(provider, Client()).status_code == 302
    # Whoever gets the old address later is somebody else.
    provider.claims = {"sub": "18", "email": EMAIL, "email_verified": True}
    assert sign_in(provider, Client()).status_code == 403


@pytest.mark.parametrize(
    "claims",
    [
        {"email_verified": False},
        {"email_verified": "true"},
        {"email": "nobody@example.org"},
        {"email": ""},
        {"sub": ""},
    ],
)
def test_person_without_a_verified_known_address_is_not_let_in(
    provider: Provider, lead: Author, claims: dict[str, Any]
) -> None:
    provider.claims |= claims
    browser = Client()
    assert sign_in(provider, browser).status_code == 403
    assert browser.get("/account").status_code == 302
    assert ExternalAccount.objects.count() == 0


def test_address_of_two_accounts_opens_neither(provider: Provider, lead: Author) -> None:
    member_add(project=lead.project, username="lea2", role=Role.OWNER, email=EMAIL.upper())
    assert sign_in(provider, Client()).status_code == 403


def test_closed_account_stays_closed(provider: Provider, lead: Author) -> None:
    assert sign_in(provider, Client()).status_code == 302
    lead.user.is_active = False
    lead.user.save()
    assert sign_in(provider, Client()).status_code == 403


@pytest.mark.parametrize(
    "claims", [{"aud": "another"}, {"iss": "https://evil.example"}, {"nonce": "replayed"}, {"exp": 1}, {"iat": None}]
)
def test_token_for_another_time_place_or_purpose_lets_nobody_in(
    provider: Provider, lead: Author, claims: dict[str, Any]
) -> None:
    provider.claims |= claims
    browser = Client()
    answer = sign_in(provider, browser)
    assert (answer.status_code, "did not say who you are" in answer.content.decode()) == (502, True)
    assert browser.get("/account").status_code == 302


def test_token_that_another_key_signed_lets_nobody_in(provider: Provider, lead: Author) -> None:
    provider.signs_with = OTHER_KEY
    assert sign_in(provider, Client()).status_code == 502


def test_answer_that_this_browser_did_not_ask_for_lets_nobody_in(provider: Provider, lead: Author) -> None:
    assert Client().get("/login/sso/callback", {"code": "c", "state": "invented"}).status_code == 502


def test_person_is_sent_on_within_this_host_alone(provider: Provider, lead: Author) -> None:
    assert sign_in(provider, Client(), "https://evil.example/")["Location"] == "/"


def test_provider_that_is_gone_is_said_so(provider: Provider, lead: Author, settings: Any) -> None:
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    answer = Client().get("/login/sso")
    assert (answer.status_code, "Example ID did not say who you are" in answer.content.decode()) == (502, True)


def test_installation_without_a_provider_has_no_such_page(db: None) -> None:
    assert "sso" not in Client().get("/login").content.decode()
    assert Client().get("/login/sso").status_code == Client().get("/login/sso/callback").status_code == 404
