"""Make the next version of an anchor set from an audit's settled labels, or take one in as it was exported; without
either list the sets of a project."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.utils import timezone

from audits.anchorsets import Changes, anchor_set_find, anchor_sets_of, changes_between, lines_of
from audits.models import AnchorSet
from audits.selectors import audit_find
from audits.services.anchorchecks import anchor_checks_make
from audits.services.anchorsets import anchor_set_make, anchor_set_take
from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem
from core.models import Project
from core.selectors import project_find
from core.services import operator_of


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        source = parser.add_mutually_exclusive_group()
        source.add_argument("--from", dest="audit", metavar="AUDIT", help="make a version of its references in force")
        source.add_argument("--file", type=Path, metavar="FILE", help="take in a .csv, .jsonl or .parquet of a set")
        source.add_argument("--changes", nargs=2, metavar="NAME@VERSION", help="what differs between two versions")
        parser.add_argument("--name", metavar="NAME", help="of the set that is made; otherwise the audit's")
        parser.add_argument("--licence", metavar="TEXT", help="what others may do with it; to be said for each version")
        parser.add_argument("--card", type=Path, metavar="FILE.card.json", help="the data card that came with the file")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        project = project_find(options["project"])
        if options["changes"]:
            return _changes(project, *options["changes"])
        if not options["audit"] and not options["file"]:
            sets = list(anchor_sets_of(project))
            result: Result = {"project": project.name, "anchor_sets": [_as_dict(one) for one in sets]}
            return result, lambda: [line for one in sets for line in _lines(one)], True
        made, present = _made(project, options)
        anchor_checks_make(now=timezone.now(), project=project)
        told = f"{made} is here already, unchanged" if present else f"{made}: {made.anchors:,} anchors"
        return {"project": project.name, **_as_dict(made), "present": present}, lambda: [told, *_lines(made)[1:]], True


def _made(project: Project, options: dict[str, Any]) -> tuple[AnchorSet, bool]:
    actor, now = operator_of(project), timezone.now()
    if options["file"]:
        taken = anchor_set_take(path=options["file"], card=options["card"], actor=actor, now=now)
        return taken.anchor_set, taken.present
    audit = audit_find(f"{project.name}/{options['audit'].removeprefix(project.name + '/')}")
    name = options["name"] or audit.name.replace("/", "-")
    return anchor_set_make(audit=audit, name=name, licence=options["licence"] or "", actor=actor, now=now), False


def _changes(project: Project, old: str, new: str) -> tuple[Result, Callable[[], list[str]], bool]:
    before, after = (anchor_set_find(project, stated) for stated in (old, new))
    if before.name != after.name:
        allowed = "two versions of one set"
        raise InputError(Problem("these are versions of two sets", value=f"{before}, {after}", allowed=allowed))
    found = changes_between(before, lines_of(after))
    return {"from": str(before), "to": str(after), **found.as_dict()}, lambda: [f"{after}. {found.words}"], True


def _as_dict(one: AnchorSet) -> Result:
    return {
        "name": one.name,
        "version": one.version,
        "anchors": one.anchors,
        "content_hash": one.content_hash,
        "licence": one.licence,
        "rubric": {"name": one.rubric, "version": one.rubric_version, "hash": one.rubric_hash},
        "from": one.audit.name if one.audit else one.source,
        "at": one.at.isoformat(),
        "by": one.actor.pseudonym,
        "changes": one.changes or None,
    }


def _lines(one: AnchorSet) -> list[str]:
    origin = f"audit {one.audit.name}" if one.audit else one.source
    return [
        f"{one}: {one.anchors:,} anchors under rubric {one.rubric} {one.rubric_version}, from {origin}, "
        f"{one.at:%Y-%m-%d %H:%M} UTC; licence: {one.licence}",
        f"  content {one.content_hash}",
        *([f"  {Changes(**one.changes).words}"] if one.changes else []),
    ]
