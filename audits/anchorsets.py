"""Anchor sets as they are stored: their anchors in order, their hash, and what differs between two versions.

The content hash is SHA-256 over lines of canonical JSON: first one of name, version and licence, then one for each
anchor, each line with its line feed. It says nothing of a file's format, so that all formats have the same.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Max, QuerySet

from audits.exports.anchors import Anchor
from audits.models import AnchorSet
from core.errors import InputError, Problem
from core.identity import canonical_bytes, canonical_json
from core.models import Project

NAMED = 20
SET_NAME = re.compile(r"[^@/\s]([^@/\n]{0,98}[^@/\s])?")
COLUMNS = Anchor._fields
SET_COLUMNS = ("anchor_set", "anchor_set_version", "licence", "content_hash")
CONTENT = ("input_hash", "output_hash", "evidence_hash")
NAMES = ("case_set", "case_set_version", "case_id", "case_version", "system_version")

Record = dict[str, Any]


class ContentHash:
    """Of one set, anchor by anchor."""

    def __init__(self, name: str, version: int, licence: str) -> None:
        self._hash = hashlib.sha256()
        self.add(canonical_json({"anchor_set": name, "anchor_set_version": version, "licence": licence}))

    def add(self, line: str) -> None:
        self._hash.update(canonical_bytes(line) + b"\n")

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def line_of(record: Mapping[str, Any]) -> str:
    return canonical_json({name: record[name] for name in COLUMNS})


def lines_of(anchor_set: AnchorSet) -> Iterator[str]:
    """The anchors as they were stored, one canonical line each. No more is in memory than a part."""
    for part in anchor_set.parts.order_by("n").values_list("lines", flat=True).iterator(chunk_size=1):
        yield from unpacked(bytes(part))


def packed(lines: Sequence[str]) -> bytes:
    return zlib.compress(canonical_bytes("\n".join(lines)))


def unpacked(part: bytes) -> list[str]:
    # Not splitlines: texts hold line separators that JSON does not escape.
    return zlib.decompress(part).decode("utf-8", "surrogatepass").split("\n")


def records_of(anchor_set: AnchorSet) -> Iterator[Record]:
    for line in lines_of(anchor_set):
        yield json.loads(line)


def content_key(content: Iterable[str]) -> bytes:
    """Sixteen bytes for input, output and evidence: a hundred thousand of them fit where the hashes would not."""
    return hashlib.sha256("|".join(content).encode()).digest()[:16]


@dataclass(frozen=True)
class Labels:
    """Label by content. A content that has several labels in the set, because people settled two cases of it
    differently, has none here; `contradictory` counts these."""

    by_content: Mapping[bytes, str]
    contradictory: int

    def of(self, content: Iterable[str]) -> str | None:
        return self.by_content.get(content_key(content))


def labels_of(records: Iterable[Mapping[str, Any]]) -> Labels:
    found: dict[bytes, str] = {}
    contradictory: set[bytes] = set()
    for record in records:
        key = content_key(record[name] for name in CONTENT)
        if found.setdefault(key, record["label"]) != record["label"]:
            contradictory.add(key)
    return Labels({key: label for key, label in found.items() if key not in contradictory}, len(contradictory))


@dataclass(frozen=True)
class Changes:
    """What a version has and the one before it, `since`, had not, in anchors: the same case by the same system."""

    since: int
    added: int
    removed: int
    relabelled: int
    other: int  # the same label of another content, or settled or sampled otherwise
    unchanged: int

    def as_dict(self) -> dict[str, int]:
        return asdict(self)

    @property
    def words(self) -> str:
        counted = [
            f"{number:,} {word}"
            for number, word in (
                (self.added, "added"),
                (self.removed, "gone"),
                (self.relabelled, "with another label"),
                (self.other, "otherwise changed"),
                (self.unchanged, "as they were"),
            )
            if number
        ]
        return f"Since version {self.since}: {', '.join(counted)}."


def changes_between(old: AnchorSet, lines: Iterable[str]) -> Changes:
    """From a stored version to these anchors, by keys and not by texts."""
    before = {_name_key(record): (record["label"], _short(line)) for line, record in _with_records(lines_of(old))}
    counts = {"added": 0, "relabelled": 0, "other": 0, "unchanged": 0}
    for line, record in _with_records(lines):
        label, text = before.pop(_name_key(record), (None, b""))
        if label is None:
            counts["added"] += 1
        elif label != record["label"]:
            counts["relabelled"] += 1
        else:
            counts["unchanged" if text == _short(line) else "other"] += 1
    return Changes(since=old.version, removed=len(before), **counts)


def _with_records(lines: Iterable[str]) -> Iterator[tuple[str, Record]]:
    for line in lines:
        yield line, json.loads(line)


def _name_key(record: Mapping[str, Any]) -> bytes:
    return _short(canonical_json([record[name] for name in NAMES]))


def _short(text: str) -> bytes:
    return hashlib.sha256(canonical_bytes(text)).digest()[:16]


def anchor_sets_of(project: Project) -> QuerySet[AnchorSet]:
    """By name, the latest version first; without the cards."""
    related = ("audit", "actor", "project")
    return (
        AnchorSet.objects.filter(project=project).select_related(*related).order_by("name", "-version", "-pk")
    ).defer("card_text", "audit__manifest")


def latest_sets(project: Project) -> list[AnchorSet]:
    """The newest version of each name."""
    newest = dict(anchor_sets_of(project).order_by("name").values_list("name").annotate(Max("version")))
    return [one for one in anchor_sets_of(project) if newest[one.name] == one.version]


def anchor_set_find(project: Project, stated: str, key: str = "") -> AnchorSet:
    """By `name@version`, or by name alone, which means the latest."""
    name, _, version = stated.rpartition("@") if "@" in stated else (stated, "", "")
    sets = anchor_sets_of(project)
    found = sets.filter(name=stated).first()
    if found is None and version.isdecimal():
        found = sets.filter(name=name, version=int(version[:9])).first()
    if found is None:
        known = [f"{one.name}@{one.version}" for one in sets[:NAMED]]
        allowed = ", ".join(known) or "none is there yet"
        raise InputError(Problem("there is no such anchor set", key=key, value=stated, allowed=allowed))
    return found
