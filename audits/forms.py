"""From what a form sent to the values that a service takes."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from audits.manifest.checks import Document
from audits.manifest.document import at, mapping_at, text_at
from audits.manifest.presets import expanded
from audits.manifest.previews import manifest_text
from audits.manifest.sources import BY_ROW
from audits.manifest.text import read_document
from audits.plan_pages import StratumPlan
from core.errors import InputError, Problem

ENTRY_ROLES = ("join", "adjudicated")  # those that stand beside `roles`
BY_DEFAULT: dict[str, Any] = {"join": BY_ROW, "case_id": {"row": "number"}}


def asked_labels(sent: Mapping[str, str], rows: Sequence[StratumPlan]) -> dict[str, int]:
    """Totals by stratum; whether they may be, `extended_sample` says."""
    given = {row.name: sent.get(row.field, "").strip() for row in rows}
    problems = [
        Problem("not a number of labels", key=name, value=value, allowed="a whole number")
        for name, value in given.items()
        if not (value.isascii() and value.isdigit())
    ]
    if problems:
        raise InputError(problems)
    return {name: int(value) for name, value in given.items()}


def asked_manifest(sent: Mapping[str, str]) -> str:
    """The manifest that a preview's form holds, with the roles and targets that it chose beside.

    Only what differs from the manifest is written into it: a text that nothing changes stays as it was written.
    """
    text = sent.get("manifest", "").replace("\r\n", "\n")
    document = read_document(text.encode())[1]
    whole = expanded(document)[0]
    changed = False
    for name, value in sent.items():
        kind, _, rest = name.partition(":")
        if kind == "role":
            changed |= _choose_role(document, whole, rest, value)
        elif kind == "target":
            changed |= _choose_target(document, rest, sent.get(f"raw:{rest}", ""), value)
    return manifest_text(document) if changed else text


def _choose_role(document: Document, whole: Document, name: str, value: str) -> bool:
    """`name` is an entry and a role, such as `sources[1]:label`."""
    key, _, role = name.partition(":")
    group, _, place = key.rstrip("]").partition("[")
    if not place.isascii() or not place.isdigit() or not mapping_at(whole, group, int(place)):
        return False
    path = (group, int(place), role) if role in ENTRY_ROLES else (group, int(place), "roles", role)
    chosen: Any = value or BY_DEFAULT.get(role, "")
    if chosen == (at(whole, *path) or ""):
        return False
    entry = document[group][int(place)]
    target = entry if role in ENTRY_ROLES else entry.setdefault("roles", {})
    # A role that a preset fills in is taken away by a blank; any other is simply not there.
    if chosen or "preset" in entry:
        target[role] = chosen
    else:
        target.pop(role, None)
    return True


def _choose_target(document: Document, name: str, raw: str, label: str) -> bool:
    """`name` is a mapping and the number of a raw label in it. A blank label leaves it unmapped."""
    mapping = mapping_at(document, "mappings", name.rpartition(":")[0])
    table = mapping.setdefault("table", {}) if mapping else {}
    if not mapping or not raw or (text_at(table, raw) or "") == label:
        return False
    if label:
        table[raw] = label
    else:
        del table[raw]
    return True


class DiagnosisForm(forms.Form):
    """Which case, and what is said of it: what may be said, the service knows."""

    case = forms.IntegerField(min_value=1, max_value=2**63 - 1)
    revision = forms.IntegerField(min_value=0)
    code = forms.CharField(required=False)
    kind = forms.CharField(required=False)
    words = forms.CharField(required=False)


class InventoryForm(forms.Form):
    """What a cutover touches outside, and which inventory it replaces."""

    seen = forms.IntegerField(min_value=0)
    consumers = forms.CharField(required=False)
    thresholds = forms.CharField(required=False)
    rollback = forms.CharField(required=False)


class SignOffForm(forms.Form):
    """A sign-off as it was sent: what may be signed, the service knows."""

    seen = forms.IntegerField(min_value=0)
    kind = forms.CharField(required=False)
    words = forms.CharField(required=False)
    override = forms.CharField(required=False)
