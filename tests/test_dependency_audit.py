"""`make audit`, against an advisory database of our own: the real one has another answer every day."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT, UV = Path(__file__).parents[1], Path(sys.prefix) / "bin" / "uv"
# As https://api.osv.dev answers for it: the name that tools show first is none of those that people know.
JINJA = ("jinja2", "2.10", "PYSEC-2019-217", "CVE-2019-10906")
PLANTED = ("planted", "1.0", "PYSEC-2026-1", "CVE-2026-1")
SOUND = "sound==2.0 --hash=sha256:" + "0" * 64


class Advisories(BaseHTTPRequestHandler):
    known: tuple[tuple[str, str, str, str], ...] = ()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        this = asked["package"]["name"], asked["version"]
        found = [
            {
                "id": "GHSA-0000-0000-0000",
                "aliases": [cve, pysec],
                "summary": "bad",
                "affected": [{"package": {"name": name, "ecosystem": "PyPI"}}],
            }
            for name, version, pysec, cve in self.known
            if (name, version) == this
        ]
        body = json.dumps({"vulns": found} if found else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Advisories) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module", autouse=True)
def _tool() -> None:
    said = [word for word in (ROOT / "bin" / "audit").read_text().split() if word.startswith("pip-audit==")]
    got = subprocess.run([UV, "tool", "run", "--from", said[0], "pip-audit", "--version"], capture_output=True)
    if got.returncode:
        pytest.skip("pip-audit cannot be had here: it is fetched when the dependencies are audited")


def audited(folder: Path, database: str, lock: str) -> subprocess.CompletedProcess[str]:
    """Run the script over two locks, the first of which is sound."""
    (folder / "bin").mkdir()
    shutil.copy(ROOT / "bin" / "audit", folder / "bin")
    (folder / "requirements.txt").write_text(f"{SOUND}\n")
    (folder / "requirements-dev.txt").write_text(f"{lock}\n")
    environment = os.environ | {"PIP_AUDIT_VULNERABILITY_SERVICE": "osv", "PIP_AUDIT_OSV_URL": database, "UV": str(UV)}
    return subprocess.run([folder / "bin" / "audit"], env=environment, capture_output=True, text=True)


def test_sound_packages_pass_where_the_database_knows_what_is_bad(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Advisories, "known", (JINJA,))
    done = audited(tmp_path, database, SOUND)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "No known vulnerabilities found"


def test_planted_advisory_is_named_and_fails(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Advisories, "known", (JINJA, PLANTED))
    done = audited(tmp_path, database, f"planted==1.0 --hash=sha256:{'1' * 64}")
    assert (done.returncode, "CVE-2026-1" in done.stdout) == (1, True), done.stderr


@pytest.mark.parametrize("away", [False, True])
def test_database_that_knows_nothing_or_is_away_audits_nothing_and_says_so(
    tmp_path: Path, database: str, away: bool
) -> None:
    done = audited(tmp_path, "http://127.0.0.1:9/" if away else database, SOUND)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("would say nothing: nothing was audited.")
