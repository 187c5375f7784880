"""The shape of commands about one audit."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from audits.models import Audit
from audits.selectors import audit_find
from core.commands import Command, Result
from judges.holdouts import holdout_of


class AuditCommand(Command):
    """A command whose first argument is an audit. Of one on a holdout it says first what became of that."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("audit", metavar="AUDIT", help="name, or project/name")
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        audit = audit_find(options["audit"])
        result, lines, yes = self.run_for(audit, options)
        holdout = holdout_of(audit.comparison)
        if holdout is None:
            return {"audit": audit.name, **result}, lines, yes
        return {"audit": audit.name, "holdout": holdout.as_dict(), **result}, lambda: [holdout.words, *lines()], yes

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        """As `run`, for the audit; its name is put in front of the result."""
        raise NotImplementedError
