"""Do the main job once on a small synthetic project: from a manifest to anchors, a report and a packet that is checked.

Simulated reviewers answer; a real worker computes the looks while they do.
"""

import os
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from audits.exports.anchors import anchors_write
from audits.exports.report import report_write
from audits.exports.wording import conclusion, interval_words
from audits.manifest import load_manifest
from audits.models import Audit
from audits.packets.checking import packet_check
from audits.packets.making import packet_write
from audits.plans import target_half_width
from audits.progress import progress_of
from audits.selectors import last_look, looks_of
from audits.services.opening import audit_open
from audits.services.playing import ANSWERS_BETWEEN_LOOKS, PROJECT, audit_play, looks_await, next_audit_name
from audits.services.registering import audit_register
from audits.synthetic import synthetic_project
from config import env
from config.embedded import embedded_broker, embedded_worker, stopping_in_order
from core.commands import Command as Base
from core.commands import Result
from core.services import operator_at, operator_of
from judges.summaries import summary_of

SEED = "2026"


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--folder", type=Path, default=settings.VAR_DIR / "demo", help="where its files go (default: var/demo)"
        )

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        folder: Path = options["folder"]
        result: Result = {}
        for step, text, facts in steps(folder):
            result[step] = facts
            if not options["json"]:
                self.stdout.write(f"{step:<12} {text}")
                self.stdout.flush()
        return result, list, True


def steps(folder: Path) -> Iterator[tuple[str, str, Result]]:
    """Each step of the main job: its name, what it did in one line, and the same as plain values."""
    path = synthetic_project(folder / "input", name=next_audit_name(), project=PROJECT, seed=SEED)
    yield "manifest", f"{_near(path)} with its files, made from seed {SEED}", {"file": str(path)}

    now = timezone.now()
    opened = audit_open(manifest=load_manifest(path), actor=operator_at(project=PROJECT, now=now), now=now)
    audit, taken = opened.audit, [reading.loaded for reading in opened.files]
    created, there = sum(loaded.created for loaded in taken), sum(loaded.duplicate for loaded in taken)
    yield "intake", f"{created} rows stored, {there} there already", {"created": created, "duplicate": there}

    integrity = opened.integrity
    faults = ", ".join(f"{number} {state}" for state, number in integrity["pairs"].items() if number)
    yield "integrity", f"{integrity['eligible']} of {integrity['cases']} cases eligible: {faults}", integrity

    moves = summary_of(audit.comparison).transitions
    changed = f"{moves['all']['changed']} of {moves['all']['pairs']} verdicts changed"
    yield "comparison", f"{changed}, {len(moves['blocking_changes'])} of them in the blocking slice risk=high", moves

    plan, half_width = audit.plan, target_half_width(audit.plan)
    drawn = audit_register(audit=audit, actor=operator_of(audit.project), now=timezone.now())
    registration = drawn.registration
    goal = f"{plan['estimand']} to ±{half_width} at level {plan['level']}, {plan['policy']}"
    yield "plan", f"registered: {goal}; frame {registration.frame_hash[:12]}", {"frame_hash": registration.frame_hash}

    strata = ", ".join(f"{number} {stratum}" for stratum, number in sorted(registration.labels.items()))
    yield "draw", f"{sum(registration.labels.values())} cases: {strata}", {"labels": registration.labels}

    yield from _review_and_look(audit)

    counts = anchors_write(audit, folder / "anchors.csv", "csv")
    none = counts["underspecified_items_without_anchor"]
    yield "anchors", f"{counts['anchors']} in {_near(counts['file'])}; {none} underspecified cases have none", counts

    written = report_write(audit, folder, timezone.now())
    yield "report", ", ".join(_near(file) for file in written["files"]), {"files": written["files"]}

    packet = packet_write(audit=audit, path=folder / "packet.zip", actor=operator_of(audit.project), now=timezone.now())
    checks = list(packet_check(Path(packet["file"])))
    compared, different = (sum(getattr(one, name) for one in checks) for name in ("compared", "different"))
    said = f"{_near(packet['file'])}; computed again from it alone: {compared:,} values, {different:,} differ"
    yield "packet", said, packet | {"compared": compared, "different": different}

    look = last_look(audit)
    assert look is not None
    said = conclusion(look.result, half_width=half_width)
    yield "result", f"{interval_words(look.result)}. {said}", look.result


def _near(path: Path | str) -> str:
    """The path as somebody in the project's folder would type it."""
    return os.path.relpath(path) if Path(path).is_relative_to(Path.cwd()) else str(path)


def _broker() -> AbstractContextManager[str]:
    """The broker that the environment names, or one of our own."""
    if env.secret("REDIS_URL"):
        return nullcontext(settings.CELERY_BROKER_URL)
    return embedded_broker(settings.VAR_DIR)


def _review_and_look(audit: Audit) -> Iterator[tuple[str, str, Result]]:
    """Reviews by simulated people, while a worker of its own computes looks."""
    with stopping_in_order(), _broker() as broker, embedded_worker(settings.VAR_DIR, broker=broker):

        def let_the_worker_look(done: Counter[str]) -> None:
            if done.total() % ANSWERS_BETWEEN_LOOKS == 0:
                looks_await(audit)

        done = audit_play(audit=audit, seed=SEED, clock=timezone.now, after_each=let_the_worker_look)
        answered = f"{done['review']} reviews, {done['skip']} skips, {done['cannot judge']} times cannot judge"
        yield "reviews", f"{answered}, {done['adjudication']} adjudications by simulated people", dict(done)
        looks_await(audit)
    progress = progress_of(audit, timezone.now())
    how = f"{progress.settled} of {progress.drawn} drawn cases settled"
    yield "settlements", how, progress.as_dict()
    looks = looks_of(audit).count()
    yield "looks", f"{looks} computed by the worker as settlements came in", {"looks": looks}
