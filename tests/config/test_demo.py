"""`make demo`: the main job from a manifest to a packet, with a real worker, by the command that the README names."""

import io
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.core.management import call_command
from django.db import connections

from tests.services import database_url

STEPS = ["manifest", "intake", "integrity", "comparison", "plan", "draw", "reviews", "settlements", "looks", "anchors"]


def test_main_job_is_one_line_for_each_step_and_the_interval_last(
    celery_broker: Celery,
    broker: str,
    transactional_db: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url(connections["default"].settings_dict))
    monkeypatch.setenv("REDIS_URL", broker)
    settings.VAR_DIR = tmp_path
    said = io.StringIO()
    call_command("demo", folder=tmp_path / "demo", stdout=said)

    lines = dict(line.split(maxsplit=1) for line in said.getvalue().splitlines())
    assert list(lines) == [*STEPS, "report", "packet", "result"]
    assert lines["settlements"] == "121 of 121 drawn cases settled"
    assert int(lines["looks"].split()[0]) >= 10  # the interval is seen moving, however slow the worker
    assert lines["packet"].endswith(" values, 0 differ")
    assert lines["result"].startswith("+3.1 points (+1.0 to +5.0), 95 % level, n = 91 labels for 796 cases, monitored")
    made = {file.name for file in (tmp_path / "demo").iterdir() if file.is_file()}
    assert made == {"anchors.csv", "packet.zip", "pool.csv", "report.html", "report.json"}
