"""What a manifest would read, before anything is stored: the first rows as they will be read, the labels that are seen,
and which of them its mappings cover. The manifest may be unfinished, or guessed.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import yaml

from audits.manifest import document_problems
from audits.manifest.build import review_source_of, source_of
from audits.manifest.checks import Document
from audits.manifest.document import list_at, mapping_at, names_at, text_at
from audits.manifest.files import named_files
from audits.manifest.guessing import MANIFESTS, guess_manifest, guess_scale
from audits.manifest.presets import expanded
from audits.manifest.text import read_document
from core.characters import UNSTORABLE, shown
from core.errors import InputError, Problem
from judges.intake.columns import case_columns, review_columns, source_columns
from judges.intake.joins import PlacedRows, columns_are_there, tables_of
from judges.intake.names import name_fault
from judges.intake.problems import Problems
from judges.intake.readers import Row, read_header
from judges.intake.repairs import mend_for
from judges.intake.specs import SIDES, ReviewSource, Source
from judges.parsing import PARSERS, Parsed, Parser, parser_of

SHOWN_ROWS = 5
SHOWN_FIELDS = 200
TRIED_ROWS = 200
TRIED_PARSERS = ("final-score@1", "json-label@1", "first-line-label@1", "last-digit@1")
PEOPLE = "people"


@dataclass(frozen=True)
class SourcePreview:
    """One entry of `sources` or `reviews`: its fields, its roles, and its first rows in them.

    `read` rows were looked at, all that there are where `whole`. `labels` counts the raw labels that the parser of
    the side found in them, or that people gave; `unparsed` the rows in which it found none.
    """

    key: str
    title: str
    fields: tuple[str, ...] = ()
    roles: tuple[tuple[str, str], ...] = ()
    rows: tuple[tuple[int, tuple[str, ...]], ...] = ()
    read: int = 0
    whole: bool = True
    labels: Mapping[str, int] | None = None
    unparsed: int = 0
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class SeenLabel:
    """A raw label with how often each side, or people, gave it; `target` is what its mapping makes of it."""

    raw: str
    counts: Mapping[str, int]
    target: str | None


@dataclass(frozen=True)
class Preview:
    text: str
    document: Document
    sources: tuple[SourcePreview, ...]
    labels: Mapping[str, tuple[SeenLabel, ...]]  # by mapping
    problems: tuple[Problem, ...]
    aside: tuple[Problem, ...] = ()  # why files were not thought of in a guess

    @property
    def scale(self) -> list[str]:
        return [label for entry in list_at(self.document, "rubric", "scale") if (label := text_at(entry, "label"))]

    def unseen(self, mapping: str) -> list[str]:
        """The raw labels that a mapping names and that no row looked at has: perhaps misspelled, perhaps only rare."""
        seen = {label.raw for label in self.labels[mapping]}
        return [raw for raw in mapping_at(self.document, "mappings", mapping, "table") if raw not in seen]


Found = Mapping[str, Path]  # where the files are that a manifest names


def preview_files(paths: Sequence[Path], *, project: str, person: str, limit: int | None) -> Preview:
    """By the manifest among the files, or by a guessed one. Looks at the first `limit` rows of each source."""
    manifest = next((path for path in paths if path.suffix in MANIFESTS), None)
    if manifest is not None:
        text, _, problems = read_document(manifest.read_bytes())
        return preview_text(text, paths, limit=limit) if text else Preview("", {}, (), {}, tuple(problems))
    document, aside = guess_manifest(paths, project=project, person=person)
    whole, found = expanded(document)[0], _found(document, paths)
    for side in SIDES:
        document["judges"][side]["reader"]["parser"] = _guessed_parser(whole, side, found)
    whole = expanded(document)[0]
    seen = [label for one in _source_previews(whole, found, [], TRIED_ROWS) for label in one.labels or ()]
    labels = [label for label in seen if not name_fault(label)]  # the others are responses rather
    document["rubric"]["scale"], document["mappings"]["labels@1"]["table"] = guess_scale(labels)
    return replace(preview_text(manifest_text(document), paths, limit=limit), aside=tuple(aside))


def preview_text(text: str, paths: Sequence[Path], *, limit: int | None) -> Preview:
    """By a manifest as written, whose files are among `paths`."""
    _, document, problems = read_document(text.encode())
    if not document:
        return Preview(text, {}, (), {}, tuple(problems))
    whole, unexpanded = expanded(document)
    problems += [*unexpanded, *document_problems(whole)]
    found = _found(whole, paths)
    sources = tuple(_source_previews(whole, found, problems, limit))
    problems += _absent(whole, found, paths)
    return Preview(text, document, sources, _coverage(whole, sources), tuple(problems))


def manifest_text(document: Document) -> str:
    """The document as YAML. Written through JSON, so that nothing in it is an alias of another part."""
    return str(yaml.safe_dump(json.loads(json.dumps(document)), sort_keys=False, allow_unicode=True, width=110))


def _found(document: Document, paths: Sequence[Path]) -> dict[str, Path]:
    """Each named file: the one with that name and its folders, else the one with the last part of the name."""
    found: dict[str, Path] = {}
    for _, name in named_files(document):
        alike = [path for path in paths if path.name == Path(name).name]
        whole = [path for path in alike if path.as_posix().endswith(f"/{name}")]
        if alike:
            found[name] = (whole or alike)[0]
    return found


def _absent(document: Document, found: Found, paths: Sequence[Path]) -> Iterator[Problem]:
    for key, name in named_files(document):
        if name not in found and not key.startswith("reviews"):
            yield Problem("not among the files", key=key, value=name)
    guideline = text_at(document, "rubric", "guideline")
    if guideline and Path(guideline).name not in [path.name for path in paths]:
        yield Problem("not among the files", key="rubric.guideline", value=guideline)


def _source_previews(
    document: Document, found: Found, problems: Sequence[Problem], limit: int | None
) -> Iterator[SourcePreview]:
    """Every entry whose own keys are sound and whose files are there, in its order."""
    for group in ("sources", "reviews"):
        for place, entry in enumerate(list_at(document, group)):
            key = f"{group}[{place}]"
            names = names_at(entry, "file")
            title = f"{_purpose(group, place, entry)}, from {', '.join(names)}"
            own = tuple(problem for problem in problems if f"{problem.key}.".startswith(f"{key}."))
            if own or not names or not set(names) <= set(found):
                yield SourcePreview(key, title, problems=own)
            elif group == "reviews":
                yield _people_preview(key, title, document, entry, found, limit)
            else:
                yield _source_preview(key, title, document, place, found, limit)


def _purpose(group: str, place: int, entry: Document) -> str:
    if group == "reviews":
        return "labels of people"
    side = text_at(entry, "judgments_of")
    return f"judgments of {side}" if side else "further artifacts" if place else "cases"


def _source_preview(
    key: str, title: str, document: Document, place: int, found: Found, limit: int | None
) -> SourcePreview:
    entry = list_at(document, "sources")[place]
    source = source_of(document, entry, place == 0)
    roles = case_columns(source) if place == 0 else source_columns(source)
    if place == 0:
        roles += [("evidence", column) for column in source.evidence]
    cases = None
    if source.repair:
        first = source_of(document, list_at(document, "sources")[0], True)
        cases = (_paths(first, found), first)
    parser = _parser_of(document, source.judgments_of) if source.judgments_of else None

    def labels(row: Row) -> list[str | None]:
        label = row.cells[source.label] if source.label else None
        raw = row.cells[source.raw] if source.raw else ""
        if parser is None or not ((label or "").strip() or raw.strip()):
            return []  # no judgments, or a missing one
        result = parser.read(label=label, raw=raw)
        return [result.label if isinstance(result, Parsed) else None]

    preview = _read(SourcePreview(key, title), source, roles, found, labels, limit, cases)
    return preview if parser else replace(preview, labels=None)


def _people_preview(
    key: str, title: str, document: Document, entry: Document, found: Found, limit: int | None
) -> SourcePreview:
    source = review_source_of(document, entry)
    named = [
        column for side in source.sides.values() for column in (*side.authors.values(), side.adjudicated) if column
    ]

    def labels(row: Row) -> list[str | None]:
        found = [text for column in named if (text := row.cells[column].strip())]
        return [None if UNSTORABLE.search(text) else text for text in found]

    return _read(SourcePreview(key, title), source, review_columns(source), found, labels, limit)


def _paths(source: Source | ReviewSource, found: Found) -> tuple[Path, ...]:
    return tuple(found[name] for name in source.layout.files)


def _read(
    preview: SourcePreview,
    source: Source | ReviewSource,
    columns: list[tuple[str, str | None]],
    found: Found,
    labels_of: Callable[[Row], list[str | None]],
    limit: int | None,
    cases: tuple[tuple[Path, ...], Source] | None = None,
) -> SourcePreview:
    """The preview with what the first rows give. The rows come the way they come to the intake itself."""
    problems, labels, read, whole = Problems(), Counter[str | None](), 0, True
    first: list[tuple[int, tuple[str, ...]]] = []
    roles = tuple((role, column) for role, column in columns if column is not None)
    tables = tables_of(_paths(source, found), source, [column for _, column in roles])
    fields: tuple[str, ...] = ()
    try:
        fields = read_header(tables[0])[:SHOWN_FIELDS]
        if columns_are_there(roles, tables, problems):
            mend = mend_for(source, tables[0], cases) if cases and isinstance(source, Source) else None
            for place, row in PlacedRows(tables, problems, mend):
                if read == limit:
                    whole = False
                    break
                read += 1
                labels.update(labels_of(row))
                if len(first) < SHOWN_ROWS:
                    first.append((place, tuple(shown(row.cells[column]) for _, column in roles)))
    except InputError as error:
        problems.kept = list(error.problems)  # a fault after which nothing follows
    unparsed = labels.pop(None, 0)
    return replace(
        preview,
        fields=fields,
        roles=roles,
        rows=tuple(first),
        read=read,
        whole=whole,
        labels={str(label): number for label, number in labels.most_common()},
        unparsed=unparsed,
        problems=tuple(problems.kept),
    )


def _parser_of(document: Document, side: str) -> Parser | None:
    reader = mapping_at(document, "judges", side, "reader")
    key = text_at(reader, "parser") or ""
    if key not in PARSERS:
        return None
    setting = text_at(reader, PARSERS[key].setting) or ""
    fault = PARSERS[key].fault
    return None if fault and (not setting or fault(setting)) else parser_of(key, setting)


def _coverage(document: Document, sources: Sequence[SourcePreview]) -> dict[str, tuple[SeenLabel, ...]]:
    """By mapping: every label that was seen, those without a target first, and the rest by how often."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    entries = {f"sources[{n}]": entry for n, entry in enumerate(list_at(document, "sources"))}
    entries |= {f"reviews[{n}]": entry for n, entry in enumerate(list_at(document, "reviews"))}
    for source in sources:
        side = text_at(entries[source.key], "judgments_of")
        reader = mapping_at(document, "judges", side or "", "reader")
        name = text_at(reader, "mapping") if side else text_at(entries[source.key], "mapping")
        for label, number in (source.labels or {}).items():
            by_side = counts.setdefault(name or "", {}).setdefault(label, {})
            by_side[side or PEOPLE] = by_side.get(side or PEOPLE, 0) + number
    found: dict[str, tuple[SeenLabel, ...]] = {}
    for name, labels in counts.items():
        table = mapping_at(document, "mappings", name, "table")
        seen = [SeenLabel(raw, by_side, text_at(table, raw)) for raw, by_side in labels.items()]
        found[name] = tuple(sorted(seen, key=lambda one: (one.target is not None, -sum(one.counts.values()), one.raw)))
    return found


def _guessed_parser(document: Document, side: str, found: Found) -> str:
    """The recorded label if there is one; else the first parser that reads most of the first responses."""
    for place, entry in enumerate(list_at(document, "sources")):
        if text_at(entry, "judgments_of") == side and "label" not in mapping_at(entry, "roles"):
            source = source_of(document, entry, place == 0)
            tables = tables_of(_paths(source, found), source, [source.raw] if source.raw else [])
            with suppress(InputError):
                rows = [row for _, row in islice(PlacedRows(tables, Problems()), TRIED_ROWS)]
                texts = [row.cells[source.raw] for row in rows if source.raw]
                for key in TRIED_PARSERS:
                    parsed = sum(isinstance(PARSERS[key].parse(text), Parsed) for text in texts)
                    if parsed * 2 > len(texts):
                        return key
    return "exact-label@1"
