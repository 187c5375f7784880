"""Draw more cases: a new, dated registration. Without --add, as many as the plan's target still needs."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from audits.management.base import AuditCommand
from audits.management.commands.register import drawn_lines, drawn_result
from audits.models import Audit
from audits.selectors import require_registered
from audits.services.registering import audit_extend, labels_to_target
from core.commands import Result
from core.errors import InputError, Problem
from core.services import operator_of


class Command(AuditCommand):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--add",
            action="append",
            default=[],
            metavar="STRATUM=LABELS",
            help="so many further cases of a stratum; may be given several times",
        )

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        require_registered(audit)
        standing = audit.registrations.latest("n").labels
        labels = totals(options["add"], standing) if options["add"] else labels_to_target(audit)
        drawn = audit_extend(audit=audit, labels=labels, actor=operator_of(audit.project), now=timezone.now())
        return drawn_result(drawn), lambda: drawn_lines(drawn), True


def totals(additions: list[str], standing: dict[str, int]) -> dict[str, int]:
    """`STRATUM=LABELS` as totals by stratum."""
    wanted: dict[str, int] = {}
    for addition in additions:
        # A stratum may be named `risk=high | disagree`: the number stands after the last sign.
        name, sign, number = addition.rpartition("=")
        if not sign or not number.isdecimal() or name not in standing:
            allowed = "STRATUM=LABELS with one of " + ", ".join(sorted(standing))
            raise InputError(Problem("not an addition", key="--add", value=addition, allowed=allowed))
        wanted[name] = wanted.get(name, standing[name]) + int(number)
    return wanted
