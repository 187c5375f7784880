"""Where an audit's cutover stands: its gate now, what was signed, and which side is official."""

from dataclasses import asdict
from typing import Any

from django.db.models import QuerySet

from audits.diagnoses import blocking_outcomes, standing_diagnoses
from audits.gate import Evidence, RuleFinding, cutover_written, gate_of
from audits.models import Audit, Diagnosis, DiagnosisKind, SignOff, SignOffKind
from audits.selectors import last_look
from judges.summaries import summary_of

CHANGING = (SignOffKind.CUTOVER, SignOffKind.ROLLBACK)


def gate_now(audit: Audit) -> list[RuleFinding]:
    rules = cutover_written(audit.manifest).gate
    look = last_look(audit) if rules else None
    registered = audit.registrations.order_by("-n").values_list("labels", flat=True).first()
    if not rules:
        return []
    return gate_of(
        rules,
        Evidence(
            plan=audit.plan,
            drawn=sum((registered or {}).values()),
            result=look.result if look else None,
            blocking_slices=bool(audit.comparison.blocking_slices),
            blocking=blocking_outcomes(audit),
            integrity=summary_of(audit.comparison).integrity,
        ),
    )


def sign_offs_of(audit: Audit) -> QuerySet[SignOff]:
    """In the order in which they were given."""
    return audit.sign_offs.select_related("actor").order_by("n")


def official_change(audit: Audit) -> SignOff | None:
    """The cutover or rollback in force."""
    return sign_offs_of(audit).filter(kind__in=CHANGING).last()


def unapproved_changes(audit: Audit) -> QuerySet[Diagnosis]:
    """Intended transitions that were named after the policy owner's last approval."""
    intended = standing_diagnoses(audit).filter(kind=DiagnosisKind.INTENDED)
    approved = sign_offs_of(audit).filter(kind=SignOffKind.MEANING).last()
    return intended if approved is None else intended.filter(at__gt=approved.at)


def inventory_dict(audit: Audit) -> dict[str, Any]:
    """What the cutover touches outside, as the last inventory says; before the first one, as the manifest does."""
    cutover, last = cutover_written(audit.manifest), audit.inventories.select_related("actor").order_by("n").last()
    return {
        "n": last.n if last else 0,
        "consumers": last.consumers if last else "\n".join(cutover.downstream),
        "thresholds": last.thresholds if last else "",
        "rollback_to": cutover.rollback_to,
        "rollback": last.rollback if last else "",
        "by": last.actor.pseudonym if last else "",
        "at": last.at.isoformat() if last else "",
    }


def gate_dicts(findings: list[RuleFinding]) -> list[dict[str, Any]]:
    return [asdict(one) | {"state": str(one.state)} for one in findings]


def sign_off_dicts(audit: Audit) -> list[dict[str, Any]]:
    return [
        {
            "n": one.n,
            "kind": one.kind,
            "words": one.words,
            "by": one.actor.pseudonym,
            "at": one.at.isoformat(),
            "gate": one.gate,
            "overridden": one.overridden,
            "override": one.override,
        }
        for one in sign_offs_of(audit)
    ]
