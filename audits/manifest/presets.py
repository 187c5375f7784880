"""Presets: what a manifest need not write about the files of well-known tools.

Each is one file of `docs/presets`. It holds default keys of an entry, by what the entry is for; what the entry says
itself comes first, role by role, and a role that it leaves blank has no default.
"""

from functools import cache
from pathlib import Path
from typing import Any

from audits.manifest.checks import Document
from audits.manifest.document import list_at, mapping_at, text_at
from audits.manifest.schema import did_you_mean
from audits.manifest.text import read_document
from core.errors import Problem

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "presets"
SIDE = "{side}"


@cache
def presets() -> dict[str, Document]:
    """Every preset by name: default keys for `cases`, `artifacts`, `judgments` and `reviews`."""
    return {path.stem: read_document(path.read_bytes())[1] for path in sorted(FOLDER.glob("*.yaml"))}


def expanded(document: Document) -> tuple[Document, list[Problem]]:
    """The manifest as it would be without presets."""
    problems: list[Problem] = []
    changed = dict(document)
    for group in ("sources", "reviews"):
        if group in document and isinstance(document[group], list):
            changed[group] = [
                _expanded(entry, _purpose(group, place, entry), f"{group}[{place}].preset", problems)
                for place, entry in enumerate(list_at(document, group))
            ]
    return changed, problems


def _purpose(group: str, place: int, entry: Any) -> str:
    if group == "reviews":
        return "reviews"
    return "judgments" if "judgments_of" in mapping_at(entry) else "artifacts" if place else "cases"


def _expanded(entry: Any, purpose: str, key: str, problems: list[Problem]) -> Any:
    name = text_at(entry, "preset")
    if name is None:
        return entry
    if name not in presets():
        what = f"no such preset{did_you_mean(name, presets())}"
        problems.append(Problem(what, key=key, value=name, allowed=", ".join(presets())))
        return entry
    side = text_at(entry, "judgments_of") or text_at(entry, "artifacts_of") or "baseline"
    defaults = _filled(presets()[name][purpose], side)
    own = {name: value for name, value in entry.items() if name != "preset"}
    if "roles" in defaults:
        roles = defaults["roles"] | mapping_at(own, "roles")
        own["roles"] = {role: column for role, column in roles.items() if column != ""}
    return defaults | own


def _filled(value: Any, side: str) -> Any:
    if isinstance(value, dict):
        return {name: _filled(item, side) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, side) for item in value]
    return value.replace(SIDE, side)
