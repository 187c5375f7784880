"""What the web process must never pay for: the mathematics and the charts are the worker's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connections

from audits.models import Audit
from tests.audits.views.conftest import People
from tests.services import database_url

ROOT = Path(__file__).resolve().parents[3]
PATHS = (
    "",
    "transitions",
    "plan",
    "extend",
    "monitor",
    "monitor/live",
    "looks",
    "diagnose",
    "verdict",
    "results",
)
FILES = ("report.html", "report.json", "anchors.csv")
ASK = """
import sys, django
django.setup()
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client
settings.ALLOWED_HOSTS = ["testserver"]
client = Client()
client.force_login(get_user_model().objects.get(username="lead-1"))
for path in sys.argv[1:]:
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    b"".join(answer) if answer.streaming else answer.content
print(*sorted({"scipy", "altair", "vl_convert", "pandas", "statsmodels"} & set(sys.modules)))
"""


@pytest.mark.django_db(transaction=True)
def test_no_page_loads_the_mathematics_or_the_charts(watched: Audit, people: People, tmp_path: Path) -> None:
    paths = ["audits", "audits/new", "calibration", *(f"audits/swap-1/{path}" for path in (*PATHS, *FILES))]
    environment = {
        "PATH": os.environ["PATH"],
        "TERTIUM_VAR": str(tmp_path),
        "DATABASE_URL": database_url(connections["default"].settings_dict),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    command = [sys.executable, "-c", ASK, *(f"/p/alpha/{path}" for path in paths)]
    asked = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (asked.returncode, asked.stdout.strip()) == (0, ""), asked.stderr
