"""The handoff packet from the lead's page: asked for, made by a worker, downloaded, and checked."""

import os
from pathlib import Path

import pytest
from django.test import Client

from audits.models import Audit, Job, JobKind, JobState
from audits.packets.checking import packet_check
from audits.services.uploads import KEPT, kept_files_sweep, packet_path
from audits.services.working import job_run
from tests.audits.views.conftest import NOW, Page

pytestmark = pytest.mark.django_db


def asked(lead: Client) -> Job:
    answer = lead.post("/p/alpha/audits/swap-1/packet")
    job = Job.objects.latest("pk")
    assert (answer.status_code, answer["Location"]) == (302, f"/p/alpha/jobs/{job.pk}")
    return job


def test_packet_is_made_by_a_worker_and_every_number_of_it_holds(
    watched: Audit, lead: Client, read: Page, tmp_path: Path
) -> None:
    job = asked(lead)
    assert "Waiting for a worker." in read(f"jobs/{job.pk}")
    assert lead.get(f"/p/alpha/jobs/{job.pk}/packet.zip").status_code == 404
    job_run(job=job.pk, clock=lambda: NOW)
    job.refresh_from_db()
    assert (job.kind, job.state, job.audit) == (JobKind.PACKET, JobState.DONE, watched)
    assert f'href="/p/alpha/jobs/{job.pk}/packet.zip" download>Download packet.zip' in read(f"jobs/{job.pk}")
    assert f'href="/p/alpha/jobs/{job.pk}/packet.zip" download>packet.zip of 2026-03-01 09:00 UTC' in read(
        "audits/swap-1/results"
    )
    answer = lead.get(f"/p/alpha/jobs/{job.pk}/packet.zip")
    assert answer["Content-Disposition"] == 'attachment; filename="swap-1-packet.zip"'
    path = tmp_path / "downloaded.zip"
    path.write_bytes(b"".join(answer))
    assert path.stat().st_size == int(answer["Content-Length"])
    assert [check.name for check in packet_check(path) if not check.passed] == []


def test_progress_says_which_table_is_written(watched: Audit, lead: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("audits.services.jobs.JobProgress._say", lambda self, words, *_: said.append(words))
    job_run(job=asked(lead).pk, clock=lambda: NOW)
    assert "cases.csv: 121 of 121 rows" in said  # 120 cases and the header
    assert said[-1].startswith("frame.csv, then what people said: ")


def test_packet_that_breaks_leaves_nothing_to_download(
    watched: Audit, lead: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr("audits.services.working.packet_write", broken)
    job = asked(lead)
    job_run(job=job.pk, clock=lambda: NOW)
    job.refresh_from_db()
    assert job.state == JobState.BROKEN
    assert list(packet_path(job).parent.iterdir()) == []


def test_packet_is_kept_for_a_month(watched: Audit, lead: Client) -> None:
    first = asked(lead)
    job_run(job=first.pk, clock=lambda: NOW)
    os.utime(packet_path(first), times=(NOW.timestamp() - KEPT - 1,) * 2)
    second = asked(lead)
    job_run(job=second.pk, clock=lambda: NOW)
    os.utime(packet_path(second), times=(NOW.timestamp() - KEPT + 60,) * 2)
    kept_files_sweep(now=NOW)
    assert (packet_path(first).is_file(), packet_path(second).is_file()) == (False, True)


def test_packet_of_a_draft_is_refused_in_the_words_of_the_command(draft: Audit, lead: Client, read: Page) -> None:
    answer = lead.post("/p/alpha/audits/swap-1/packet")
    assert answer.status_code == 409
    assert "the plan of swap-1 is still a draft; allowed: register swap-1 first" in answer.content.decode()
    assert "Make the packet" not in read("audits/swap-1/results")
    assert not Job.objects.exists()
