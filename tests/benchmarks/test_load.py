"""The default installation with everything at once; `python -m benchmarks.load --sqlite` does it for two minutes."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections

from benchmarks.load import Crowd, embedded, load, prepare
from tests.services import database_url


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="about the database of the default installation")
def test_what_people_were_told_is_stored_though_an_intake_and_an_export_run_beside_them(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BEHAVIOUR 44."""
    settings.VAR_DIR = tmp_path
    monkeypatch.setenv("TERTIUM_VAR", str(tmp_path))
    monkeypatch.setenv("DATABASE_URL", database_url(connections["default"].settings_dict))
    sessions = prepare(tmp_path, reviewers=20, leads=3, cases=200)
    with embedded(tmp_path) as roots:
        asked = Namespace(seconds=300, think=0, most=4, leads=2, rows=800)
        figures = load(Crowd(roots["web"][0], "http://localhost", sessions), roots, tmp_path, asked)
        logs = [(tmp_path / f"{name}.log").read_text() for name in ("web", "worker")]
    assert figures["acknowledged"] == figures["stored"] == 20 * 3  # the first request opens the desk
    assert (figures["lost"], figures["doubled"], figures["errors"]) == (0, 0, {})
    assert (figures["intake"]["state"], figures["export"]["n"] > 0) == ("done", True)
    assert not any("locked" in log for log in logs)
