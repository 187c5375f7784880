"""A first manifest for files that come without one. Every guess is a proposal: a person sees it and changes it.

Only names and the first rows are looked at, and nothing is written.
"""

import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

from audits.manifest.checks import Document
from audits.manifest.document import names_at
from audits.manifest.presets import SIDE, presets
from audits.manifest.sources import FORMATS, format_of
from core.errors import InputError, Problem
from judges.intake.paths import Cells
from judges.intake.problems import Problems
from judges.intake.readers import MOST_FIELDS, Format, Table, is_delimited, no_rows, read_header, read_rows
from judges.intake.records import record_cells
from judges.intake.specs import SIDES
from judges.intake.streams import opened

LOOKED_AT = 20  # rows
LISTED = 1000  # rows in which the names of judges are looked for
PEOPLE = ("human", "person", "people", "gold")
HEAD = 1 << 16  # bytes
TEXTS = (".md", ".markdown")
TREC_COLUMNS = (4, 6)  # of qrels and of runs
MANIFESTS = (".yaml", ".yml")

# A field's name as people write it, most telling first.
NAMES: dict[str, tuple[str, ...]] = {
    "case_id": ("case_id", "example_id", "sample_id", "question_id", "item_id", "uid", "id"),
    "input": ("input", "question", "query", "instruction", "prompt", "task"),
    "output": ("output", "answer", "model_answer", "response", "completion", "prediction"),
    "evidence": ("evidence", "evidence_text", "context", "documents", "passage"),
    "label": ("label", "verdict", "judgment", "judgement", "grade", "rating", "decision", "acceptable"),
    "raw": ("raw", "raw_response", "reply", "model_output", "explanation", "reason", "rationale"),
    "score": ("score", "confidence", "probability"),
    "adjudicated": ("adjudicated", "final", "reference", "gold", "human", "human_label", "gold_label"),
    "judge": ("judge", "judge_model", "grader"),
    "partition": ("partition",),
    "cluster": ("cluster", "group", "topic"),
}
WORDS = (("baseline", "candidate"), ("old", "new"), ("before", "after"))
RAW_LABELS = {"pass": "1", "fail": "0", "yes": "1", "no": "0", "true": "1", "false": "0", "c": "1", "i": "0"}


@dataclass(frozen=True)
class FileGuess:
    """What a file seems to be."""

    path: Path
    name: str
    format: Format
    fields: tuple[str, ...]

    def field(self, role: str, but: Iterable[str] = ()) -> str | None:
        """The field that seems to have this role, unless it has another."""
        left = [field for field in reversed(self.fields) if field not in but]
        # A nested field by the last part of its path, unless one is called so as a whole.
        by_name = {_plain(field.rpartition(".")[2]): field for field in left} | {_plain(field): field for field in left}
        return next((by_name[name] for name in NAMES[role] if name in by_name), None)

    def pair(self, role: str) -> tuple[str, str] | None:
        """The fields of the two sides, such as `old_label` and `new_label`."""
        by_name = {_plain(field): field for field in self.fields}
        for words in WORDS:
            for name in NAMES[role]:
                for shape in ("{0}_{1}", "{1}_{0}", "{0}"):
                    found = [by_name.get(shape.format(word, name)) for word in words]
                    if all(found):
                        return cast(tuple[str, str], tuple(found))
        return None


def guess_file(path: Path) -> FileGuess:
    """Raises for a file that holds no rows that could be read."""
    kind = format_of(path.name) or _by_content(path)
    if kind is None:
        raise InputError(Problem("not a file of rows", file=path.name, allowed=", ".join(FORMATS)))
    problems = Problems()
    table = Table(path, cast(Format, kind), columns=("1",) if kind == "spaces" else ())
    fields = read_header(table, problems=problems)
    if not fields:
        problems.raise_if_any()
        raise InputError(no_rows(path.name))
    return FileGuess(path, path.name, table.format, fields[:MOST_FIELDS])


def _by_content(path: Path) -> str | None:
    with opened(path, path.name, Problems()) as handle:
        head = handle.read(HEAD)
        if head.startswith(b"PAR1"):
            return "parquet"
        if head.startswith(b"PK"):
            return "eval" if zipfile.is_zipfile(path) else None
        first = head.decode("utf-8", "replace").lstrip("\ufeff \r\n\t").split("\n", 1)
        if first[0].startswith(("{", "[")):
            return "jsonl" if first[0].rstrip().endswith("}") and len(first) > 1 else "json"
        if "\t" in first[0]:
            return "tsv"
        return "csv" if "," in first[0] else "spaces" if len(first[0].split()) in TREC_COLUMNS else None


def guess_manifest(paths: Sequence[Path], *, project: str, person: str) -> tuple[Document, list[Problem]]:
    """A whole manifest over these files, and why some of them are left aside. What cannot be guessed is left out, and
    the checks name it."""
    files: list[FileGuess] = []
    aside: list[Problem] = []
    for path in paths:
        if path.suffix not in (*TEXTS, *MANIFESTS):
            try:
                files.append(guess_file(path))
            except InputError as error:
                aside += error.problems
    texts = [path.name for path in paths if path.suffix in TEXTS]
    by_preset = next(filter(None, (_by_preset(name, files) for name in _most_special())), None)
    sources, reviews = by_preset or _by_names(files)
    judge: Document = {"system_version": "system-1"}
    reader = {"parser": "exact-label@1", "mapping": "labels@1"}
    document: Document = {
        "migration_id": "new-audit",
        "project": project,
        "case_set": {"name": "cases", "version": "1"},
        "kind": "judge_swap",
        "rubric": {"name": "rubric", "version": "1", "guideline": (texts or ["guideline.md"])[0], "scale": []},
        "judges": {side: {**judge, "generator": {"model": side}, "reader": dict(reader)} for side in SIDES},
        "mappings": {"labels@1": {"approved_by": person, "table": {}}},
        "sources": sources,
        **({"reviews": reviews} if reviews else {}),
        "plan": {
            "estimand": "accuracy_difference",
            "target": "pool",
            "level": "0.95",
            "half_width": "0.05",
            "policy": "monitored",
            "seed": "1",
        },
    }
    return document, aside


def guess_scale(labels: Iterable[str]) -> tuple[list[Document], dict[str, str]]:
    """A scale of the labels that were seen, each mapped to itself: numbers and yes or no with their values."""
    seen = sorted(set(labels), key=lambda label: (RAW_LABELS.get(label.lower(), label), label))
    values = [label if re.fullmatch(r"[0-9]", label) else RAW_LABELS.get(label.lower()) for label in seen]
    known = all(value is not None for value in values)
    scale = [{"label": label, **({"value": value} if known else {})} for label, value in zip(seen, values, strict=True)]
    return scale, {label: label for label in seen}


def _most_special() -> list[str]:
    """The presets with the most fields first: a table that fits a special one fits a plain one too."""
    named = [name for name, preset in presets().items() if SIDE not in str(preset)]  # the others go by names
    return sorted(named, key=lambda name: -len(_paths(presets()[name]["cases"])))


def _by_preset(name: str, files: Sequence[FileGuess]) -> tuple[list[Document], list[Document]] | None:
    """Sources and reviews by a preset, where a file has its cases and a file has its judgments."""
    preset = presets()[name]
    cases = [file for file in files if _has(file, preset["cases"])]
    judged = [(file, rows) for file in files for rows in _judged(file, preset["judgments"])]
    if not cases or not judged:
        return None
    sources = [{"file": cases[0].name, **_format(cases[0], preset["cases"]), "preset": name}]
    for side, (file, rows) in zip(SIDES, judged, strict=False):
        entry = {"file": file.name, **_format(file, preset["judgments"]), "preset": name, "judgments_of": side}
        sources.append(entry | ({"rows": rows} if rows else {}))
    # Where a preset reads people's labels from the very field of a judge's, the file does not say whose they are.
    own = (preset["reviews"].get("rows"), preset["reviews"]["adjudicated"])
    shared = own == (preset["judgments"].get("rows"), preset["judgments"]["roles"].get("label"))
    graded = None if shared else next((file for file in files if _has(file, preset["reviews"])), None)
    review = {"preset": name, "mapping": "labels@1"}
    return sources, [{"file": graded.name, **_format(graded, preset["reviews"]), **review}] if graded else []


def _judged(file: FileGuess, section: Document) -> list[str]:
    """The lists of rows that may be a judge's; a blank one where the preset says which."""
    if "rows" in section or not any(path.startswith("[]") for path in _paths(section)):
        return [""] if _has(file, section) else []
    return [rows for rows in file.fields if "predict" in rows and _has(file, section | {"rows": rows})]


def _format(file: FileGuess, section: Document) -> Document:
    return {} if "format" in section or format_of(file.name) else {"format": file.format}


def _has(file: FileGuess, section: Document) -> bool:
    """Whether the first rows have every field that the preset names."""
    if section.get("format", file.format) != file.format:
        return False
    if file.format == "spaces":
        return len(file.fields) == 1 and bool(section.get("columns"))
    wanted = _paths(section)
    if is_delimited(file.format):
        return all(path in file.fields for path in wanted)
    rows = list(_first_cells(file, section.get("rows", "")))
    return bool(rows) and all(any(cells.has(path) for cells in rows) for path in wanted)


def _first_cells(file: FileGuess, rows: str) -> Iterator[Cells]:
    with suppress(InputError):
        for _, _, cells in islice(record_cells(Table(file.path, file.format, rows=rows), Problems()), LOOKED_AT):
            yield cells


def _paths(section: Document) -> list[str]:
    roles = section.get("roles", {})
    named = [*names_at(section, "join"), *names_at(section, "adjudicated"), *section.get("where", {})]
    for role, value in roles.items():
        if role != "provenance" and not (isinstance(value, dict) and role == "case_id"):
            named += names_at(roles, role)
    return [path for path in named if path != "row"]


def _by_names(files: Sequence[FileGuess]) -> tuple[list[Document], list[Document]]:
    """Sources and reviews by what the columns are called."""
    cases = next((file for file in files if file.field("output")), files[0] if files else None)
    if cases is None:
        return [], []
    case_id = cases.field("case_id")
    roles: Document = {"case_id": case_id or {"row": "number"}}
    for role in ("input", "output", "evidence", "partition", "cluster"):
        if found := cases.field(role, roles.values()):
            roles[role] = found
    source: Document = {**_file(cases), "roles": roles}
    if listed := _listed(cases, case_id):
        return [source | {"occurrence": "1"}, *listed[:2]], [
            {**_file(cases), "where": one["where"], "join": case_id, "mapping": "labels@1", "adjudicated": label}
            for one in listed[2:]
            if (label := one["roles"].get("label"))
        ]
    people = next((file for file in files if file.field("adjudicated")), None)
    review = people and {
        **_file(people),
        "join": _join(people, case_id),
        "mapping": "labels@1",
        "adjudicated": people.field("adjudicated"),
    }
    return [source, *(_paired(cases, case_id) or _apart(cases, files, case_id))], [review] if review else []


def _file(file: FileGuess) -> Document:
    return {"file": file.name, **({} if format_of(file.name) else {"format": file.format})}


def _join(file: FileGuess, case_id: str | None) -> str:
    return case_id if case_id in file.fields else "row"


def _paired(file: FileGuess, case_id: str | None) -> list[Document]:
    labels, raws = file.pair("label"), file.pair("raw")
    found: list[Document] = []
    for place, side in enumerate(SIDES):
        roles = {
            role: pair[place]
            for role, pair in (("label", labels), ("raw", raws), ("score", file.pair("score")))
            if pair
        }
        if labels or raws:
            found.append({**_file(file), "judgments_of": side, "join": _join(file, case_id), "roles": roles})
    return found


def _listed(file: FileGuess, case_id: str | None) -> list[Document]:
    """One row per judgment, with a column that names the judge: the two sides, and the people if there are any."""
    judge, roles = file.field("judge"), _judgment_roles(file)
    if judge is None or case_id is None or not roles:
        return []
    rows = islice(read_rows(Table(file.path, file.format, fields=(judge,)), problems=Problems()), LISTED)
    names = list(dict.fromkeys(row.cells[judge] for row in rows))
    judges = [name for name in names if name.lower() not in PEOPLE][:2]
    found: list[Document] = [
        {**_file(file), "judgments_of": side, "where": {judge: name}, "join": case_id, "roles": roles}
        for side, name in zip(SIDES, judges, strict=False)
    ]
    people = [{"where": {judge: name}, "roles": roles} for name in names if name.lower() in PEOPLE]
    return [*found, *people] if len(found) == len(SIDES) else []


def _apart(cases: FileGuess, files: Sequence[FileGuess], case_id: str | None) -> list[Document]:
    """A file for each judge, in the order they were given."""
    judged = [file for file in files if file is not cases and _judgment_roles(file)]
    return [
        {**_file(file), "judgments_of": side, "join": _join(file, case_id), "roles": _judgment_roles(file)}
        for side, file in zip(SIDES, judged, strict=False)
    ]


def _judgment_roles(file: FileGuess) -> dict[str, Any]:
    found = {role: file.field(role) for role in ("label", "raw", "score")}
    return {role: field for role, field in found.items() if field} if found["label"] or found["raw"] else {}


def _plain(field: str) -> str:
    """`Acceptable?` and `[].model-answer` as `acceptable` and `model_answer`."""
    return re.sub(r"[^a-z0-9]+", "_", field.lower()).strip("_")
