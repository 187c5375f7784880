"""List the cases on which a settled label differs from a verdict, and the blocking transitions, with their diagnoses.

Exits 1 while one of them is undiagnosed.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from typing import Any

from audits.diagnoses import UNDIAGNOSED, CaseDiagnosis, diagnosis_counts, diagnosis_page
from audits.management.base import AuditCommand
from audits.management.lines import diagnose_line
from audits.models import Audit
from core.commands import Result

MOST = 1000
BATCH = 500


class Command(AuditCommand):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--code", default="", help=f"those under this code, or “{UNDIAGNOSED}”")
        parser.add_argument("--owner", default="", help="those of this owner")
        parser.add_argument("--most", type=int, default=MOST, metavar="N", help=f"at most so many cases ({MOST})")

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        cases = list(cases_found(audit, options["code"], options["owner"], options["most"]))
        counts = diagnosis_counts(audit)
        result = {"counts": counts.as_dict(), "cases": [case.as_dict() for case in cases]}
        return result, lambda: [counts.words, *map(diagnose_line, cases)], not counts.undiagnosed


def cases_found(audit: Audit, code: str, owner: str, most: int) -> Iterator[CaseDiagnosis]:
    """The first so many cases, read in batches."""
    after: int | None = 0
    while after is not None and most > 0:
        page = diagnosis_page(audit, code=code, owner=owner, after=after, number=min(BATCH, most))
        yield from page.rows
        after, most = page.after, most - BATCH
