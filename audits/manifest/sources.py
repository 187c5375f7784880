"""Which file gives what: the checks on sources and reviews, which share the files and the sides."""

from collections.abc import Iterator
from typing import Any, get_args

from audits.manifest.checks import Document, mapping_exists
from audits.manifest.document import list_at, mapping_at, names_at, text_at
from audits.manifest.runs import further_role, run_problems
from core.errors import Problem
from judges.intake.specs import SIDES, Format

BY_ROW = "row"
FORMATS: tuple[Format, ...] = get_args(Format)
ENDINGS: dict[str, Format] = {
    "csv": "csv",
    "tsv": "tsv",
    "json": "json",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "parquet": "parquet",
    "eval": "eval",
}
CASE_ROLES = ("case_id", "input", "slices", "partition", "cluster")
JUDGMENT_ROLES = ("label", "raw", "score", "tokens", "cost", "provenance", "judge_version")


def source_problems(document: Document) -> Iterator[Problem]:
    for place, source in enumerate(list_at(document, "sources")):
        yield from _format_known(document, source, f"sources[{place}]")
        yield from _case_source(source) if place == 0 else _further_source(source, f"sources[{place}]")
        yield from _roles_fit(document, source, f"sources[{place}]")
        if "mapping" in mapping_at(source):
            yield from mapping_exists(document, "sources", place, "mapping")
    yield from _one_each(document)
    yield from run_problems(document)
    for place, review in enumerate(list_at(document, "reviews")):
        yield from _format_known(document, review, f"reviews[{place}]")
        yield from mapping_exists(document, "reviews", place, "mapping")
        yield from _review_sides(document, review, f"reviews[{place}]")


def file_format(document: Document, entry: Any) -> str | None:
    """As written, else as another source of the same file has it, else by the end of the name."""
    return _as_elsewhere(document, entry, "format") or next(map(format_of, names_at(entry, "file")), None)


def file_quoting(document: Document, entry: Any) -> str:
    return _as_elsewhere(document, entry, "quoting") or "minimal"


def artifact_sides(source: Any) -> tuple[str, ...]:
    """The sides whose artifacts a source holds; none for a source of judgments, or without an output or evidence."""
    roles = mapping_at(source, "roles")
    if "judgments_of" in source or not ("output" in roles or "evidence" in roles):
        return ()
    named = source.get("artifacts_of", "both")
    return SIDES if named == "both" else tuple(side for side in SIDES if side == named)


def _as_elsewhere(document: Document, entry: Any, key: str) -> str | None:
    same = [other for other in list_at(document, "sources") if names_at(other, "file") == names_at(entry, "file")]
    return text_at(entry, key) or next((found for other in same if (found := text_at(other, key))), None)


def format_of(name: str) -> str | None:
    """The format by the end of a name, which may say in addition that the file is gzipped."""
    return ENDINGS.get(name.lower().removesuffix(".gz").rpartition(".")[2])


def _format_known(document: Document, entry: Any, key: str) -> Iterator[Problem]:
    names = names_at(entry, "file")
    if names and file_format(document, entry) is None:
        yield Problem(f"missing, and {names[0]!r} does not say", key=f"{key}.format", allowed=", ".join(FORMATS))


def _case_source(source: Any) -> Iterator[Problem]:
    if "judgments_of" in mapping_at(source):
        what = "the first source defines the cases and is no source of judgments; name the file a second time"
        yield Problem(what, key="sources[0].judgments_of", value=text_at(source, "judgments_of"))
    elif "roles" in mapping_at(source) and "case_id" not in mapping_at(source, "roles"):
        allowed = "a column, or {row: number}"
        yield Problem("missing; the first source defines the cases", key="sources[0].roles.case_id", allowed=allowed)
    for name in ("join", "repair"):
        if name in mapping_at(source):
            yield Problem("the first source defines the cases and is joined to nothing", key=f"sources[0].{name}")


def _further_source(source: Any, key: str) -> Iterator[Problem]:
    if isinstance(source, dict) and "join" not in source:
        yield Problem("missing", key=f"{key}.join", allowed="row, or the column or columns that hold the case id")
    for role in CASE_ROLES:
        if role in mapping_at(source, "roles"):
            yield Problem("only the first source, which defines the cases, has this role", key=f"{key}.roles.{role}")


def _roles_fit(document: Document, source: Any, key: str) -> Iterator[Problem]:
    roles = mapping_at(source, "roles")
    if "judgments_of" in mapping_at(source):
        if "artifacts_of" in source:
            what = "a source holds judgments or artifacts; name the file twice for both"
            yield Problem(what, key=f"{key}.artifacts_of", value=text_at(source, "artifacts_of"))
        if "label" not in roles and "raw" not in roles:
            yield Problem("judgments need a label, a raw response, or both", key=f"{key}.roles", allowed="label, raw")
        return
    for role in JUDGMENT_ROLES:
        if role in roles:
            yield Problem("only a source with judgments_of has this role", key=f"{key}.roles.{role}")
    if "evidence" in roles and "output" not in roles:
        yield Problem("missing; evidence alone is no artifact", key=f"{key}.roles.output", allowed="a column")
    yield from _artifacts_fit(document, source, key)


def _artifacts_fit(document: Document, source: Any, key: str) -> Iterator[Problem]:
    kind, sides = text_at(document, "kind"), artifact_sides(mapping_at(source))
    if kind == "version_upgrade" and len(sides) == len(SIDES):
        what = "in a version upgrade each side has outputs of its own"
        yield Problem(what, key=f"{key}.artifacts_of", value="both", allowed=", ".join(SIDES))
    if kind == "judge_swap" and len(sides) == 1:
        what = "in a judge swap both judges look at one artifact"
        yield Problem(what, key=f"{key}.artifacts_of", value=sides[0], allowed="both")


def _one_each(document: Document) -> Iterator[Problem]:
    sources = [source for source in list_at(document, "sources") if isinstance(source, dict)]
    for side in SIDES:
        judgments = [
            n
            for n, source in enumerate(sources)
            if source.get("judgments_of") == side and further_role(document, source) is None
        ]
        artifacts = [n for n, source in enumerate(sources) if side in artifact_sides(source)]
        for noun, found in (("judgments", judgments), ("artifacts", artifacts)):
            if len(found) != 1 and sources:
                places = ", ".join(f"sources[{n}]" for n in found) or "none"
                what = f"the {side} side needs exactly one source of {noun}, and has {places}"
                yield Problem(what, key="sources", allowed=f"one source with {noun}_of: {side}")


def _review_sides(document: Document, review: Any, key: str) -> Iterator[Problem]:
    kind, entry = text_at(document, "kind"), mapping_at(review)
    if kind == "version_upgrade":
        for name in ("authors", "adjudicated"):
            if name in entry:
                what = "in a version upgrade the labels are about one side; name them under sides"
                yield Problem(what, key=f"{key}.{name}", allowed="sides: {baseline: …, candidate: …}")
        if entry and not ({"sides", "authors", "adjudicated"} & set(entry)):
            yield Problem("missing", key=f"{key}.sides", allowed="{baseline: …, candidate: …}")
    if kind == "judge_swap" and "sides" in entry:
        what = "in a judge swap both judges look at one artifact; name authors and adjudicated without sides"
        yield Problem(what, key=f"{key}.sides")
    groups = mapping_at(entry, "sides") if "sides" in entry else {"": entry}
    for side, people in groups.items():
        if (
            kind is not None
            and not ({"authors", "adjudicated"} & set(mapping_at(people)))
            and (side or kind == "judge_swap")
        ):
            place = f"{key}.sides.{side}" if side else key
            yield Problem("names no label", key=place, allowed="authors, adjudicated")
