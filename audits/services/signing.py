"""Signing for a cutover: what verdicts mean, that the candidate takes over, that the baseline comes back; and what it
touches outside."""

from datetime import datetime

from django.db import IntegrityError, transaction

from audits.gate import RuleFinding
from audits.models import Audit, Inventory, SignOff, SignOffKind
from audits.selectors import require_registered
from audits.verdicts import gate_dicts, gate_now, official_change, sign_offs_of, unapproved_changes
from core.access import LEADING, require_role
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.models import Author
from core.texts import require_storable

LONGEST_WORDS = 2000
LONGEST_INVENTORY = 10_000


@transaction.atomic
def audit_sign_off(
    *, audit: Audit, seen: int, kind: str, words: str, override: str, actor: Author, now: datetime
) -> SignOff:
    """Sign, with one's name and words. `seen` is how many sign-offs the actor saw: of two at once, one is told.

    A cutover needs every rule of the gate met, or words that say why it is overridden; a rollback needs neither."""
    require_role(actor, *LEADING)
    require_registered(audit)
    words, override = words.strip(), override.strip()
    for key, text in (("words", words), ("override", override)):
        require_storable(key, text, LONGEST_WORDS)
    if kind not in SignOffKind.values:
        raise InputError(Problem("not a sign-off", key="kind", value=kind, allowed=", ".join(SignOffKind.values)))
    if not words:
        raise InputError(Problem("missing", key="words", allowed="what is signed, and on which grounds"))
    _require_change(audit, kind)
    gate = gate_now(audit)
    unmet = [one for one in gate if not one.met] if kind == SignOffKind.CUTOVER else []
    _require_gate(unmet, override)
    signed = Refused(Problem("somebody else has signed meanwhile", value=audit.name))
    if sign_offs_of(audit).count() != seen:
        raise signed
    try:
        with transaction.atomic():
            given = SignOff.objects.create(
                audit=audit,
                n=seen + 1,
                kind=kind,
                words=words,
                gate=gate_dicts(gate),
                overridden=bool(unmet),
                override=override,
                actor=actor,
                at=now,
            )
    except IntegrityError as error:  # sign_offs_are_numbered
        raise signed from error
    payload = {"audit": audit.pk, "kind": kind, "words": words, "overridden": given.overridden}
    event_record(name="audits.signed-off", actor=actor, now=now, payload=payload)
    return given


@transaction.atomic
def inventory_state(
    *, audit: Audit, seen: int, consumers: str, thresholds: str, rollback: str, actor: Author, now: datetime
) -> Inventory:
    """Say what the cutover touches outside. `seen` is the number of the inventory that the actor saw: of two at once,
    one is told."""
    require_role(actor, *LEADING)
    require_registered(audit)
    said = {"consumers": consumers.strip(), "thresholds": thresholds.strip(), "rollback": rollback.strip()}
    for key, text in said.items():
        require_storable(key, text, LONGEST_INVENTORY)
    if not any(said.values()):
        allowed = "consumers of the verdicts, changes of thresholds, or the way back"
        raise InputError(Problem("missing", key="consumers", allowed=allowed))
    stated = Refused(Problem("somebody else has stated it anew meanwhile", value=audit.name))
    if audit.inventories.count() != seen:
        raise stated
    try:
        with transaction.atomic():
            given = Inventory.objects.create(audit=audit, n=seen + 1, **said, actor=actor, at=now)
    except IntegrityError as error:  # inventories_are_numbered
        raise stated from error
    event_record(name="audits.inventory-stated", actor=actor, now=now, payload={"audit": audit.pk, "n": given.n})
    return given


def _require_change(audit: Audit, kind: str) -> None:
    """A cutover is of a candidate in shadow, a rollback of an official one; and what is meant was approved before."""
    last = official_change(audit)
    candidate = last is not None and last.kind == SignOffKind.CUTOVER
    if kind == SignOffKind.CUTOVER and candidate:
        raise Refused(Problem("the candidate is official already", key="kind", value=audit.name))
    if kind == SignOffKind.ROLLBACK and not candidate:
        raise Refused(Problem("the baseline is official: there is nothing to roll back", key="kind", value=audit.name))
    if kind == SignOffKind.CUTOVER and (number := unapproved_changes(audit).count()):
        what = f"{number:,} intended transition{' waits' if number == 1 else 's wait'} for the policy owner's approval"
        raise Refused(Problem(what, value=audit.name, allowed="a sign-off of the meaning changes first"))


def _require_gate(unmet: list[RuleFinding], override: str) -> None:
    if unmet and not override:
        allowed = "every rule met, or a text that says why the gate is overridden"
        raise Refused(
            Problem(f"{one.state}: {one.evidence}", key="gate", value=one.words, allowed=allowed) for one in unmet
        )
    if override and not unmet:
        raise InputError(Problem("nothing is overridden here", key="override", allowed="no text"))
