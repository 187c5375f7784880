"""Take in labels that people gave elsewhere, as the manifest's `reviews` describes their file.

Cases that were not drawn are refused unless --drawn-only or --all says what to do with them.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.utils import timezone

from audits.management.base import AuditCommand
from audits.models import Audit
from audits.services.importing import Scope, reviews_import
from audits.services.uploads import require_within_limit
from core.commands import Result
from core.services import operator_of

SURPLUS = "are of cases that were settled before: kept, outside the estimate (import all authors of a case at once)"


class Command(AuditCommand):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "files", type=Path, nargs="+", metavar="FILE", help="the file with the labels, or several in their order"
        )
        scope = parser.add_mutually_exclusive_group()
        scope.add_argument(
            "--drawn-only", action="store_true", help="take the labels of drawn cases and leave the others"
        )
        scope.add_argument(
            "--all", action="store_true", help="take all labels; those not drawn stand outside the sample"
        )

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        require_within_limit(options["files"])
        scope: Scope = "all" if options["all"] else "drawn only" if options["drawn_only"] else "drawn or refused"
        done = reviews_import(
            audit=audit, paths=options["files"], scope=scope, actor=operator_of(audit.project), now=timezone.now()
        )
        report = done.as_dict()

        def lines() -> list[str]:
            settled = ", ".join(f"{number} {how}" for how, number in report["settled"].items()) or "none"
            outside = {"all": "taken as outside the sample", "drawn only": "left out"}.get(scope, "")
            return [
                f"{report['file']}: {done.words}",
                f"  settled: {settled}; {report['waiting']} still without an agreed label",
                *([f"  {report['surplus']} reviews {SURPLUS}"] if report["surplus"] else []),
                *([f"  {report['elsewhere']} cases are of another partition: left out"] if report["elsewhere"] else []),
                *([f"  {report['not_drawn']} cases were not drawn: {outside}"] if report["not_drawn"] else []),
            ]

        return {"scope": scope, **report}, lines, True
