"""Look at settings, database, triggers, clock, storage, broker and workers.

Each line says pass or FAIL, and what to do. Exits 1 where one fails.
"""

from collections.abc import Callable
from typing import Any

from config.doctor import examine
from core.commands import Command as Base
from core.commands import Result


class Command(Base):
    help = __doc__

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        findings = list(examine())
        well = all(finding.well for finding in findings)
        result = {"well": well, "findings": [finding.as_dict() for finding in findings]}
        return result, lambda: [finding.line() for finding in findings], well
