"""Compute a look if something was settled since the last one, and show the last look.

Exits 1 where there is no interval to show yet.
"""

from collections.abc import Callable
from typing import Any

from django.utils import timezone

from audits.exports.comparison import integrity_state, integrity_words
from audits.exports.wording import conclusion, interval_words, remaining_words
from audits.management.base import AuditCommand
from audits.models import Audit
from audits.plans import target_half_width
from audits.selectors import last_look, require_registered
from audits.services.looks import looks_bring_up_to_date
from core.commands import Result


class Command(AuditCommand):
    help = __doc__

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        require_registered(audit)
        made = looks_bring_up_to_date(audit=audit, clock=timezone.now)
        look = last_look(audit)
        if look is None:
            return {"computed": made, "look": None}, lambda: ["no label is settled yet"], False
        stamp = {"watermark": look.watermark, "at": look.at.isoformat(), "code_version": look.code_version}
        integrity = integrity_state(audit)
        result = {"computed": made, "integrity": integrity, "look": stamp | look.result, "remaining": look.remaining}

        def lines() -> list[str]:
            half_width = target_half_width(audit.plan)
            shown = [f"{audit.plan['estimand']}: {interval_words(look.result)}"] if look.low is not None else []
            return [
                integrity_words(integrity),
                *shown,
                conclusion(look.result, half_width=half_width),
                remaining_words(look.remaining, half_width=half_width),
            ]

        return result, lines, look.low is not None
