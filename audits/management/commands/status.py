"""Show where an audit stands: drawn, settled, waiting, the last look."""

from collections.abc import Callable
from typing import Any

from django.utils import timezone

from audits.exports.comparison import integrity_state, integrity_words
from audits.exports.wording import interval_words, remaining_words
from audits.management.base import AuditCommand
from audits.management.lines import cells_line, progress_lines
from audits.models import Audit, AuditState
from audits.plans import target_half_width
from audits.progress import progress_of
from audits.selectors import known_cells, last_look, look_is_due
from core.commands import Result


class Command(AuditCommand):
    help = __doc__

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        registered = audit.state == AuditState.REGISTERED
        look = last_look(audit)
        result = {
            "project": audit.project.name,
            "state": audit.state,
            "integrity": integrity_state(audit),
            "registrations": audit.registrations.count(),
            "progress": progress_of(audit, timezone.now()).as_dict(),
            "known_cells": known_cells(audit).as_dict() if registered else None,
            "look_is_due": look_is_due(audit),
            "last_look": {"watermark": look.watermark, **look.result} if look else None,
            "remaining": look.remaining if look else None,
        }

        def lines() -> list[str]:
            head = f"{audit.name} in project {audit.project.name}: {audit.state}"
            integrity = integrity_words(result["integrity"])
            if not registered:
                return [head, integrity]
            shown = interval_words(look.result) if look else "no look yet"
            needed = remaining_words(look.remaining, half_width=target_half_width(audit.plan)) if look else ""
            due = " (settlements since then wait for the next look)" if result["look_is_due"] else ""
            return [
                f"{head}, {result['registrations']} registrations",
                integrity,
                *progress_lines(result["progress"]),
                cells_line(result["known_cells"]),
                f"{audit.plan['estimand']}: {shown}{due}",
                *([needed] if needed else []),
            ]

        return result, lines, True
