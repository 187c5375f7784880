"""Hold the readings stored for one side against what another parser or mapping finds in the same responses.

Nothing is written. Exits 1 where they differ.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from audits.management.base import AuditCommand
from audits.models import Audit
from audits.pairs import LISTED, SIDES, reader_of, rereading_of
from core.commands import Result
from core.errors import shortened


class Command(AuditCommand):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--side", required=True, choices=SIDES)
        parser.add_argument("--parser", required=True, metavar="ID@VERSION")
        parser.add_argument("--setting", default="", help="the field of json-field, the pattern of regex")
        parser.add_argument("--mapping", default="", metavar="NAME@VERSION", help="if not said, the side's own")
        parser.add_argument("--first", type=int, metavar="N", help="read only the first so many responses")
        parser.add_argument("--list", type=int, default=LISTED, metavar="N", help="list at most so many that differ")

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        asked = {name: options[name] for name in ("side", "parser", "setting", "mapping", "first")}
        found = rereading_of(audit, **asked, listed=options["list"])
        stored = str(reader_of(audit, options["side"])[1])

        def lines() -> list[str]:
            return [
                f"{found.read} responses: {found.agree} agree, {found.differ} differ",
                f"  unparsed by the stored reader ({stored}) {found.unparsed_stored}, by the other "
                f"{found.unparsed_other}, by both {found.unparsed_both}",
                *(
                    f"  {row.case_id}: {row.stored.words} → {row.other.words}; response {shortened(row.raw)!r}"
                    for row in found.listed
                ),
            ]

        return {**asked, "stored": stored, **asdict(found)}, lines, not found.differ
