"""Freeze the plan of a draft audit, and draw its sample."""

from collections.abc import Callable
from typing import Any

from django.utils import timezone

from audits.management.base import AuditCommand
from audits.models import Audit
from audits.services.registering import Drawn, audit_register
from core.commands import Result
from core.services import operator_of


class Command(AuditCommand):
    help = __doc__

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        drawn = audit_register(audit=audit, actor=operator_of(audit.project), now=timezone.now())
        return drawn_result(drawn), lambda: drawn_lines(drawn), True


def drawn_result(drawn: Drawn) -> Result:
    registration = drawn.registration
    return {
        "registration": registration.n,
        "at": registration.at.isoformat(),
        "frame_hash": registration.frame_hash,
        "seed": registration.seed,
        "labels": registration.labels,
        "added": dict(drawn.added),
        "reused_references": drawn.reused,
    }


def drawn_lines(drawn: Drawn) -> list[str]:
    registration = drawn.registration
    lines = [
        f"registration {registration.n}: frame {registration.frame_hash[:12]}, seed {registration.seed}, "
        f"{sum(registration.labels.values())} cases drawn in all"
    ]
    lines += [
        f"  {name}: {number} drawn ({drawn.added[name]} now)" for name, number in sorted(registration.labels.items())
    ]
    if drawn.reused:
        lines.append(f"  {drawn.reused} settled at once by references that were there already")
    return lines
