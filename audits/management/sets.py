"""The shape of the commands that make and list sets of cases whose label is known."""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from django.utils import timezone

from adjudication.models import QueuePurpose
from audits.anchorsets import anchor_set_find
from audits.calibration import KnownSet, KnownShare, share_dict
from audits.selectors import audit_find
from audits.services.anchoring import (
    MadeSet,
    known_set_from_anchors,
    known_set_from_audit,
    known_set_from_file,
)
from core.commands import Command, Result
from core.errors import InputError, Problem
from core.models import Author, Project
from core.selectors import project_find
from core.services import operator_of


class SetCommand(Command):
    """Lists, or with NAME and a source makes a set or adds to one."""

    purpose: QueuePurpose

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("name", metavar="NAME", nargs="?", help="of the set to make, or to add to")
        source = parser.add_mutually_exclusive_group()
        source.add_argument("--from", dest="audit", metavar="AUDIT", help="an audit: its references in force")
        source.add_argument("--set", metavar="NAME[@VERSION]", help="an anchor set; without a version its latest")
        source.add_argument("--file", type=Path, metavar="FILE", help="anchors as they were exported")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        project, sources = project_find(options["project"]), (options["audit"], options["set"], options["file"])
        if not options["name"] and not any(sources):
            return self.listed(project)
        if not options["name"] or not any(sources):
            raise InputError(
                Problem("a set is made of a name and a source", allowed="NAME with --from, --set or --file")
            )
        made = self._made(project, options, operator_of(project), timezone.now())
        return {"project": project.name, **asdict(made)}, lambda: _made_lines(made), True

    def listed(self, project: Project) -> tuple[Result, Callable[[], list[str]], bool]:
        """The sets that there are, and how people fared."""
        raise NotImplementedError

    def _made(self, project: Project, options: dict[str, Any], actor: Author, now: datetime) -> MadeSet:
        stated: dict[str, Any] = {"name": options["name"], "purpose": self.purpose, "actor": actor, "now": now}
        if options["file"]:
            return known_set_from_file(project=project, path=options["file"], **stated)
        if options["set"]:
            return known_set_from_anchors(anchor_set=anchor_set_find(project, options["set"]), **stated)
        audit = audit_find(f"{project.name}/{options['audit'].removeprefix(project.name + '/')}")
        return known_set_from_audit(audit=audit, **stated)


def set_dict(known: KnownSet) -> dict[str, Any]:
    return asdict(known) | {"people": [share_dict(share) for share in known.people]}


def set_line(known: KnownSet) -> str:
    used = f"asked for by {', '.join(known.used_by)}" if known.used_by else "no audit asks for it"
    return f"{known.name}: {known.cases} cases under rubric {known.rubric}; {used}"


def share_line(share: KnownShare) -> str:
    when = f", {share.period}" if share.period else ""
    limits = f"{share.low * 100:.1f} % to {share.high * 100:.1f} %"
    found = f"{share.right} of n = {share.n} as on record ({share.share * 100:.1f} %, {limits}"
    return f"  {share.person}{when}: {found}, Wilson, 95 % level)"


def _made_lines(made: MadeSet) -> list[str]:
    return [made.words, f"  under rubric {made.rubric}"]
