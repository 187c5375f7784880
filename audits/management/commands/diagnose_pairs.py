"""Say of pairs why they are what they are: whether the judge was called, what for, what came back, how it was read.

Exits 1 where there is no such pair.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from audits.management.base import AuditCommand
from audits.management.lines import diagnosis_lines
from audits.models import Audit
from audits.pairs import pairs_page
from core.commands import Result
from judges.diagnosis import PairDiagnosis

MOST = 1000
BATCH = 500


class Command(AuditCommand):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--case", default="", metavar="ID", help="the pair of this case")
        parser.add_argument("--state", action="append", default=[], help="pairs in this state; repeatable")
        parser.add_argument("--most", type=int, default=MOST, metavar="N", help=f"at most so many pairs ({MOST})")

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        pairs = list(pairs_found(audit, options["case"], options["state"], options["most"]))
        result = {"pairs": [asdict(pair) for pair in pairs]}
        return result, lambda: [line for pair in pairs for line in diagnosis_lines(pair)], bool(pairs)


def pairs_found(audit: Audit, case: str, states: list[str], most: int) -> Iterator[PairDiagnosis]:
    """The first so many pairs, read in batches."""
    after: int | None = 0
    while after is not None and most > 0:
        page = pairs_page(audit, case=case, states=states, after=after, number=min(BATCH, most))
        yield from page.pairs
        after, most = page.after, most - BATCH
