"""Drop a project's raw texts that were loaded before a day: inputs, outputs, evidence and replies of judges.

Their hashes stay, and with them every identity, label, count and interval. It cannot be undone, except from a backup.
Refused while people still have to read one of them, unless --despite-undecided.
"""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from django.utils import timezone

from adjudication.services.retention import retention_apply, retention_find
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem
from core.models import Project
from core.services import operator_of


def day(text: str) -> datetime:
    try:
        found = date.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no day; allowed: as in 2026-11-30") from error
    return datetime(found.year, found.month, found.day, tzinfo=UTC)


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--before", type=day, required=True, metavar="DATE", help="the first day to keep, in UTC")
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and drop nothing")
        parser.add_argument(
            "--despite-undecided", action="store_true", help="even where people still have to read them"
        )

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        project = Project.objects.filter(name=options["project"]).first()
        if project is None:
            raise InputError(Problem("there is no such project", value=options["project"]))
        found = retention_find(project=project, before=options["before"])
        dropped = 0
        if not options["dry_run"]:
            dropped = retention_apply(
                project=project,
                found=found,
                actor=operator_of(project),
                now=timezone.now(),
                despite_undecided=options["despite_undecided"],
            )

        def lines() -> list[str]:
            done = "would be dropped" if options["dry_run"] else "are dropped"
            said = [f"{project}: {found.texts} texts ({found.size} bytes) loaded before {found.before:%Y-%m-%d} {done}"]
            return said + [f"  undecided items that lose one: {n} in {queue}" for queue, n in found.undecided.items()]

        return {"project": project.name, "dropped": dropped, **found.as_dict()}, lines, True
