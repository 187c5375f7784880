"""The walk-through of docs/api.md, line by line, against a real server."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from audits.models import Audit, Look
from audits.services.jobs import jobs_unattended
from audits.services.looks import looks_bring_up_to_date
from audits.services.working import job_run
from audits.synthetic import synthetic_project
from core.models import Scope, StoredAnswer
from tests import factories

TEXT = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
SCOPES = (Scope.INTAKE, Scope.AUDITS_READ, Scope.AUDITS_WRITE, Scope.EXPORTS_READ)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="needs curl and jq")
def test_walk_through_works_as_it_stands(live_server: LiveServer, tmp_path: Path, settings: Any) -> None:
    settings.VAR_DIR = tmp_path / "var"
    path = synthetic_project(tmp_path / "night", name="swap-1", project="p", seed="5", number=40)
    path.rename(path.with_name("audit.yaml"))
    key = factories.make_token(factories.make_project(), *SCOPES).key
    environment = {"TERTIUM": live_server.url, "PROJECT": "p", "KEY": key, "PATH": "/usr/bin:/bin"}
    said = ""
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL):
        said += block
        # All that came before is asked again, as somebody does who starts anew: keys make it one intake, one register.
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", said],
            cwd=path.parent,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        for job in jobs_unattended(now=timezone.now()):
            job_run(job=job, clock=timezone.now)
        _label_everything()
    assert (Audit.objects.count(), StoredAnswer.objects.count(), Look.objects.count()) == (1, 2, 1)
    assert len((path.parent / "anchors.csv").read_text().splitlines()) == 1 + Look.objects.get().watermark


def _label_everything() -> None:
    for audit in Audit.objects.filter(state="registered", looks=None):
        for case in audit.queue.items.values_list("case__case_id", flat=True):
            factories.settle(audit.queue, case)
        looks_bring_up_to_date(audit=audit, clock=timezone.now)


def test_every_scope_and_status_is_documented() -> None:
    assert {scope for scope in Scope.values if f"| `{scope}` |" not in TEXT} == set()
    assert {status for status in (400, 401, 403, 404, 405, 409, 413, 415, 422, 429) if str(status) not in TEXT} == set()
