"""What the page of a preview shows and lets be chosen, as values ready for its template."""

from dataclasses import dataclass
from typing import Any

from audits.manifest.checks import Document
from audits.manifest.document import at, mapping_at
from audits.manifest.presets import expanded
from audits.manifest.previews import Preview, SeenLabel, SourcePreview

# What a select chooses, by what a source is for. Lists and slices stay in the text of the manifest.
CHOSEN_ROLES = {
    "cases": ("case_id", "input", "output", "evidence", "partition", "cluster"),
    "further artifacts": ("join", "output", "evidence"),
    "judgments": ("join", "label", "raw", "score", "output"),
    "labels of people": ("join", "adjudicated"),
}
ROLE_HELP = {
    "case_id": "row number",
    "join": "by row: the same rows as the cases",
}
PREVIEWED_ROWS = 10_000  # of each source, so that a request ends
SHOWN_TEXT = 300
SHOWN_LABELS = 50  # of a mapping; longer ones than SHOWN_TEXT are none that a person would map


@dataclass(frozen=True)
class RoleChoice:
    """One select: `none` is what it means to choose no field."""

    name: str
    role: str
    value: str
    none: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class TargetChoice:
    """What one raw label counts as, and how often it was seen."""

    name: str
    raw: str
    counts: str
    value: str


def preview_context(preview: Preview, token: str) -> dict[str, Any]:
    whole = expanded(preview.document)[0]
    return {
        "preview": preview,
        "token": token,
        "limit": PREVIEWED_ROWS,
        "sources": [(source, _role_choices(whole, source), _shown_rows(source)) for source in preview.sources],
        "mappings": [
            (name, _target_choices(name, labels), _uncovered(labels), _unlisted(labels), preview.unseen(name))
            for name, labels in preview.labels.items()
        ],
        "scale": preview.scale,
    }


def _role_choices(whole: Document, source: SourcePreview) -> list[RoleChoice]:
    group, _, place = source.key.rstrip("]").partition("[")
    entry = mapping_at(whole, group, int(place))
    part = next((roles for part, roles in CHOSEN_ROLES.items() if source.title.startswith(part)), ())
    choices = []
    for role in part:
        value = at(entry, role) if role in ("join", "adjudicated") else at(entry, "roles", role)
        value = None if value in ("row", {"row": "number"}) else value
        if value is None or isinstance(value, str):
            fields = tuple(dict.fromkeys([*([value] if value else []), *source.fields]))
            name = f"role:{source.key}:{role}"
            choices.append(RoleChoice(name, role, value or "", ROLE_HELP.get(role, "none"), fields))
    return choices


def _shown_rows(source: SourcePreview) -> list[tuple[int, list[str]]]:
    def shown(text: str) -> str:
        return text if len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT]}…"

    return [(number, [shown(text) for text in texts]) for number, texts in source.rows]


def _target_choices(mapping: str, labels: tuple[SeenLabel, ...]) -> list[TargetChoice]:
    return [
        TargetChoice(
            f"{mapping}:{place}",
            label.raw,
            ", ".join(f"{number:,} {side}" for side, number in label.counts.items()),
            label.target or "",
        )
        for place, label in enumerate(_listed(labels))
    ]


def _listed(labels: tuple[SeenLabel, ...]) -> list[SeenLabel]:
    return [label for label in labels if len(label.raw) <= SHOWN_TEXT][:SHOWN_LABELS]


def _unlisted(labels: tuple[SeenLabel, ...]) -> int:
    return len(labels) - len(_listed(labels))


def _uncovered(labels: tuple[SeenLabel, ...]) -> int:
    return sum(label.target is None for label in labels)
