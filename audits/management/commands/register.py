"""Freeze the plan of a draft audit, and draw its sample."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from audits.selectors import audit_find
from audits.services.registering import Drawn, audit_register
from core.commands import Command as Base
from core.commands import Result
from core.services import operator_of


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("audit", metavar="AUDIT", help="name, or project/name")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        audit = audit_find(options["audit"])
        drawn = audit_register(audit=audit, actor=operator_of(audit.project), now=timezone.now())
        return drawn_result(audit.name, drawn), lambda: drawn_lines(drawn), True


def drawn_result(name: str, drawn: Drawn) -> Result:
    registration = drawn.registration
    return {
        "audit": name,
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
