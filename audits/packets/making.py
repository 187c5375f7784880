"""Writing the handoff packet of an audit."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby, tee
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TextIO

from django.db.models import FilteredRelation, Q

from adjudication.models import Settlement
from audits.exports.anchors import Anchor, anchors_of
from audits.exports.report import report_both, report_json
from audits.exports.reviews import review_lines
from audits.exports.tables import csv_lines, record_lines
from audits.frames import FrameRow, frame_of
from audits.models import Audit
from audits.packets.archive import ArchiveWriter
from audits.packets.contents import (
    ANCHORS_CSV,
    ANCHORS_JSONL,
    CASES,
    DIAGNOSES,
    FACTS,
    FORMAT,
    FRAME,
    GUIDELINE,
    INTEGRITY,
    LOOKS,
    MANIFEST,
    PAIRS,
    REPORT_HTML,
    REPORT_JSON,
    REVIEWS,
    SETTLEMENTS,
    STABILITY,
    TRANSITIONS,
    CaseLine,
    DiagnosisLine,
    SettlementLine,
)
from audits.packets.pairs import PAIR_COLUMNS, pair_row, slices_text
from audits.selectors import looks_of, require_registered
from audits.verdicts import gate_dicts, gate_now, inventory_dict, sign_off_dicts
from core.models import Author
from core.moments import one_moment
from core.times import Written
from core.version import VERSION
from judges.holdouts import require_open
from judges.models import Comparison, Reader, Run
from judges.progress import Progress, silent
from judges.selectors import SLICES, pairs_of, slices_of
from judges.summaries import summary_of

CHUNK = 2000


def packet_write(
    *, audit: Audit, path: Path, actor: Author, now: datetime, progress: Progress = silent
) -> dict[str, Any]:
    """Write the packet to a file; how many rows each table has comes back. `progress` is told of every row about
    cases; what people add to meanwhile is read as of one moment, in which nothing can be noted down."""
    require_registered(audit)
    require_open(audit.comparison)
    summary, comparison = summary_of(audit.comparison), audit.comparison
    of_cases: dict[str, Iterable[str]] = {
        CASES: record_lines("csv", CaseLine, _cases(comparison)),
        PAIRS: csv_lines(PAIR_COLUMNS, map(pair_row, pairs_of(comparison))),
        FRAME: record_lines("csv", FrameRow, frame_of(audit.frame)),
    }
    cases = comparison.case_set.cases.filter(partition=comparison.partition).count()
    expected = dict.fromkeys((CASES, PAIRS), cases + 1)  # the header is a line too
    rows: dict[str, int] = {}
    with ArchiveWriter(path) as archive:
        archive.add(MANIFEST, [audit.manifest])
        archive.add(GUIDELINE, [audit.rubric.guideline])
        archive.add(INTEGRITY, [report_json(summary.integrity)])
        archive.add(TRANSITIONS, [report_json(summary.transitions)])
        archive.add(STABILITY, [report_json(summary.stability)])
        for name, lines in of_cases.items():
            what = f"{FRAME}, then what people said" if name == FRAME else name
            rows[name] = archive.add(name, progress(what, iter(lines), expected.get(name))) - 1
        with one_moment():
            archive.add(FACTS, [report_json(_facts(audit, actor, now))])
            rows |= _add_answers(archive, audit, path.parent)
            data, page = report_both(audit, now)
        archive.add(REPORT_JSON, [report_json(data)])
        archive.add(REPORT_HTML, [page])
    return {"file": str(path), "bytes": path.stat().st_size, "rows": rows}


def _add_answers(archive: ArchiveWriter, audit: Audit, folder: Path) -> dict[str, int]:
    """What people said, and what follows from it; how many rows each table has comes back."""
    rows = {
        SETTLEMENTS: archive.add(SETTLEMENTS, record_lines("csv", SettlementLine, _settlements(audit))) - 1,
        REVIEWS: archive.add(REVIEWS, review_lines(audit, "csv")) - 1,
        DIAGNOSES: archive.add(DIAGNOSES, record_lines("csv", DiagnosisLine, _diagnoses(audit))) - 1,
        LOOKS: archive.add(LOOKS, _looks(audit)),
    }
    with TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline="\n", dir=folder) as beside:
        rows[ANCHORS_CSV] = archive.add(ANCHORS_CSV, _both_ways(anchors_of(audit), beside)) - 1
        beside.seek(0)
        archive.add(ANCHORS_JSONL, beside)
    return rows


def _both_ways(anchors: Iterator[Anchor], beside: TextIO) -> Iterator[str]:
    """The lines of anchors.csv, while those of anchors.jsonl are written beside: to read the anchors takes longer
    than to write them twice."""
    one, other = tee(anchors)
    table, lines = record_lines("csv", Anchor, one), record_lines("jsonl", Anchor, other)
    yield next(table)
    for row, line in zip(table, lines, strict=True):
        beside.write(line)
        yield row


def _facts(audit: Audit, actor: Author, now: datetime) -> dict[str, Any]:
    comparison, rubric = audit.comparison, audit.rubric
    return {
        "format": FORMAT,
        "made_at": now.isoformat(),
        "made_by": actor.pseudonym,
        "code_version": VERSION,
        "project": audit.project.name,
        "audit": audit.name,
        "kind": comparison.kind,
        "manifest_hash": audit.manifest_hash,
        "case_set": {
            "name": comparison.case_set.name,
            "version": comparison.case_set.version,
            "partition": comparison.partition,
        },
        "rubric": {
            "name": rubric.name,
            "version": rubric.version,
            "hash": rubric.content_hash,
            "scale": rubric.scale,
        },
        "labels": comparison.labels,
        "rules": comparison.rules,
        "slices": comparison.slices,
        "blocking_slices": comparison.blocking_slices,
        "sides": {
            "old": _side(comparison.old_run, comparison.old_reader),
            "new": _side(comparison.new_run, comparison.new_reader),
        },
        "plan": audit.plan,
        "review": audit.review,
        "registrations": [
            {
                "n": one.n,
                "at": one.at.isoformat(),
                "actor": one.actor.pseudonym,
                "seed": one.seed,
                "frame_hash": one.frame_hash,
                "code_version": one.code_version,
                "labels": one.labels,
            }
            for one in audit.registrations.select_related("actor").order_by("n")
        ],
        "gate": gate_dicts(gate_now(audit)),
        "sign_offs": sign_off_dicts(audit),
        "inventory": inventory_dict(audit),
        "strata": list(audit.strata.order_by("name").values("name", "kind", "size")),
    }


def _side(run: Run, reader: Reader) -> dict[str, Any]:
    mapping = reader.mapping
    return {
        "system_version": run.system_version.name,
        "generator": {"identity": run.generator.identity, **run.generator.content},
        "run": run.ordinal,
        "presentation_order": run.presentation_order,
        "reader": {"identity": reader.identity, "parser": reader.parser},
        "mapping": {
            "name": str(mapping),
            "approved_by": mapping.approved_by,
            "note": mapping.note,
            "table": mapping.table,
        },
    }


def _cases(comparison: Comparison) -> Iterator[CaseLine]:
    sides = {
        side: FilteredRelation("artifacts", condition=Q(artifacts__system_version=run.system_version_id))
        for side, run in (("old", comparison.old_run), ("new", comparison.new_run))
    }
    hashes = [f"{side}__{name}_hash" for side in sides for name in ("output", "evidence")]
    cases = comparison.case_set.cases.filter(partition=comparison.partition).annotate(**sides).order_by("pk")
    rows = cases.values_list("case_id", "version", "input_hash", "partition", "cluster", SLICES, *hashes)
    for *case, slices, old_output, old_evidence, new_output, new_evidence in rows.iterator(CHUNK):
        yield CaseLine(*case, slices_text(slices_of(slices)), old_output, old_evidence, new_output, new_evidence)


def _settlements(audit: Audit) -> Iterator[SettlementLine]:
    """A decision has a row of the query for each artifact that it gives a label."""
    comparison = audit.comparison
    old, new = comparison.old_run.system_version_id, comparison.new_run.system_version_id
    reference = ("references__artifact__system_version", "references__label")
    columns = ("number", "item__case__case_id", "item__case__version", "how", Written("at"), *reference)
    rows = Settlement.objects.filter(queue=audit.queue).order_by("number").values_list(*columns).iterator(CHUNK)
    for decision, given in groupby(rows, key=itemgetter(slice(5))):
        labels = {system: label for *_, system, label in given}
        yield SettlementLine(*decision, labels.get(old, ""), labels.get(new, ""))


def _diagnoses(audit: Audit) -> Iterator[DiagnosisLine]:
    said = audit.diagnoses.select_related("case", "actor").order_by("case", "revision")
    for one in said.iterator(chunk_size=CHUNK):
        case, at = one.case, one.at.isoformat()
        identity = (case.case_id, case.version, one.revision)
        yield DiagnosisLine(*identity, one.code, one.owner, one.kind, one.words, one.actor.pseudonym, at)


def _looks(audit: Audit) -> Iterator[str]:
    for look in looks_of(audit).iterator(chunk_size=100):
        yield (
            json.dumps(
                {
                    "registration": look.registration.n,
                    "watermark": look.watermark,
                    "at": look.at.isoformat(),
                    "code_version": look.code_version,
                    "final": look.final,
                    "result": look.result,
                    "secondary": look.secondary,
                    "slices": look.slices,
                    "remaining": look.remaining,
                },
                ensure_ascii=False,
                allow_nan=False,
            )
            + "\n"
        )
