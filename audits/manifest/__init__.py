"""The manifest of one comparison and one audit: read as text, checked whole, and only then made into specs."""

from dataclasses import replace
from pathlib import Path

from audits.manifest.build import build
from audits.manifest.checks import Document, manifest_problems
from audits.manifest.document import text_at
from audits.manifest.files import find_file, name_fault, named_files, read_text, same_last_part
from audits.manifest.layouts import layout_problems
from audits.manifest.presets import expanded
from audits.manifest.schema import schema_problems
from audits.manifest.sources import source_problems
from audits.manifest.specs import Manifest, PlanSpec, ReviewSpec
from audits.manifest.text import LARGEST, read_document
from core.errors import InputError, Problem

__all__ = ["Manifest", "PlanSpec", "ReviewSpec", "document_problems", "load_manifest"]


def load_manifest(path: Path, *, files: Path | None = None, flat: bool = False) -> Manifest:
    """Read and check a manifest. Files it names are looked for beside it, then in `files`; where all lie `flat`
    in its folder, as a browser sends them, by the last part of their name.

    Raises InputError with every problem: of the text, of the schema, of parts that do not fit, of files.
    """
    text, document, problems = read_document(_content(path))
    if problems and not document:
        raise InputError(replace(problem, file=path.name) for problem in problems)
    document, unexpanded = expanded(document)
    problems += [*unexpanded, *document_problems(document)]
    folders = [path.parent, *([files] if files else [])]
    paths: dict[str, Path] = {}
    problems += [*same_last_part(document)] if flat else []
    for key, name in named_files(document):
        found = find_file(name, key, folders, flat=flat)
        if isinstance(found, Path):
            paths[name] = found
        elif not key.startswith("reviews") or name_fault(name):
            problems.append(found)
        # Labels come after the draw: their file is described now, and need not be there yet.
    guideline = _guideline(text_at(document, "rubric", "guideline"), folders, flat)
    if isinstance(guideline, Problem):
        problems.append(guideline)
    if problems or isinstance(guideline, Problem):
        raise InputError(problem if problem.file else replace(problem, file=path.name) for problem in problems)
    return build(path.name, text, document, guideline, paths)


def document_problems(document: Document) -> list[Problem]:
    """What is wrong with a manifest whose presets are expanded, its files aside."""
    checks = (schema_problems, manifest_problems, source_problems, layout_problems)
    return [problem for check in checks for problem in check(document)]


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            return handle.read(LARGEST + 1)  # one more, so that too large is seen without reading it all
    except OSError as error:
        raise InputError(Problem(f"cannot be opened: {error.strerror}", file=path.name)) from error


def _guideline(name: str | None, folders: list[Path], flat: bool) -> str | Problem:
    if not name:
        return ""  # the schema has said so
    found = find_file(name, "rubric.guideline", folders, flat=flat)
    return found if isinstance(found, Problem) else read_text(found, "rubric.guideline")
