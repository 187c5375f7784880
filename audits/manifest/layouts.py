"""Whether what a manifest says about the rows and fields of a file fits the file's format."""

from collections.abc import Iterator
from typing import Any

from audits.manifest.checks import Document
from audits.manifest.document import list_at, mapping_at, names_at, text_at
from audits.manifest.sources import BY_ROW, FORMATS, file_format
from core.errors import Problem
from judges.intake.paths import ELEMENT, PathFault, steps_of
from judges.intake.readers import is_delimited

RECORDS = tuple(kind for kind in FORMATS if not is_delimited(kind))
QUOTED = ("csv", "tsv")


def layout_problems(document: Document) -> Iterator[Problem]:
    for group in ("sources", "reviews"):
        for place, entry in enumerate(list_at(document, group)):
            key, kind = f"{group}[{place}]", file_format(document, entry)
            if kind is not None and isinstance(entry, dict):
                yield from _format_fits(entry, key, kind)
                yield from _repair_fits(entry, key)
                yield from _rows_chosen(entry, key)
                if kind in RECORDS:
                    yield from _paths(entry, key)


def _format_fits(entry: Document, key: str, kind: str) -> Iterator[Problem]:
    delimited = tuple(one for one in FORMATS if one not in RECORDS)
    for name, kinds in (("rows", RECORDS), ("columns", delimited), ("quoting", QUOTED), ("repair", QUOTED)):
        if name in entry and kind not in kinds:
            yield Problem(f"a file of format {kind} has none", key=f"{key}.{name}", allowed=f"for {', '.join(kinds)}")


def _repair_fits(entry: Document, key: str) -> Iterator[Problem]:
    if "repair" in entry and (len(names_at(entry, "file")) > 1 or len(names_at(entry, "join")) > 1):
        yield Problem("a repair needs one file, joined by row or by one column", key=f"{key}.repair")


def _rows_chosen(entry: Document, key: str) -> Iterator[Problem]:
    for name in ("where", "occurrence"):
        if name in entry and text_at(entry, "join") == BY_ROW:
            what = "chosen rows are not the same rows as the cases, so they cannot be joined by row"
            yield Problem(what, key=f"{key}.join", value=BY_ROW, allowed="the column or columns that hold the case id")
    if "occurrence" in entry and "judgments_of" not in entry and key != "sources[0]":
        yield Problem("only cases and judgments are chosen by it", key=f"{key}.occurrence")


def _paths(entry: Document, key: str) -> Iterator[Problem]:
    for place, path in _named_paths(entry):
        try:
            in_element = any(inside for inside, _ in steps_of(path))
        except PathFault as error:
            yield Problem(str(error), key=f"{key}.{place}", allowed="such as response.output or items[0].text")
            continue
        if in_element and "rows" not in entry:
            what = f"{ELEMENT} is the element that makes a row, and no rows are named"
            yield Problem(what, key=f"{key}.{place}", value=path, allowed="rows: the path of a list")


def _named_paths(entry: Document) -> Iterator[tuple[str, str]]:
    """(key, path) of everything that names a field."""
    if "rows" in entry:
        yield from _texts("rows", entry["rows"])
    yield from _texts("join", [] if text_at(entry, "join") == BY_ROW else entry.get("join"))
    yield from (("where", path) for path in mapping_at(entry, "where"))
    roles = mapping_at(entry, "roles")
    for name in roles:
        yield from _texts(f"roles.{name}", [] if name == "case_id" and isinstance(roles[name], dict) else roles[name])
    for name in ("authors", "adjudicated", "sides"):
        yield from _texts(name, entry.get(name))


def _texts(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(key, item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(f"{key}.{name}", item)
