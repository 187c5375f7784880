"""Open the holdout of an audit's case set, to read it case by case. It is retired by that, for good."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from audits.management.base import AuditCommand
from audits.models import Audit
from core.commands import Result
from core.services import operator_of
from judges.services.holdouts import holdout_open


class Command(AuditCommand):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--reason", required=True, help="why its cases must be read; stands in every later report")

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        case_set, actor = audit.comparison.case_set, operator_of(audit.project)
        opening = holdout_open(case_set=case_set, reason=options["reason"], actor=actor, now=timezone.now())
        return {"opened": str(case_set), "reason": opening.reason}, list, True
