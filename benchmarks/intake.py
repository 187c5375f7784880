"""What an intake costs beside the least that any could do, on SQLite and on PostgreSQL.

    python -m benchmarks.intake --quick                    10,000 judgments, a few minutes
    python -m benchmarks.intake                            1,000,000 judgments of 1 kB
    python -m benchmarks.intake --database sqlite          on one of the two
    python -m benchmarks.intake --growth                   5,000 judgments behind 0, 50,000 and 500,000 stored ones

The intake is `audit_open` over a manifest: half as many cases as judgments, an answer for each, two judges. Loading
is its part from the files to stored rows, texts and readings; what follows, up to the draft audit, counts the pairs and
sizes the plan. The floor of loading, in the same run and over the same content, is to parse the rows with orjson and
to COPY them into bare tables (SQLite: executemany, in transactions of the size that the intake has), without a check,
a hash, an index or a reading. It runs before the intake and after it, and the mean of the two counts. Each runs in a
process of its own, whose greatest memory so far is taken.

With `--growth` it is asked instead whether the time for each row grows with what is stored: the same small intake is
loaded behind none and behind many (`--quick`: a hundredth of them).
Seconds by the clock, and in brackets of this process's own time: on a shared machine that says more, though a
database server's share is not in it. The last line holds the figures and ratios.
"""

import argparse
import contextlib
import importlib
import json
import multiprocessing
import os
import random
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

FULL, QUICK = 1_000_000, 10_000
SMALL, BEFORE = 5_000, (0, 50_000, 500_000)
CHUNK = 2000
REPLY_BYTES = 1000
MEMORY_MIB, TIMES = 512, 5
COLUMNS = {
    "cases": "case_id, question, answer",
    "baseline": "case_id, grade, reply",
    "candidate": "case_id, grade, reply",
}
WORDS = "it is a question of what the answer says and whether a source that was given to the judge bears it out"
MANIFEST = """\
migration_id: {name}
project: bench
case_set: {{name: {name}, version: "1"}}
kind: judge_swap
rubric:
  name: right
  version: "1"
  guideline: guideline.md
  scale: [{{label: fail, value: "0"}}, {{label: pass, value: "1"}}]
judges:
  baseline:
    {{system_version: v1, generator: {{model: small}}, reader: {{parser: exact-label@1, mapping: grades@1}}}}
  candidate:
    {{system_version: v1, generator: {{model: large}}, reader: {{parser: exact-label@1, mapping: grades@1}}}}
mappings:
  grades@1: {{approved_by: owner, table: {{"3": pass, "2": pass, "1": fail, "0": fail}}}}
sources:
  - {{file: cases.jsonl, roles: {{case_id: case_id, input: question, output: answer}}}}
  - {{file: baseline.jsonl, judgments_of: baseline, join: case_id, roles: {{label: grade, raw: reply}}}}
  - {{file: candidate.jsonl, judgments_of: candidate, join: case_id, roles: {{label: grade, raw: reply}}}}
plan: {{estimand: accuracy_difference, target: pool, level: "0.95", half_width: "0.05", policy: planned, seed: "1"}}
"""
Part = tuple[float, float, float]  # seconds, own seconds, MiB
Mark = Callable[[], None]
Work = Callable[[Path, Mark], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=int, default=FULL)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} judgments")
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--growth", action="store_true", help="time for each row behind many stored ones")
    options = parser.parse_args()
    judgments = QUICK if options.quick else options.judgments
    databases = ["sqlite", "postgresql"] if options.database == "both" else [options.database]
    figures: dict[str, Any] = {"benchmark": "intake", "judgments": SMALL if options.growth else judgments}
    with tempfile.TemporaryDirectory(prefix="tertium-intake-") as name:
        folder = Path(name)
        if options.growth:
            before = [number // 100 if options.quick else number for number in BEFORE]
            figures |= {database: grown(database, folder / database, before) for database in databases}
        else:
            files = written(folder / "large", "large", judgments // 2)
            figures |= {database: compared(database, folder, files, judgments) for database in databases}
    print(json.dumps(figures))


def compared(database: str, folder: Path, files: Path, judgments: int) -> dict[str, Any]:
    # Before and after: a machine that others use too is not as fast at all times.
    (before,) = in_its_own_process(database, folder / "before", [(floor_taken, files)])[0]
    loaded, whole = in_its_own_process(database, folder / "intake", [(taken_in, files)])[0]
    (after,) = in_its_own_process(database, folder / "after", [(floor_taken, files)])[0]
    floor = ((before[0] + after[0]) / 2, (before[1] + after[1]) / 2, max(before[2], after[2]))
    ratio, own = loaded[0] / floor[0], loaded[1] / floor[1]
    print(f"{database}: {judgments:,} judgments")
    print(f"  floor    {shown(before)} before, {shown(after)} after")
    print(f"  loading  {shown(loaded)}, {loaded[2]:.0f} MiB (wanted: at most {MEMORY_MIB})")
    print(f"  {ratio:.1f} times the floor, by own time {own:.1f} (wanted: at most {TIMES})")
    print(f"  whole    {shown(whole)}, {whole[2]:.0f} MiB", flush=True)
    return {
        "floor_s": round(floor[0], 1),
        "loading_s": round(loaded[0], 1),
        "ratio": round(ratio, 2),
        "ratio_own_time": round(own, 2),
        "loading_mib": round(loaded[2]),
        "whole_s": round(whole[0], 1),
        "whole_mib": round(whole[2]),
    }


def grown(database: str, folder: Path, before: list[int]) -> dict[str, Any]:
    # What a process does for the first time belongs to none of them.
    steps, stored = [("warm", 100)], 0
    for number in before:
        if number > stored:
            steps.append((f"before-{number}", number - stored))
        steps.append((f"small-{number}", SMALL))
        stored = max(stored, number) + SMALL
    parts = [(taken_in, written(folder / name, name, number // 2)) for name, number in steps]
    marks = in_its_own_process(database, folder / "growth", parts)
    loaded = [mark[0] for (name, _), mark in zip(steps, marks, strict=True) if name.startswith("small")]
    print(f"{database}: {SMALL:,} judgments")
    for number, part in zip(before, loaded, strict=True):
        print(
            f"  behind {number:>9,}: {shown(part)}, by own time {part[1] / loaded[0][1]:.2f} times the first",
            flush=True,
        )
    return {
        "behind": before,
        "loading_s": [round(part[0], 2) for part in loaded],
        "loading_own_s": [round(part[1], 2) for part in loaded],
    }


def shown(part: Part) -> str:
    return f"{part[0]:7.1f} s ({part[1]:.1f} s)"


def written(folder: Path, name: str, cases: int) -> Path:
    """The files of one intake, which the floor reads too."""
    folder.mkdir(parents=True)
    (folder / "manifest.yaml").write_text(MANIFEST.format(name=name))
    (folder / "guideline.md").write_text("Is it right?")
    chance = random.Random(name)
    ids = [f"{name}-{number:07d}" for number in range(cases)]
    with table(folder / "cases", ["case_id", "question", "answer"]) as add:
        for case in ids:
            add([case, f"question {case}?", prose(chance, case, 200)])
    for side in ("baseline", "candidate"):
        with table(folder / side, ["case_id", "grade", "reply"]) as add:
            for case in ids:
                add([case, chance.choice("0123"), prose(chance, f"{side} {case}", REPLY_BYTES)])
    return folder


@contextlib.contextmanager
def table(path: Path, names: list[str]) -> Iterator[Callable[[list[str]], None]]:
    with path.with_suffix(".jsonl").open("w", encoding="utf-8") as lines:
        yield lambda row: print(json.dumps(dict(zip(names, row, strict=True))), file=lines)


PROSE = " ".join(random.Random(1).choices(WORDS.split(), k=200_000))


def prose(chance: random.Random, start: str, length: int) -> str:
    place = chance.randrange(len(PROSE) - length)
    return f"{start} {PROSE[place : place + length - len(start) - 1]}"


def in_its_own_process(database: str, folder: Path, parts: list[tuple[Work, Path]]) -> list[list[Part]]:
    """Do the parts one after the other on a new database, in one new process: what each marked, its end last."""
    folder = folder / database
    folder.mkdir(parents=True)
    with server(database) as url, multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (url, folder, parts))


def server(database: str) -> contextlib.AbstractContextManager[str]:
    if database == "sqlite":
        return contextlib.nullcontext("")
    from tests.services import temporary_postgres

    return temporary_postgres()


def measured(url: str, folder: Path, parts: list[tuple[Work, Path]]) -> list[list[Part]]:
    os.environ |= {"DATABASE_URL": url, "TERTIUM_VAR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    # What a process imports at its first intake, or for its floor, belongs to none of them.
    for module in ("orjson", "audits.manifest", "audits.services.opening", "core.services"):
        importlib.import_module(module)
    return [marks_of(work, files) for work, files in parts]


def marks_of(work: Work, files: Path) -> list[Part]:
    started, used = time.perf_counter(), time.process_time()
    marks: list[Part] = []

    def mark() -> None:
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        marks.append((time.perf_counter() - started, time.process_time() - used, memory))

    work(files, mark)
    mark()
    return marks


def taken_in(files: Path, mark: Mark) -> None:
    """Marks when all is loaded."""
    from django.utils import timezone

    from audits.manifest import load_manifest
    from audits.services.opening import audit_open
    from core.services import operator_at

    def progress(what: str, rows: Iterator[Any], expected: int | None = None, meter: Any = None) -> Iterator[Any]:
        if what == "counting pairs":
            mark()
        return rows

    now = timezone.now()
    manifest, actor = load_manifest(files / "manifest.yaml"), operator_at(project="bench", now=now)
    opened = audit_open(manifest=manifest, actor=actor, now=now, progress=progress)
    assert opened.integrity["eligible"] == opened.integrity["cases"]


def floor_taken(files: Path, mark: Mark) -> None:
    from django.db import connection

    for name, columns in COLUMNS.items():
        with connection.cursor() as cursor:
            key = "integer PRIMARY KEY" if connection.vendor == "sqlite" else "bigserial PRIMARY KEY"
            declared = ", ".join(f"{column} text" for column in columns.split(", "))
            cursor.execute(f"CREATE TABLE floor_{name} (id {key}, {declared})")
        rows = parsed(files / f"{name}.jsonl")
        if connection.vendor == "sqlite":
            executed(connection.connection, f"floor_{name} ({columns})", rows)
        else:
            copied(connection.connection, f"floor_{name} ({columns})", rows)


def parsed(path: Path) -> Iterator[tuple[str, ...]]:
    import orjson

    with path.open("rb") as lines:
        for line in lines:
            yield tuple(orjson.loads(line).values())


def executed(line: sqlite3.Connection, target: str, rows: Iterator[tuple[str, ...]]) -> None:
    marks = ", ".join("?" * (target.count(",") + 1))
    while chunk := list(islice(rows, CHUNK)):
        line.execute("BEGIN IMMEDIATE")
        line.executemany(f"INSERT INTO {target} VALUES ({marks})", chunk)
        line.execute("COMMIT")


def copied(line: Any, target: str, rows: Iterator[tuple[str, ...]]) -> None:
    with line.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


if __name__ == "__main__":
    main()
