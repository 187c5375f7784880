"""Take in what a manifest names, report its integrity, and leave a draft audit."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.utils import timezone
from tqdm import tqdm

from audits.exports.tables import csv_lines, lines_write
from audits.management.lines import integrity_lines
from audits.manifest import load_manifest
from audits.manifest.refusals import COLUMNS, NONE_REFUSED, find_refusals
from audits.models import AuditState
from audits.services.jobs import OFTEN
from audits.services.opening import audit_open
from audits.services.uploads import require_within_limit
from core.commands import Command as Base
from core.commands import Result
from core.services import operator_for
from judges.intake.streams import Meter


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("manifest", type=Path, metavar="MANIFEST", help="the YAML file that describes the audit")
        parser.add_argument(
            "--files", type=Path, metavar="DIR", help="where the files it names are, if not beside the manifest"
        )
        parser.add_argument(
            "--good-rows",
            type=Path,
            metavar="REFUSED.csv",
            help="leave out rows that are refused, with their cases, and write them to this file; without it, one "
            "refused row refuses all",
        )

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        manifest = load_manifest(options["manifest"], files=options["files"])
        require_within_limit([options["manifest"], *manifest.paths.values()])
        refusals = NONE_REFUSED
        if options["good_rows"]:
            refusals = find_refusals(manifest, with_bar)
            lines_write(options["good_rows"], "csv", csv_lines(COLUMNS, refusals.lines()))
        with operator_for(project=manifest.project, now=timezone.now()) as actor:
            opened = audit_open(
                manifest=manifest, actor=actor, now=timezone.now(), progress=with_bar, refusals=refusals
            )
        files = [reading.as_dict() for reading in opened.files]
        result = {
            "audit": opened.audit.name,
            "project": opened.audit.project.name,
            "state": opened.audit.state,
            "files": files,
            "integrity": opened.integrity,
            "refused": {"rows": len(refusals.rows), "cases": len(refusals.cases)},
        }

        def lines() -> list[str]:
            taken = [
                f"{file['file']}: {file['what']}: {file['created']} new, {file['duplicate']} there already, "
                f"{file['missing']} rows without content, {file['duplicates']} repeated rows"
                for file in files
            ]
            name = f"{opened.audit.project.name}/{opened.audit.name}"
            draft = opened.audit.state == AuditState.DRAFT
            next_step = f"{name} is a draft; next: manage.py register {name}" if draft else f"{name} is registered"
            return [*taken, *integrity_lines(result["integrity"]), next_step]

        return result, lines, opened.integrity["passed"]


def with_bar(what: str, rows: Iterator[Any], expected: int | None = None, meter: Meter | None = None) -> Iterator[Any]:
    """A progress bar on standard error, only where somebody watches and the work takes a while."""
    if meter is not None:
        return _with_bytes(what, rows, meter)
    return iter(tqdm(rows, desc=what, total=expected, unit=" rows", disable=None, delay=1, leave=False))


def _with_bytes(what: str, rows: Iterator[Any], meter: Meter) -> Iterator[Any]:
    with tqdm(desc=what, total=meter.size, unit="B", unit_scale=True, disable=None, delay=1, leave=False) as bar:
        for number, row in enumerate(rows):
            if number % OFTEN == 0:
                bar.update(meter.done - bar.n)
            yield row
