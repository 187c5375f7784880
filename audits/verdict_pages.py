"""What the page *Verdict* shows."""

from typing import Any

from audits.diagnoses import blocking_outcomes
from audits.exports.comparison import floor_words
from audits.gate import NO_GATE, cutover_written
from audits.models import Audit, AuditState, SignOffKind
from audits.overview import address
from audits.pages import audit_context
from audits.selectors import known_cells, last_look
from audits.verdicts import gate_now, inventory_dict, official_change, sign_offs_of, unapproved_changes
from judges.summaries import summary_of

SIGNED = {
    SignOffKind.MEANING: "Policy owner: I approve the meaning changes",
    SignOffKind.CUTOVER: "Release owner: I authorise the cutover to the candidate",
    SignOffKind.ROLLBACK: "Release owner: I authorise the rollback to the baseline",
}


def verdict_context(audit: Audit) -> dict[str, Any]:
    summary, look, gate = summary_of(audit.comparison), last_look(audit), gate_now(audit)
    registered = audit.state == AuditState.REGISTERED
    last = official_change(audit)
    next_change = SignOffKind.ROLLBACK if last and last.kind == SignOffKind.CUTOVER else SignOffKind.CUTOVER
    sign_offs = list(sign_offs_of(audit))
    return audit_context(audit, "verdict") | {
        "gate": gate,
        "no_gate": NO_GATE,
        "unmet": [one for one in gate if not one.met],
        "cutover": cutover_written(audit.manifest),
        "registered": registered,
        "sign_offs": sign_offs,
        "seen": len(sign_offs),
        "inventory": inventory_dict(audit),
        "inventory_url": address("inventory", audit),
        "kinds": [(kind, SIGNED[kind]) for kind in (SignOffKind.MEANING, next_change)],
        "unapproved": unapproved_changes(audit).count(),
        "blocking": list(blocking_outcomes(audit).items()),
        "floor_words": floor_words(summary.transitions, summary.stability),
        "cells": known_cells(audit).as_dict() if registered else None,
        "look": look,
        "secondary": look.secondary if look else None,
        "reruns": look.reruns if look else None,
        "verdict_url": address("verdict", audit),
        "diagnose_url": address("diagnose", audit),
    }
