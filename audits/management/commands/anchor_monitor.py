"""Hold each new run of a judge to the anchors, and list what came of it. It monitors; it does not validate."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from audits.anchormonitor import AnchorShare, Monitored, MonitoredRun, monitored
from audits.anchorsets import anchor_set_find, latest_sets
from audits.exports.anchorcards import MONITORS
from audits.services.anchorchecks import anchor_checks_make
from core.commands import Command as Base
from core.commands import Result
from core.selectors import project_find


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("name", metavar="NAME[@VERSION]", nargs="?", help="otherwise the latest of every set")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        project = project_find(options["project"])
        anchor_checks_make(now=timezone.now(), project=project)
        sets = [anchor_set_find(project, options["name"])] if options["name"] else latest_sets(project)
        found = [monitored(one) for one in sets]
        result: Result = {"project": project.name, "meaning": MONITORS, "sets": [one.as_dict() for one in found]}
        return result, lambda: [line for one in found for line in _lines(one)] + [MONITORS], True


def _lines(found: Monitored) -> list[str]:
    lines = [f"{found.anchor_set}, {found.anchor_set.anchors:,} anchors: {len(found.runs)} runs"]
    if found.untouched:
        lines[0] += f"; {found.untouched} more have none of them among their cases"
    return lines + [line for run in found.runs for line in _run_lines(run)]


def _run_lines(run: MonitoredRun) -> list[str]:
    without = ", ".join(f"{number:,} {words}" for words, number in run.without if number)
    errors = ", ".join(f"{number:,} {label} called {verdict}" for label, verdict, number in run.errors)
    return [
        f"  {run.judge}, {run.run_words} ({run.check.comparison.name}): {_share(run.whole)}",
        *([f"    without a verdict: {without}"] if without else []),
        *([f"    errors: {errors}"] if errors else []),
        *(f"    {one.of}: {_share(one)}" for one in run.rows),
    ]


def _share(one: AnchorShare) -> str:
    if one.share is None:
        return "no verdict"
    low, high = one.limits
    limits = f"{low * 100:.1f} % to {high * 100:.1f} %, Wilson, 95 % level"
    return f"{one.right:,} of n = {one.n:,} as the anchors ({one.share * 100:.1f} %, {limits})"
