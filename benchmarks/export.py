"""How fast every export of an audit writes its reviewed cases, and in how much memory, on SQLite.

    python -m benchmarks.export            # 100,000 reviewed cases
    python -m benchmarks.export --quick    # 2,000; or --cases N

Every case is drawn, reviewed and settled; a fifth is answered twice. `set made` makes a version of an anchor set, the
other `set`s are its files. The report and the packet take some 2 s for libraries and charts whatever the number of
cases is: with few of them that is most of it. Each export runs in a process of its own, whose
greatest memory is taken beside that of one that only opens the audit. The floor, in the same way, is a bare
`csv.writer` loop over rows that are in memory already: as many, of as many columns and bytes as `anchors.csv` has.
Seconds by the clock and of the process's own time: on a shared machine the latter says more. The last line holds the
figures, and which exports are below 5,000 cases a second of own time, or above 256 MiB.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FULL, QUICK = 100_000, 2_000
CHUNK = 2000
TWICE = 5  # every so many cases have two answers
CASES_A_SECOND, MEMORY_MIB = 5_000, 256
COLUMNS, CELL = 22, 18  # of a row of anchors.csv: so many cells, of so many characters on average
RATIONALE = "The number given is the one that the question asks for."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} cases instead of {FULL:,}")
    parser.add_argument("--cases", type=int, default=FULL)
    parser.add_argument("--one", help=argparse.SUPPRESS)  # what the process of one export is started with
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one)))
        return
    cases = QUICK if options.quick else options.cases
    with tempfile.TemporaryDirectory(prefix="tertium-export-") as folder:
        environment = os.environ | {"TERTIUM_VAR": folder, "DJANGO_SETTINGS_MODULE": "config.settings"}
        os.environ |= environment | {"LOG_LEVEL": "ERROR"}
        import django

        django.setup()
        prepare(Path(folder), cases)
        figures = {name: in_a_process(name, cases) for name in ("nothing", "floor", *EXPORTS)}
    for name, one in figures.items():
        rate = f"{one['a_second']:>9,} cases a second, {one['floors']:>5} floors" if name in EXPORTS else ""
        print(f"{name:<14} {one['seconds']:>7} s  own {one['own']:>7} s  {one['mib']:>5} MiB  {rate}")
    slow = [name for name in EXPORTS if figures[name]["a_second"] < CASES_A_SECOND]
    large = [name for name in EXPORTS if figures[name]["mib"] > MEMORY_MIB]
    print(json.dumps({"benchmark": "export", "cases": cases, "slow": slow, "large": large, "exports": figures}))


FLOOR: dict[str, float] = {}


def in_a_process(name: str, cases: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.export", "--one", f"{name}:{cases}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    figure: dict[str, Any] = json.loads(said.splitlines()[-1])
    if name == "floor":
        FLOOR["own"] = figure["own"]
    floors = round(figure["own"] / FLOOR["own"], 1) if FLOOR else 0.0
    return figure | {"a_second": round(cases / figure["own"]) if figure["own"] else 0, "floors": floors}


def measured(asked: str) -> dict[str, Any]:
    """In the process of one export: seconds by the clock, of its own time, and its greatest memory."""
    name, _, cases = asked.partition(":")
    import django

    django.setup()
    from audits.selectors import audit_find

    audit, folder = audit_find("big"), Path(os.environ["TERTIUM_VAR"])
    floor = [[f"{'x' * CELL}" for _ in range(COLUMNS)] for _ in range(int(cases))] if name == "floor" else []
    begun, spent = time.perf_counter(), time.process_time()
    if name == "floor":
        with (folder / "floor.csv").open("w", newline="", encoding="utf-8") as file:
            write = csv.writer(file).writerow
            for row in floor:
                write(row)
    elif name in EXPORTS:
        EXPORTS[name](audit, folder / f"out-{name}")
    return {
        "seconds": round(time.perf_counter() - begun, 2),
        "own": round(time.process_time() - spent, 3),
        "mib": peak(),
    }


def peak() -> int:
    """The greatest memory of this process. `ru_maxrss` would count what its parent had when it was started."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


def _anchors(kind: str) -> Callable[[Any, Path], None]:
    def write(audit: Any, path: Path) -> None:
        from audits.exports.anchors import anchors_write

        anchors_write(audit, path, kind)

    return write


def _reviews(kind: str) -> Callable[[Any, Path], None]:
    def write(audit: Any, path: Path) -> None:
        from audits.exports.reviews import review_lines
        from audits.exports.tables import lines_write

        lines_write(path, kind, review_lines(audit, kind))

    return write


def _pool(audit: Any, path: Path) -> None:
    from audits.exports.pool import pool_write

    pool_write(audit, path)


def _sample(audit: Any, path: Path) -> None:
    from audits.exports.sample import sample_write

    sample_write(audit, path)


def _set(kind: str) -> Callable[[Any, Path], None]:
    def write(audit: Any, path: Path) -> None:
        from audits.exports.anchorfiles import set_write

        set_write(audit.anchor_sets.get(version=1), path, kind)

    return write


def _set_made(audit: Any, path: Path) -> None:
    """The next version, and what differs from the one before."""
    from django.utils import timezone

    from audits.services.anchorsets import anchor_set_make
    from core.services import operator_of

    now, actor = timezone.now(), operator_of(audit.project)
    anchor_set_make(audit=audit, name="gold", licence="another", actor=actor, now=now)


def _report(audit: Any, path: Path) -> None:
    from django.utils import timezone

    from audits.exports.report import report_write

    report_write(audit, path, timezone.now())


def _packet(audit: Any, path: Path) -> None:
    from django.utils import timezone

    from audits.packets.making import packet_write
    from core.services import operator_of

    packet_write(audit=audit, path=path, actor=operator_of(audit.project), now=timezone.now())


EXPORTS: dict[str, Callable[[Any, Path], None]] = {
    "anchors.csv": _anchors("csv"),
    "anchors.jsonl": _anchors("jsonl"),
    "reviews.csv": _reviews("csv"),
    "reviews.jsonl": _reviews("jsonl"),
    "pool.csv": _pool,
    "sample.csv": _sample,
    "set made": _set_made,
    "set.csv": _set("csv"),
    "set.jsonl": _set("jsonl"),
    "set.parquet": _set("parquet"),
    "report": _report,
    "packet.zip": _packet,
}


def prepare(folder: Path, cases: int) -> None:
    """An audit that draws every case, with its answers and decisions written as the services would leave them."""
    from django.core.management import call_command
    from django.utils import timezone

    from audits.manifest import load_manifest
    from audits.services.anchorsets import anchor_set_make
    from audits.services.looks import looks_bring_up_to_date
    from audits.services.opening import audit_open
    from audits.services.registering import audit_register
    from audits.synthetic import synthetic_project
    from core.services import operator_at

    call_command("migrate", verbosity=0)
    manifest = synthetic_project(folder / "in", name="big", project="bench", seed="1", number=cases)
    fixed = manifest.read_text().replace('  half_width: "0.02"\n  policy: monitored', "  policy: planned")
    manifest.write_text(fixed.replace("{disagree: optimal,", "{disagree: all, agree: all,"))
    now = timezone.now()
    actor = operator_at(project="bench", now=now)
    audit = audit_open(manifest=load_manifest(manifest), actor=actor, now=now).audit
    audit_register(audit=audit, actor=actor, now=now)
    answered(audit, now)
    looks_bring_up_to_date(audit=audit, clock=timezone.now)
    anchor_set_make(audit=audit, name="gold", licence="one", actor=actor, now=now)


def answered(audit: Any, now: Any) -> None:
    """In chunks of rows: 100,000 answers through the services would take an hour, and leave the same rows."""
    from django.db import transaction

    from adjudication.models import Item, Label, Queue, Reference, Review, ReviewReason, Settlement
    from core.models import Role
    from core.services import member_add

    people = [member_add(project=audit.project, username=name, role=Role.REVIEWER) for name in ("ann", "ben")]
    shown = audit.queue.items.order_by("rank").values_list("pk", "shown__artifact")
    for number, chunk in enumerate(_chunks(shown.iterator(CHUNK))):
        first = number * CHUNK
        with transaction.atomic():
            given = [
                (item, artifact, person, "pass" if item % 3 else "fail")
                for item, artifact in chunk
                for person in people[: 2 if item % TWICE == 0 else 1]
            ]
            reviews = Review.objects.bulk_create(
                Review(item_id=item, author=person, rationale=RATIONALE, seconds=40, at=now)
                for item, _, person, _ in given
            )
            Label.objects.bulk_create(
                Label(review=review, artifact_id=artifact, label=label)
                for review, (_, artifact, _, label) in zip(reviews, given, strict=True)
            )
            ReviewReason.objects.bulk_create(
                ReviewReason(review=review, code="rubric boundary") for review in reviews[:: TWICE * 2]
            )
            settled = Settlement.objects.bulk_create(
                Settlement(
                    item_id=item,
                    queue=audit.queue,
                    number=first + place,
                    how="unanimous" if item % TWICE == 0 else "single",
                    actor=people[0],
                    at=now,
                )
                for place, (item, _) in enumerate(chunk, 1)
            )
            Reference.objects.bulk_create(
                Reference(settlement=one, artifact_id=artifact, label="pass" if item % 3 else "fail")
                for one, (item, artifact) in zip(settled, chunk, strict=True)
            )
            Item.objects.filter(pk__in=[item for item, _ in chunk]).update(state="settled")
            Queue.objects.filter(pk=audit.queue_id).update(settled=first + len(chunk))


def _chunks(rows: Iterator[Any]) -> Iterator[list[Any]]:
    chunk: list[Any] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


if __name__ == "__main__":
    main()
