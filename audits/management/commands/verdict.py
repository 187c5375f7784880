"""Hold an audit to the cutover gate of its manifest, rule by rule with its evidence, and show what was signed.

Exits 1 while a rule is not met, and where there is none.
"""

from collections.abc import Callable
from typing import Any

from audits.exports.wording import official_words
from audits.gate import NO_GATE, gate_is_met
from audits.management.base import AuditCommand
from audits.models import Audit
from audits.verdicts import gate_dicts, gate_now, official_change, sign_off_dicts
from core.commands import Result


class Command(AuditCommand):
    help = __doc__

    def run_for(self, audit: Audit, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        gate, signed, official = gate_now(audit), sign_off_dicts(audit), official_words(official_change(audit))
        result = {"gate": gate_dicts(gate), "sign_offs": signed, "official": official}

        def lines() -> list[str]:
            rules = [f"{one.words}: {one.state}. {one.evidence}" for one in gate] or [NO_GATE]
            return [*rules, *(_signed(one) for one in signed), official]

        return result, lines, gate_is_met(gate)


def _signed(one: dict[str, Any]) -> str:
    override = f" The gate was overridden: {one['override']}" if one["overridden"] else ""
    return f"signed by {one['by']} at {one['at']}, {one['kind']}: {one['words']}{override}"
