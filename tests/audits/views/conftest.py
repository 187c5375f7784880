"""A project with people in every role, and audits in every state that a page can show."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from adjudication.models import SettlementHow
from adjudication.services.settlements import item_settle
from audits.manifest import load_manifest
from audits.models import Audit
from audits.services.charts import chart_bring_up_to_date
from audits.services.looks import looks_bring_up_to_date
from audits.services.opening import audit_open
from audits.services.registering import audit_register
from audits.synthetic import synthetic_project
from core.models import Author, Project, Role
from core.services import member_add, operator_of, project_ensure

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
CASES = 120

People = dict[str, Author]


@pytest.fixture(autouse=True)
def _own_uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "VAR_DIR", tmp_path / "var")


@pytest.fixture
def project(db: None) -> Project:
    return project_ensure(name="alpha", now=NOW)


@pytest.fixture
def people(project: Project) -> People:
    """One in each role, and the owner of another project."""
    found = {role.value: member_add(project=project, username=f"{role.value}-1", role=role) for role in Role}
    elsewhere = project_ensure(name="beta", now=NOW)
    return found | {"outsider": member_add(project=elsewhere, username="oz", role=Role.OWNER)}


@pytest.fixture
def lead(people: People) -> Client:
    return client_of(people["lead"])


def client_of(author: Author) -> Client:
    client = Client()
    client.force_login(author.user)
    return client


@pytest.fixture
def draft(project: Project, tmp_path: Path) -> Audit:
    return open_audit(project, tmp_path, "swap-1")


@pytest.fixture
def registered(draft: Audit) -> Audit:
    audit_register(audit=draft, actor=operator_of(draft.project), now=NOW)
    return draft


@pytest.fixture
def watched(registered: Audit) -> Audit:
    """Every case settled but one, which others wait behind, and looked at."""
    settle(registered, but=3)
    look(registered)
    chart_bring_up_to_date(audit=registered, now=NOW)
    return registered


def open_audit(project: Project, folder: Path, name: str, number: int = CASES) -> Audit:
    path = synthetic_project(folder / name, name=name, project=project.name, seed="5", number=number)
    return audit_open(manifest=load_manifest(path), actor=operator_of(project), now=NOW).audit


def settle(audit: Audit, *, first: int | None = None, but: int = -1) -> None:
    """Settle the first items in their serving order, leaving out the one at place `but`."""
    items = list(audit.queue.items.filter(state="open").order_by("rank"))[:first]
    for place, item in enumerate(items):
        if place != but:
            decision = {item.shown.get().artifact_id: "pass"}
            item_settle(
                item=item, how=SettlementHow.SINGLE, decision=decision, actor=operator_of(audit.project), now=NOW
            )


def look(audit: Audit) -> None:
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)


Page = Callable[[str], str]


@pytest.fixture
def read(lead: Client) -> Page:
    """The text of one of the lead's pages, by what stands behind the project in its address."""

    def fetch(path: str) -> str:
        answer = lead.get(f"/p/alpha/{path}")
        assert answer.status_code == 200, answer.status_code
        return " ".join(answer.content.decode().split())

    return fetch
