"""Drop a project's raw texts that were loaded before a day: inputs, outputs, evidence and replies of judges.

Their hashes stay, and with them every identity, label, count and interval. It cannot be undone, except from a backup.
Refused while people still have to read one of them, unless --despite-undecided.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from adjudication.services.retention import day_of, retention_apply, retention_find
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem
from core.models import Project
from core.services import operator_of


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("--before", required=True, metavar="DATE", help="the first day to keep, in UTC")
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and drop nothing")
        parser.add_argument(
            "--despite-undecided", action="store_true", help="even where people still have to read them"
        )

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        project = Project.objects.filter(name=options["project"]).first()
        if project is None:
            raise InputError(Problem("there is no such project", value=options["project"]))
        found = retention_find(project=project, before=day_of(options["before"]))
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
            said = found.words(dropped=not options["dry_run"])
            return [f"{project}: {said}", *(f"  {words}" for words in found.undecided_words)]

        return {"project": project.name, "dropped": dropped, **found.as_dict()}, lines, True
