"""Leads and owners see an audit; whoever reviews in it does not, and nobody from elsewhere can tell it from none."""

import logging

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from audits.models import Audit, JobKind, PlanChart
from audits.services.anchorsets import anchor_set_make
from audits.services.charts import change_charts_draw, plan_charts_draw
from audits.services.jobs import job_ask
from audits.services.sizing import draft_size
from audits.services.uploads import packet_keep, preview_store, refused_keep
from audits.urls import urlpatterns
from tests.audits.views.conftest import NOW, People, client_of

pytestmark = pytest.mark.django_db

POSTED = {"register", "preview-new", "job-cancel", "packet", "known-set", "inventory"}
OWNERS_ALONE = {"retention"}


def addresses(audit: Audit, people: People) -> dict[str, str]:
    """One address of every route; a route without one here fails the test below."""
    files = [SimpleUploadedFile("cases.csv", b"id,label\na,pass\n")]
    change_charts_draw(now=NOW)
    draft_size(audit=audit)
    plan_charts_draw(now=NOW)
    job = job_ask(kind=JobKind.INTAKE, actor=people["lead"], now=NOW, asked={"folder": "x" * 24, "manifest": "m"})
    refused_keep(job=job, lines=["file\n"])
    packet = job_ask(kind=JobKind.PACKET, actor=people["lead"], now=NOW, audit=audit)
    packet_keep(job=packet, write=lambda path: path.write_bytes(b"a packet"))
    anchors = anchor_set_make(audit=audit, name="gold", licence="x", actor=people["lead"], now=NOW).pk
    own = {
        "list": [],
        "new": [],
        "preview-new": [],
        "preview": [preview_store(files=files, project=audit.project)],
        "job-cancel": [job.pk],
        "calibration": [],
        "retention": [],
        "anchor-sets": [],
        "anchor-set": [anchors],
        "known-set": [anchors],
        "anchor-file": [anchors, "parquet"],
        "anchor-card": [anchors, "md"],
        "job": [job.pk],
        "job-live": [job.pk],
        "job-refused": [job.pk],
        "job-packet": [packet.pk],
        "plan-chart": [audit.name, PlanChart.objects.get().pk],
        "chart": [audit.name, audit.looks.latest("pk").pk],
        "report": [audit.name, "html"],
        "anchors": [audit.name, "csv"],
        "reviews": [audit.name, "csv"],
    }
    return {
        str(one.name): reverse(f"audits:{one.name}", args=["alpha", *own.get(str(one.name), [audit.name])])
        for one in urlpatterns
    }


def test_each_role_gets_what_it_may_on_every_route(
    watched: Audit, people: People, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    allowed = {"lead": 200, "owner": 200, "reviewer": 403, "adjudicator": 403, "outsider": 404}
    clients = {name: client_of(author) for name, author in people.items()}
    for route, url in addresses(watched, people).items():
        found = {name: client.get(url).status_code for name, client in clients.items()}
        wanted = {name: 405 if code == 200 and route in POSTED else code for name, code in allowed.items()}
        if route in OWNERS_ALONE:
            wanted["lead"] = 403
        assert found == wanted, route


def test_no_role_but_lead_and_owner_can_send_anything(registered: Audit, people: People) -> None:
    for name, code in (("reviewer", 403), ("adjudicator", 403), ("outsider", 404)):
        client = client_of(people[name])
        for path in (
            "audits/new",
            "audits/swap-1/register",
            "audits/swap-1/extend",
            "anchor-sets",
            "audits/swap-1/anchor-sets",
        ):
            assert client.post(f"/p/alpha/{path}").status_code == code, (name, path)


def test_another_projects_lead_finds_neither_audit_nor_job_through_their_own(draft: Audit, people: People) -> None:
    client = client_of(people["outsider"])
    job = job_ask(kind=JobKind.REGISTER, actor=people["lead"], audit=draft, now=NOW)
    assert client.get("/p/beta/audits").status_code == 200
    for path in ("audits/swap-1/", "audits/swap-1/monitor", f"jobs/{job.pk}", f"jobs/{job.pk}/live"):
        assert client.get(f"/p/beta/{path}").status_code == 404, path


def test_stranger_is_led_to_the_sign_in(client: object, draft: Audit) -> None:
    answer = client.get("/p/alpha/audits/swap-1/monitor")  # type: ignore[attr-defined]
    assert (answer.status_code, answer["Location"]) == (302, "/login?next=/p/alpha/audits/swap-1/monitor")
