"""What holds for the whole API: one shape of errors, writes sent twice, counted requests, a served schema."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import resolve
from django.utils import timezone

from audits.models import Job
from core.answers import answers_clear
from core.api.once import HEADER
from core.models import Project, Role, Scope, StoredAnswer
from tests import factories
from tests.factories import Token
from tests.routes import routes

pytestmark = pytest.mark.django_db
HERE = "/api/v1/projects/p"


@pytest.fixture
def project() -> Project:
    return factories.make_project()


@pytest.fixture
def token(project: Project) -> Token:
    return factories.make_token(project, Scope.INTAKE, Scope.AUDITS_READ, Scope.AUDITS_WRITE, Scope.EXPORTS_READ)


@pytest.fixture
def client(token: Token) -> Client:
    return Client(headers={"Authorization": f"Bearer {token.key}"})


@pytest.fixture
def lead(project: Project) -> Client:
    client = Client()
    client.force_login(factories.make_person(project, "lea", Role.LEAD).user)
    return client


def send(client: Client, path: str, body: Any, **more: Any) -> HttpResponse:
    return client.post(f"{HERE}{path}", body, content_type="application/json", **more)


def problems(answer: HttpResponse) -> list[dict[str, Any]]:
    assert answer["Content-Type"] == "application/json", answer["Content-Type"]
    assert set(answer.json()) == {"errors"}
    found: list[dict[str, Any]] = answer.json()["errors"]
    assert all(set(one) <= {"what", "file", "row", "column", "key", "value", "allowed"} for one in found)
    return found


def test_every_fault_has_one_shape(client: Client, project: Project) -> None:
    factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No")}))
    asked = {
        400: send(client, "/skips/lift", "{not json"),
        401: Client().get(HERE),
        403: client.get(f"{HERE}/desk"),
        404: client.get("/api/v1/nothing/here"),
        405: client.delete(HERE),
        409: send(client, "/audits/swap-1/extend", {"labels": {}}),
        413: send(client, "/skips/lift", "x" * 5_000_001),
        415: client.post(f"{HERE}/skips/lift", "a,b", content_type="text/csv"),
        422: send(client, "/skips/lift", {"items": ["x"], "itens": []}),
    }
    assert {status: answer.status_code for status, answer in asked.items()} == {status: status for status in asked}
    assert all(problems(answer) for answer in asked.values())
    assert problems(asked[400])[0]["what"].startswith("the request cannot be read: JSON parse error")
    assert asked[405]["Allow"] == "GET, HEAD"
    assert problems(asked[413])[0]["value"] == "5,000,001 bytes"


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/projects/p", "/api/v1/none"])
def test_address_that_is_none_has_that_shape_too(client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, problems(answer)[0]["what"]) == (404, "there is nothing here")


def test_what_is_refused_before_any_view_has_that_shape_too(client: Client) -> None:
    elsewhere = client.get(HERE, headers={"Host": "evil.example"})
    assert (elsewhere.status_code, len(problems(elsewhere))) == (400, 1)
    forged = Client(enforce_csrf_checks=True).post("/api/v1/schema")
    assert (forged.status_code, len(problems(forged))) == (403, 1)
    answer = client.delete("/api/v1/docs")
    assert (answer.status_code, answer["Allow"], len(problems(answer))) == (405, "GET, HEAD", 1)


@pytest.mark.parametrize("depth", [21, 900, 100_000])
def test_json_that_is_nested_without_end_is_not_read(client: Client, depth: int) -> None:
    for nested in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        answer = send(client, "/skips/lift", nested, headers={HEADER: "k"})
        assert (answer.status_code, problems(answer)[0]["what"]) == (
            400,
            "the request cannot be read: JSON nested too deeply",
        )
    assert send(client, "/skips/lift", "[" * 20 + "]" * 20).status_code == 422


@pytest.mark.parametrize("body", ["1e400", "[-1e400]", '{"items":[1e400]}', '{"\\ud800":1}', '{"items":{"\\u0000":1}}'])
def test_json_that_no_answer_could_repeat_is_not_read(client: Client, body: str) -> None:
    for headers in ({}, {HEADER: "k"}):
        answer = send(client, "/skips/lift", body, headers=headers)
        assert (answer.status_code, len(problems(answer))) == (400, 1)


def test_query_names_what_the_schema_says_and_nothing_else(client: Client) -> None:
    document = client.get("/api/v1/schema").json()
    for path, item in document["paths"].items():
        view = resolve(re.sub(r"\{(\w+)\}", lambda one: "1" if one[1] != "token" else str(uuid4()), path)).func
        stated = {one["name"] for one in item.get("get", {}).get("parameters", []) if one["in"] == "query"}
        assert "get" not in item or set(view.view_class.known_queries()) == stated, path
    (problem,) = problems(client.get(f"{HERE}/jobs?knid=intake"))
    assert problem == {"what": "not known here", "key": "knid", "allowed": "kind, state, cursor, limit"}
    (problem,) = problems(answer := client.get(f"{HERE}/jobs?cursor=elsewhere"))
    assert (answer.status_code, problem["key"]) == (422, "cursor")


def test_name_that_is_not_known_is_refused_with_those_that_are(client: Client) -> None:
    (problem,) = problems(send(client, "/skips/lift", {"items": [], "itens": []}))
    assert problem == {"what": "not known here", "key": "itens", "allowed": "items"}


def test_session_needs_the_token_against_forged_requests(project: Project) -> None:
    person = factories.make_person(project, "lea", Role.LEAD)
    client = Client(enforce_csrf_checks=True)
    client.force_login(person.user)
    assert send(client, "/skips/lift", {"items": []}).status_code == 403
    client.get("/p/p/audits/new")
    headers = {"X-CSRFToken": client.cookies["tertium_csrf"].value}
    assert send(client, "/skips/lift", {"items": []}, headers=headers).status_code == 200


def test_same_words_on_page_and_in_api(project: Project, client: Client, lead: Client, settings: Any) -> None:
    """Those of the command are the same errors: `core.commands` prints what the services raise."""
    pairs = [(lead.post("/p/p/audits/new"), client.post(f"{HERE}/intakes"))]
    settings.UPLOAD_LIMIT = 100
    large = {"manifest": SimpleUploadedFile("audit.yaml", b"x" * 200)}
    pairs.append((lead.post("/p/p/audits/new", large), client.post(f"{HERE}/intakes", large)))
    assert [page.status_code for page, _ in pairs] == [422, 413]
    for page, answer in pairs:
        (problem,) = problems(answer)
        assert page.status_code == answer.status_code
        text = re.sub(r"<[^>]+>", "", page.content.decode())
        assert problem["what"] in text
        assert problem["allowed"] in text


@pytest.mark.parametrize("method", ["get", "post"])
def test_nothing_of_an_answer_stays_in_a_cache(client: Client, method: str) -> None:
    for path in ("", "/audits", "/audits/none"):
        assert getattr(client, method)(f"{HERE}{path}")["Cache-Control"] == "private, no-store"


def test_every_write_by_post_takes_a_key() -> None:
    """But those that change nothing when they are asked twice, and those whose answer holds a secret: it would be kept
    with the key. Asked twice, these are refused, or make another secret."""
    without = set()
    for route in routes():
        handler = getattr(getattr(route.view, "view_class", None), "post", None)
        if route.in_api and handler is not None and not getattr(handler, "once", False):
            without.add(route.name)
    secrets = {"api:webhooks", "api:webhook-secret", "api:members"}
    assert without == {"desk-api:next", "desk-api:practice"} | secrets


@pytest.fixture
def audit(project: Project) -> Iterator[Any]:
    return factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No"), "b": ("Yes", "Yes")}))


def test_write_sent_twice_with_a_key_is_done_once(client: Client, audit: Any) -> None:
    first, second = (send(client, "/audits/swap-1/register", {}, headers={HEADER: "k1"}) for _ in range(2))
    assert (first.status_code, second.status_code, Job.objects.count()) == (202, 202, 1)
    assert (first.json(), first["Location"]) == (second.json(), second["Location"])
    assert (HEADER_AGAIN in first, second[HEADER_AGAIN]) == (False, "true")
    assert send(client, "/audits/swap-1/register", {}).status_code == 409


HEADER_AGAIN = "Idempotency-Replayed"


def test_key_on_another_request_is_refused(client: Client, audit: Any) -> None:
    assert send(client, "/skips/lift", {"items": [1]}, headers={HEADER: "k1"}).status_code == 200
    for path, body in (("/skips/lift", {"items": [2]}), ("/audits/swap-1/register", {})):
        answer = send(client, path, body, headers={HEADER: "k1"})
        assert (answer.status_code, problems(answer)[0]["key"]) == (422, HEADER)
    assert Job.objects.count() == 0


def test_key_is_its_authors_own(client: Client, lead: Client, audit: Any) -> None:
    for one in (client, lead):
        assert HEADER_AGAIN not in send(one, "/skips/lift", {"items": []}, headers={HEADER: "k1"})
    assert StoredAnswer.objects.count() == 2


def test_refusal_is_not_stored_and_may_be_sent_again(client: Client, audit: Any) -> None:
    headers = {HEADER: "k1"}
    assert send(client, "/audits/swap-1/extend", {"labels": {}}, headers=headers).status_code == 409
    assert StoredAnswer.objects.count() == 0
    assert send(client, "/audits/swap-1/register", {}, headers=headers).status_code == 202


def test_key_is_forgotten_after_a_day(client: Client, audit: Any) -> None:
    now, headers = timezone.now(), {HEADER: "k1"}
    send(client, "/skips/lift", {"items": []}, headers=headers)
    StoredAnswer.objects.update(at=now - timedelta(hours=24))
    assert send(client, "/skips/lift", {"items": [7]}, headers=headers).status_code == 200
    assert [answers_clear(now=now), answers_clear(now=now + timedelta(days=1, minutes=1))] == [0, 1]


def test_key_that_is_none_is_refused(client: Client) -> None:
    for key in ("", "x" * 256, "\x01"):
        assert send(client, "/skips/lift", {"items": []}, headers={HEADER: key}).status_code == 422


@pytest.fixture
def counted() -> Iterator[None]:
    caches = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "counted"}}
    with override_settings(CACHES=caches, API_PER_MINUTE=3):
        yield


def test_too_many_requests_are_told_when_to_go_on(
    project: Project, client: Client, lead: Client, counted: None
) -> None:
    answers = [client.get(HERE) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert 0 < int(answers[3]["Retry-After"]) <= 60
    assert problems(answers[3])
    assert lead.get(HERE).status_code == 200  # counted for themselves


def test_requests_are_answered_where_they_cannot_be_counted(client: Client, tmp_path: Any) -> None:
    caches = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": f"unix://{tmp_path}/no-broker",
        }
    }
    with override_settings(CACHES=caches):
        assert client.get(HERE).status_code == 200


def test_schema_names_every_address_and_has_examples() -> None:
    document = Client().get("/api/v1/schema").json()
    assert document["openapi"].startswith("3.")
    views = {route.pattern for route in routes() if route.in_api and route.in_project}
    said = {re.sub(r"\{\w+\}", "{}", path) for path in document["paths"]}
    assert said == {re.sub(r"<\w+:\w+>", "{}", f"/{pattern}") for pattern in views}
    for path, methods in document["paths"].items():
        body = methods.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json")
        assert body is None or body.get("examples"), path
        for method, operation in methods.items():
            assert {"401", "404", "422", "429"} <= set(operation["responses"]), (path, method)


def test_documentation_is_served_from_here_alone() -> None:
    page = Client().get("/api/v1/docs").content.decode()
    asked = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert all(url.startswith("/") for url in asked if not url.startswith("#"))
    scripts = [url for url in asked if "swagger" in url]
    assert len(scripts) == 2
    assert all(finders.find(url.removeprefix("/static/")) for url in scripts)


def test_list_goes_on_by_cursor_and_by_filter(client: Client, token: Token, project: Project) -> None:
    for _ in range(3):
        Job.objects.create(project=project, kind="intake", actor=token.author, asked_at=factories.NOW)
    Job.objects.update(state="done")
    numbers, url = [], f"{HERE}/jobs?limit=2"
    while url:
        page = client.get(url).json()
        numbers += [job["number"] for job in page["results"]]
        url = page["next"]
    assert numbers == sorted(numbers, reverse=True)
    assert len(numbers) == 3
    assert client.get(f"{HERE}/jobs?state=running").json()["results"] == []
    for wrong in ("state=x", "limit=0", "limit=201", "limit=x", "cursor=x"):
        assert client.get(f"{HERE}/jobs?{wrong}").status_code == 422, wrong


def test_answer_is_what_the_schema_says(client: Client, audit: Any) -> None:
    shown = client.get(f"{HERE}/audits/swap-1").json()
    document = Client().get("/api/v1/schema").json()
    said = document["components"]["schemas"]["AuditAnswer"]
    assert set(said["required"]) == set(said["properties"]) == set(shown)
    assert json.dumps(shown)
