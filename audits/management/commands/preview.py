"""Show how files would be read: a guessed manifest, the first rows, the labels seen and what they count as.

A manifest among the files is used instead of a guess. Nothing is stored. Exits 1 while the manifest cannot be taken.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from audits.manifest.previews import Preview, SourcePreview, preview_files
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem, shortened
from core.services import OPERATOR


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="files with cases, verdicts, labels")
        parser.add_argument("--project", default="my-project", help="the project named in a guessed manifest")
        parser.add_argument("--write-manifest", type=Path, metavar="FILE", help="where to write it; never over a file")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        absent = [path for path in options["files"] if not path.is_file()]
        if absent:
            raise InputError(Problem("there is no such file", file=str(path)) for path in absent)
        preview = preview_files(options["files"], project=options["project"], person=OPERATOR, limit=None)
        if target := options["write_manifest"]:
            if target.exists():
                raise InputError(Problem("is there already", file=str(target), allowed="the name of a new file"))
            target.write_text(preview.text, encoding="utf-8")
        problems = [*preview.problems, *(one for source in preview.sources for one in source.problems)]
        problems = list(dict.fromkeys(problems))
        result = {
            "manifest": preview.text,
            "sources": [_as_dict(source) for source in preview.sources],
            "labels": {
                name: [{"raw": label.raw, "seen": dict(label.counts), "target": label.target} for label in labels]
                for name, labels in preview.labels.items()
            },
            "unseen_labels": {name: preview.unseen(name) for name in preview.labels},
            "problems": [problem.as_dict() for problem in problems],
            "left_aside": [problem.as_dict() for problem in preview.aside],
        }

        def lines() -> list[str]:
            written = f"the manifest is in {target}" if target else preview.text
            aside = [f"left aside: {problem}" for problem in preview.aside]
            return [*_source_lines(preview), *_label_lines(preview), *aside, *map(str, problems), written]

        return result, lines, not problems


def _as_dict(source: SourcePreview) -> dict[str, Any]:
    roles = [role for role, _ in source.roles]
    rows = [{"row": number, "cells": list(texts)} for number, texts in source.rows]
    return {"key": source.key, "title": source.title, "read": source.read, "unparsed": source.unparsed,
            "roles": roles, "columns": [column for _, column in source.roles], "first_rows": rows}  # fmt: skip


def _source_lines(preview: Preview) -> Iterator[str]:
    for source in preview.sources:
        unparsed = f", {source.unparsed} unparsed" if source.unparsed else ""
        yield f"{source.key}: {source.title}: {source.read} rows{unparsed}"
        for number, texts in source.rows[:2]:
            yield f"  row {number}"
            for (role, column), text in zip(source.roles, texts, strict=True):
                yield f"    {role} ({column}): {shortened(text)!r}"


def _label_lines(preview: Preview) -> Iterator[str]:
    for name, labels in preview.labels.items():
        covered = sum(label.target is not None for label in labels)
        yield f"mapping {name} covers {covered} of the {len(labels)} labels seen"
        for label in labels:
            seen = ", ".join(f"{number} {side}" for side, number in label.counts.items())
            yield f"  {shortened(label.raw)!r} ({seen}): {label.target or 'unmapped'}"
        yield from (f"  {raw!r}: in the mapping, and in none of these rows" for raw in preview.unseen(name))
