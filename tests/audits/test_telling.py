"""Webhooks are told of looks, targets, settled audits and imports, in the transaction that makes it so, and once."""

import multiprocessing
from collections.abc import Sequence
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.urls import clear_script_prefix, set_script_prefix

from audits.models import AnchorSet, Audit, Job, JobKind, Look
from audits.selectors import is_closed, last_look
from audits.services.anchorsets import anchor_set_make
from audits.services.jobs import ATTEMPTS, SILENT_FOR, job_ask, job_broken, job_cancel, job_done, job_take
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_extend, audit_register
from audits.services.telling import settled_tell
from audits.synthetic import synthetic_project
from audits.tasks import look_due, looks_sweep
from core.models import Project, Role, Scope, WebhookEndpoint, WebhookMessage
from core.webhooks import webhook_make
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]

ALL = ("look.computed", "target.reached", "audit.settled", "import.finished")
CANARY = "Kowalska"


@pytest.fixture
def project() -> Project:
    project = factories.make_project()
    webhook_make(url="https://ci.example/", kinds=ALL, actor=factories.operator_of(project), now=NOW)
    return project


def registered(project: Project, number: int, **plan: Any) -> Audit:
    verdicts = {f"{CANARY} {n:02d}": ("Yes", "No" if n % 2 else "Yes") for n in range(number)}
    audit = factories.make_audit(factories.make_swap(project, verdicts), plan=plan)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    return audit


def settle(audit: Audit, number: int, *labels: str | None) -> None:
    waiting = audit.draws.filter(item__state="open").order_by("item__rank")
    for case in list(waiting.values_list("case__case_id", flat=True))[:number]:
        factories.settle(audit.queue, case, *labels or ("pass",))


def look(audit: Audit) -> int:
    return looks_bring_up_to_date(audit=audit, clock=lambda: NOW)


def told() -> list[str]:
    return list(WebhookMessage.objects.order_by("pk").values_list("kind", flat=True))


def test_look_is_told_with_where_it_is_and_nothing_it_says(project: Project) -> None:
    audit = registered(project, 12)
    settle(audit, 3)
    look(audit)
    message = WebhookMessage.objects.get()
    made = Look.objects.get()
    assert (message.kind, message.thing, message.at) == ("look.computed", f"look {made.pk}", NOW)
    url = f"/api/v1/projects/p/audits/swap-1/looks/{made.pk}"
    assert message.data == {"project": "p", "audit": "swap-1", "registration": 1, "look": made.pk, "url": url}
    key = factories.make_token(project, Scope.AUDITS_READ).key
    assert Client(headers={"Authorization": f"Bearer {key}"}).get(url).json()["number"] == made.pk


def test_no_message_holds_a_text_a_verdict_a_label_or_a_name(project: Project) -> None:
    audit = registered(project, 6)
    settle(audit, 6)
    look(audit)
    ann = factories.make_person(project, "ann", Role.LEAD)
    job_done(job=taken(ann), audit=None, now=NOW)
    stored = str(list(WebhookMessage.objects.values_list("data", flat=True)))
    assert told() == ["look.computed", "target.reached", "audit.settled", "import.finished"]
    assert [word for word in (CANARY, "Yes", "pass", "ann", "person") if word in stored] == []


def test_census_reaches_its_target_and_is_settled_at_the_same_look(project: Project) -> None:
    audit = registered(project, 6)
    settle(audit, 5)
    look(audit)
    assert told() == ["look.computed"]
    settle(audit, 1)
    look(audit)
    assert told() == ["look.computed"] * 2 + ["target.reached", "audit.settled"]


def test_target_is_told_at_the_first_look_that_reaches_it(project: Project) -> None:
    audit = registered(project, 200, half_width=0.2)
    looks = []
    while "target.reached" not in told():
        settle(audit, 10)
        look(audit)
        looks.append(Look.objects.latest("pk").final)
    assert looks == [False] * (len(looks) - 1) + [True]
    settle(audit, 10)
    look(audit)
    assert (told().count("target.reached"), told().count("audit.settled")) == (1, 0)


def closed(project: Project) -> Audit:
    """A monitored audit after its final look, with cases still to settle."""
    audit = registered(project, 200, policy="monitored", half_width=0.2)
    while not is_closed(last_look(audit)):
        settle(audit, 60)
        look(audit)
    return audit


def left(audit: Audit) -> int:
    return audit.draws.filter(item__state="open").count()


def test_monitored_audit_that_settles_after_its_final_look_is_told_once(project: Project) -> None:
    audit = closed(project)
    looks = Look.objects.count()
    settle(audit, left(audit) - 1)
    look_due(queue=audit.queue_id, number=1)
    assert "audit.settled" not in told()
    settle(audit, 1)
    for _ in range(2):
        look_due(queue=audit.queue_id, number=1)
        looks_sweep()
    assert (Look.objects.count(), told().count("audit.settled")) == (looks, 1)
    message = WebhookMessage.objects.get(kind="audit.settled")
    assert (message.thing, message.at) == (f"registration 1 of audit {audit.pk}", NOW)
    assert message.data["look"] == Look.objects.latest("pk").pk
    assert message.deliveries.count() == 1


def test_sweep_tells_of_a_closed_audit_whose_worker_was_not_woken(project: Project) -> None:
    audit = closed(project)
    settle(audit, left(audit))
    looks_sweep()
    assert told().count("audit.settled") == 1


def test_final_look_that_sees_all_is_told_of_once_where_the_sweep_makes_it(project: Project) -> None:
    audit = registered(project, 6, policy="monitored", half_width=0.2)
    settle(audit, 6)
    for _ in range(2):
        looks_sweep()
    assert told() == ["look.computed", "target.reached", "audit.settled"]


def test_what_settled_before_a_webhook_was_made_is_not_told_to_it(project: Project) -> None:
    audit = closed(project)
    settle(audit, left(audit))
    WebhookEndpoint.objects.update(made_at=NOW + timedelta(seconds=1))
    looks_sweep()
    assert told().count("audit.settled") == 0


def _told_in_a_process(audit: Audit) -> bool:
    return settled_tell(audit=audit, now=NOW) is not None


@pytest.mark.django_db(transaction=True)
def test_processes_at_once_tell_of_a_closed_audit_once(transactional_db: None, project: Project) -> None:
    audit = closed(project)
    settle(audit, left(audit))
    connection.close()
    with multiprocessing.get_context("fork").Pool(6, initializer=connection.close) as pool:
        assert sum(pool.map(_told_in_a_process, [audit] * 6, chunksize=1)) == 1
    assert told().count("audit.settled") == 1


def test_case_that_nobody_can_judge_is_settled_too(project: Project) -> None:
    audit = registered(project, 4)
    settle(audit, 3)
    settle(audit, 1, None)
    look(audit)
    assert told().count("audit.settled") == 1


def test_extension_is_settled_again(project: Project) -> None:
    audit = registered(project, 120, allocation={"agree": 30, "disagree": 30}, half_width=0.001)
    settle(audit, 60)
    look(audit)
    audit_extend(audit=audit, labels={"agree": 35}, actor=factories.operator(audit), now=NOW)
    look(audit)
    assert told().count("audit.settled") == 1
    settle(audit, 60)
    look(audit)
    things = WebhookMessage.objects.filter(kind="audit.settled").order_by("pk").values_list("thing", flat=True)
    assert list(things) == [f"registration {n} of audit {audit.pk}" for n in (1, 2)]


def test_message_and_look_are_one_transaction(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = registered(project, 6)
    settle(audit, 1)

    def broken(**_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("audits.services.telling.message_write", broken)
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            look(audit)
    assert (Look.objects.count(), told()) == (0, [])
    look(audit)
    assert (Look.objects.count(), told()) == (1, ["look.computed"])


def taken(actor: Any, kind: JobKind = JobKind.INTAKE) -> Job:
    job = job_take(job=job_ask(kind=kind, actor=actor, now=NOW).pk, now=NOW)
    assert job is not None
    return job


def said() -> Sequence[dict[str, Any]]:
    return list(WebhookMessage.objects.order_by("pk").values_list("data", flat=True))


def test_import_is_told_however_it_ends(project: Project) -> None:
    lea = factories.make_person(project, "lea", Role.LEAD)
    audit = factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No")}))
    done = taken(lea)
    job_done(job=done, audit=audit, now=NOW)
    job_broken(job=taken(lea, JobKind.TAKE_ANCHORS), now=NOW)
    job_cancel(job=job_ask(kind=JobKind.INTAKE, actor=lea, now=NOW), actor=lea, now=NOW)
    given_up, now = job_ask(kind=JobKind.INTAKE, actor=lea, now=NOW), NOW
    for _ in range(ATTEMPTS + 1):
        job_take(job=given_up.pk, now=now)
        now += SILENT_FOR + timedelta(seconds=1)
    url = f"/api/v1/projects/p/jobs/{done.pk}"
    assert said()[0] == {
        "project": "p",
        "job": done.pk,
        "kind": "intake",
        "state": "done",
        "audit": "swap-1",
        "url": url,
    }
    assert [(one["kind"], one["state"]) for one in said()[1:]] == [
        ("anchors in", "broken"),
        ("intake", "cancelled"),
        ("intake", "broken"),
    ]


@pytest.mark.parametrize(
    ("public", "base", "before"),
    [
        ("", "", ""),
        ("", "/tertium", "/tertium"),
        ("https://audit.example", "", "https://audit.example"),
        ("https://audit.example/tertium", "/tertium", "https://audit.example/tertium"),
    ],
)
@pytest.mark.parametrize("prefix", ["", "/tertium/"])
def test_address_is_as_whole_as_the_installation_says_in_every_thread(
    project: Project, settings: Any, public: str, base: str, before: str, prefix: str
) -> None:
    """Django keeps the path of a proxy for each thread, and threads of a worker have none."""
    settings.PUBLIC_URL, settings.BASE_PATH = public, base
    lea = factories.make_person(project, "lea", Role.LEAD)
    job = taken(lea)
    set_script_prefix(prefix or "/")
    try:
        job_done(job=job, audit=None, now=NOW)
    finally:
        clear_script_prefix()
    assert said()[0]["url"] == f"{before}/api/v1/projects/p/jobs/{job.pk}"


def test_what_a_command_takes_in_is_told(project: Project, tmp_path: Path) -> None:
    manifest = synthetic_project(tmp_path / "s", name="swap-1", project="p", seed="5", number=40)
    for _ in range(2):
        call_command("open_audit", manifest, stdout=StringIO())
    audit = Audit.objects.get()
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    settle(audit, 3)
    anchor_set_make(audit=audit, name="gold", licence="x", actor=factories.operator(audit), now=NOW)
    file = tmp_path / "gold.jsonl"
    call_command("export_anchor_set", "p", "gold", file, stdout=StringIO())
    other = factories.make_project("other")
    webhook_make(url="https://ci.example/", kinds=ALL, actor=factories.operator_of(other), now=NOW)
    for _ in range(2):
        call_command("anchor_sets", "other", "--file", file, stdout=StringIO())
    with pytest.raises(CommandError):
        call_command("open_audit", tmp_path / "none.yaml", stdout=StringIO())
    theirs = AnchorSet.objects.get(project=other)
    opened = {"project": "p", "audit": "swap-1", "url": "/api/v1/projects/p/audits/swap-1", "kind": "intake"}
    taken_in = {"project": "other", "audit": None, "kind": "anchors in"}
    taken_in["url"] = f"/api/v1/projects/other/anchor-sets/{theirs.pk}"
    assert said() == [one | {"job": None, "state": "done"} for one in (opened, opened, taken_in)]
    key = factories.make_token(other, Scope.AUDITS_READ).key
    assert Client(headers={"Authorization": f"Bearer {key}"}).get(str(taken_in["url"])).status_code == 200


def test_job_that_is_no_import_is_not_told(project: Project) -> None:
    lea = factories.make_person(project, "lea", Role.LEAD)
    job_done(job=taken(lea, JobKind.REGISTER), audit=None, now=NOW)
    assert told() == []


def test_import_that_another_worker_has_is_not_told_by_the_first(project: Project) -> None:
    first = taken(factories.make_person(project, "lea", Role.LEAD))
    job_take(job=first.pk, now=NOW + SILENT_FOR + timedelta(seconds=1))
    assert (job_broken(job=first, now=NOW), told()) == (False, [])
