"""The API held to its own schema: what that allows and what it forbids is sent, and every answer is as it says.

No answer is a 5xx. `make fuzz` sends more than the few requests of an ordinary run.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from adjudication.models import QueuePurpose
from audits.models import Audit, Job, JobKind
from audits.services.anchorsets import anchor_set_make
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from core.models import Role, Scope, WebhookDelivery
from core.webhooks import webhook_make
from tests import factories

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("TERTIUM_FUZZ_EXAMPLES", "2"))
# What is sent is altered so that it meets something, and rules of ours say more than a schema can.
NOT_HELD = [negative_data_rejection, positive_data_acceptance]
LEADING = (Scope.INTAKE, Scope.AUDITS_READ, Scope.AUDITS_WRITE, Scope.EXPORTS_READ, Scope.DECIDE, Scope.WEBHOOKS)


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """As Django's test client has it: a request leaves the test's connection open behind it."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def audit(settings: Any, tmp_path: Any) -> Audit:
    """A project with one of everything that an address can name."""
    settings.VAR_DIR = tmp_path / "var"
    project = factories.make_project()
    verdicts = {f"c{n}": ("Yes", "No" if n % 2 else "Yes") for n in range(6)}
    audit = factories.make_audit(factories.make_swap(project, verdicts))
    audit.manifest = "kind: judge_swap"
    audit.save(update_fields=["manifest"])
    audit_register(audit=audit, actor=factories.operator(audit), now=factories.NOW)
    factories.make_known_set(project, QueuePurpose.PRACTICE, 3, label="fail")
    factories.calibrate(audit.queue, practice="known")
    factories.settle(audit.queue, "c1", "fail")
    operator = factories.operator(audit)
    webhook_make(url="https://ci.example/", kinds=["look.computed"], actor=operator, now=factories.NOW)
    looks_bring_up_to_date(audit=audit, clock=lambda: factories.NOW)
    return audit


@pytest.fixture(params=["leading", "reviewing"])
def known(request: pytest.FixtureRequest, audit: Audit) -> dict[str, Any]:
    """The key of a token, and what there is to be asked for."""
    scopes = LEADING if request.param == "leading" else (Scope.REVIEW,)
    token = factories.make_token(audit.project, *scopes)
    ids: dict[str, Any] = {"project": "p", "name": audit.name, "look": audit.looks.get().pk, "kind": "csv"}
    if token.role == Role.REVIEWER:
        ids["token"] = str(factories.claim(audit.queue, token.author, timezone.now()).token)
    job = Job.objects.create(
        project=audit.project,
        kind=JobKind.INTAKE,
        actor=token.author,
        asked_at=factories.NOW,
        asked={"folder": "x" * 24, "manifest": "audit.yaml"},
    )
    delivery = WebhookDelivery.objects.get()
    numbers = {
        "jobs": job.pk,
        "reason-codes": audit.project.reason_codes.latest("pk").pk,
        "webhooks": delivery.endpoint_id,
        "members": factories.make_person(audit.project, "gone").pk,
    }
    anchors = anchor_set_make(audit=audit, name="gold", licence="x", actor=token.author, now=factories.NOW).pk
    return ids | {"anchors": anchors, "message": delivery.pk, "numbers": numbers, "key": token.key}


def operations() -> Iterator[Any]:
    schema = schemathesis.openapi.from_wsgi("/api/v1/schema", get_wsgi_application())
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        yield found.ok()


@pytest.mark.parametrize("mode", GenerationMode)
def test_every_answer_is_as_the_schema_says(known: dict[str, Any], mode: GenerationMode) -> None:
    statuses = set()
    for operation in operations():
        if ("/desk" in operation.path) != ("token" in known):
            continue
        known["number"] = next((number for name, number in known["numbers"].items() if name in operation.path), 0)

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            case.path_parameters = {name: known[name] for name in case.path_parameters or {} if name in known}
            headers = {"Authorization": f"Bearer {known['key']}"}
            answer = case.call_and_validate(headers=headers, excluded_checks=NOT_HELD)
            statuses.add(answer.status_code)

        ask()
    assert 200 in statuses
