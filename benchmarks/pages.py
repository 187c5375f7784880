"""How long the lead's pages take to their first byte, and what they weigh, with an audit of 100,000 cases on SQLite.

    python -m benchmarks.pages            # 100,000 cases, a few minutes
    python -m benchmarks.pages --quick    # 2,000 cases

It makes its own database in a temporary folder, serves it with gunicorn as an installation does, and asks for each
page over HTTP. The last line holds the figures: milliseconds to the first byte (median and worst), milliseconds of
processor time for the whole answer, and bytes.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PORT = 8797
ASKED = 15
FULL, QUICK = 100_000, 2_000
SETTLED_SHARE = 0.6
LOOKS = 300
LIMIT_MS, LIMIT_BYTES = 100, 100_000
PAGES = {
    "list": "audits",
    "new": "audits/new",
    "integrity": "audits/big/",
    "transitions": "audits/big/transitions",
    "pairs": "audits/big/pairs",
    "by state": "audits/big/pairs?state=agree&after=60000",
    "one pair": "audits/big/pairs?case=q0333",
    "caches": "audits/big/pairs/caches",
    "readers": "audits/big/pairs/readers?side=candidate&parser=json-label@1",
    "plan": "audits/big/plan",
    "extend": "audits/big/extend",
    "monitor": "audits/big/monitor",
    "live": "audits/big/monitor/live",
    "looks": "audits/big/looks",
    "diagnose": "audits/big/diagnose",
    "verdict": "audits/big/verdict",
    "results": "audits/big/results",
    "report": "audits/big/report.html",
    "anchors": "audits/big/anchors.csv",
}
FILES = {"report", "anchors"}  # downloads: their first byte counts, their weight does not


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} cases instead of {FULL:,}")
    cases = QUICK if parser.parse_args().quick else FULL
    with tempfile.TemporaryDirectory(prefix="tertium-pages-") as folder:
        os.environ |= {"TERTIUM_VAR": folder, "DJANGO_SETTINGS_MODULE": "config.settings", "LOG_LEVEL": "ERROR"}
        import django

        django.setup()
        facts = prepare(Path(folder), cases)
        with served() as (cookie, worker):
            figures = {name: measured(path, cookie, worker) for name, path in PAGES.items()}
    for name, figure in figures.items():
        spent = f"{figure['median_ms']:>7} ms   worst {figure['worst_ms']:>7} ms   cpu {figure['cpu_ms']:>6} ms"
        print(f"{name:<12} {spent}   {figure['bytes']:>9,} bytes")
    slow = [name for name, figure in figures.items() if figure["median_ms"] > LIMIT_MS]
    heavy = [name for name, figure in figures.items() if figure["bytes"] > LIMIT_BYTES and name not in FILES]
    print(json.dumps({"benchmark": "pages", **facts, "slow": slow, "heavy": heavy, "pages": figures}))


def prepare(folder: Path, cases: int) -> dict[str, Any]:
    """One audit, registered, with most of its sample settled and some hundred looks."""
    from django.core.management import call_command
    from django.utils import timezone

    from audits.manifest import load_manifest
    from audits.services.charts import chart_bring_up_to_date
    from audits.services.opening import audit_open
    from audits.services.registering import audit_register
    from audits.synthetic import synthetic_project
    from core.services import operator_at

    call_command("migrate", verbosity=0)
    manifest = synthetic_project(folder / "in", name="big", project="bench", seed="1", number=cases)
    now = timezone.now()
    started = time.monotonic()
    audit = audit_open(manifest=load_manifest(manifest), actor=operator_at(project="bench", now=now), now=now).audit
    opened = time.monotonic() - started
    started = time.monotonic()
    audit_register(audit=audit, actor=operator_at(project="bench", now=now), now=now)
    registered = time.monotonic() - started
    settled = settle(audit)
    chart_bring_up_to_date(audit=audit, now=timezone.now())
    return {
        "cases": cases,
        "drawn": audit.draws.count(),
        "settled": settled,
        "looks": audit.looks.count(),
        "open_s": round(opened, 1),
        "register_s": round(registered, 1),
    }


def settle(audit: Any) -> int:
    """Settle the first part of the sample but for every hundredth case, looking now and then."""
    from django.utils import timezone

    from adjudication.models import SettlementHow
    from adjudication.services.settlements import item_settle
    from audits.services.looks import looks_bring_up_to_date
    from core.services import operator_of

    actor, items = operator_of(audit.project), list(audit.queue.items.order_by("rank"))
    part = [item for place, item in enumerate(items[: int(len(items) * SETTLED_SHARE)], 1) if place % 100]
    for place, item in enumerate(part):
        artifact = item.shown.get().artifact_id
        label = "pass" if item.case_id % 3 else "fail"
        item_settle(item=item, how=SettlementHow.SINGLE, decision={artifact: label}, actor=actor, now=timezone.now())
        if place % max(1, len(part) // LOOKS) == 0:
            looks_bring_up_to_date(audit=audit, clock=timezone.now)
    looks_bring_up_to_date(audit=audit, clock=timezone.now)
    return len(part)


@contextmanager
def served() -> Iterator[tuple[str, int]]:
    """Gunicorn on this database; yields the cookie of a lead who is signed in, and the worker's process."""
    from django.conf import settings
    from django.test import Client

    from core.models import Project, Role
    from core.services import member_add

    lead = member_add(project=Project.objects.get(name="bench"), username="lea", role=Role.LEAD)
    client = Client()
    client.force_login(lead.user)
    command = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", f"127.0.0.1:{PORT}", "--workers", "1"]
    process = subprocess.Popen([*command, "--log-level", "error"])
    try:
        await_server(process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        yield f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}", int(children[0])
    finally:
        process.terminate()
        process.wait(10)


def await_server(process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        try:
            first_byte("/healthz", "")
        except OSError:
            if process.poll() is not None:
                raise RuntimeError("gunicorn ended at once") from None
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("gunicorn did not answer")


def measured(path: str, cookie: str, worker: int) -> dict[str, Any]:
    url = f"/p/bench/{path}"
    first_byte(url, cookie)  # templates are compiled once per process
    times, size, before = [], 0, used(worker)
    for _ in range(ASKED):
        seconds, size = first_byte(url, cookie)
        times.append(seconds * 1000)
    return {
        "median_ms": round(statistics.median(times), 1),
        "worst_ms": round(max(times), 1),
        "cpu_ms": round((used(worker) - before) * 1000 / ASKED, 1),
        "bytes": size,
    }


def used(process: int) -> float:
    """Seconds of processor time so far: what a page costs on a machine that has other work too."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first_byte(url: str, cookie: str) -> tuple[float, int]:
    """Seconds until the answer begins, and the length of its body."""
    line = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    try:
        started = time.perf_counter()
        line.request("GET", url, headers={"Cookie": cookie})
        answer = line.getresponse()
        begun = answer.read(1)
        seconds = time.perf_counter() - started
        if answer.status != http.client.OK:
            raise RuntimeError(f"{url} answered {answer.status}")
        return seconds, len(begun) + len(answer.read())
    finally:
        line.close()


if __name__ == "__main__":
    main()
