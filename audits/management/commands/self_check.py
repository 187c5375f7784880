"""Take the smoke set through the real intake, and compare what its five cases are taken for with what they are.

Nothing of it stays in the database. Exits 1 where a case is taken for something else.
"""

from collections.abc import Callable
from typing import Any

from django.utils import timezone

from audits.services.self_checking import EXPECTED, self_check
from core.commands import Command as Base
from core.commands import Result


class Command(Base):
    help = __doc__

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        check = self_check(now=timezone.now())
        differences = check.differences
        result = {
            "cases": [
                {"case_id": name, "expected": state, "found": check.found.get(name)} for name, state in EXPECTED.items()
            ],
            "rules_that_fail": list(check.failures),
            "differences": differences,
        }

        def lines() -> list[str]:
            said = [f"{name}: {check.found.get(name, 'not there')}" for name in EXPECTED]
            return [*said, *(f"  DIFFERS {one}" for one in differences)]

        return result, lines, not differences
