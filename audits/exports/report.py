"""The report of an audit: one self-contained page, and the same content as JSON."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.template.loader import render_to_string

from adjudication.models import Review
from audits.diagnoses import DiagnosisCounts, diagnosis_counts
from audits.exports.charts import CHANGES_TITLE, CHART_TITLE, change_chart, evenly, looks_drawn, width_curve
from audits.exports.comparison import change_rows, comparison_tables
from audits.exports.pool import estimate_command, pool_write
from audits.exports.wording import (
    KINDS,
    POLICIES,
    agreement_words,
    conclusion,
    gain_words,
    interval_words,
    official_words,
    remaining_words,
)
from audits.gate import NO_GATE
from audits.models import Audit, AuditState, Frame, Look
from audits.plans import half_width_of
from audits.progress import Progress, progress_of
from audits.reuse import reused_sources, reuses_simulated
from audits.selectors import (
    column_warnings_of,
    known_cells,
    last_look,
    looks_listed,
    looks_of,
    reviewer_agreement,
    standing_settlements,
)
from audits.verdicts import gate_dicts, gate_now, inventory_dict, official_change, sign_off_dicts, sign_offs_of
from core.models import AuthorKind
from core.version import VERSION
from judges.holdouts import holdout_of, is_sealed
from judges.integrity import LISTED
from judges.models import Comparison, Reader, Run
from judges.summaries import summary_of

MOST_LOOKS = 50
MOST_ROWS = 100


@dataclass(frozen=True)
class _Found:
    """What both forms of a report say: found once, as some of it reads every decision."""

    look: Look | None
    progress: Progress
    data: dict[str, Any]


def report_data(audit: Audit, now: datetime) -> dict[str, Any]:
    """Everything the report says, as plain values."""
    return _with_looks(audit, _found(audit, now))


def report_html(audit: Audit, now: datetime, chart: str | None = None, changes_chart: str = "") -> str:
    """The page. The charts are those drawn before; without `chart`, both are drawn here."""
    return _html(audit, now, _found(audit, now), chart, changes_chart)


def report_both(audit: Audit, now: datetime) -> tuple[dict[str, Any], str]:
    """The values and the page, of the same moment."""
    found = _found(audit, now)
    return _with_looks(audit, found), _html(audit, now, found)


def _found(audit: Audit, now: datetime) -> _Found:
    look, progress = last_look(audit), progress_of(audit, now)
    return _Found(look, progress, _data(audit, look, progress))


def _with_looks(audit: Audit, found: _Found) -> dict[str, Any]:
    return found.data | {"looks": list(looks_of(audit).values("watermark", "labels", "point", "low", "high"))}


def _data(audit: Audit, look: Look | None, progress: Progress) -> dict[str, Any]:
    summary = summary_of(audit.comparison)
    registered = audit.state == AuditState.REGISTERED
    frame_hash = Frame.objects.filter(audit=audit).values_list("sha256", flat=True).first()
    return {
        "audit": audit.name,
        "project": audit.project.name,
        "kind": audit.comparison.kind,
        "state": audit.state,
        "code_version": VERSION,
        "manifest_hash": audit.manifest_hash,
        "plan": audit.plan,
        "half_width": half_width_of(audit),
        "integrity": summary.integrity,
        "column_warnings": column_warnings_of(audit),
        "transitions": summary.transitions,
        "stability": summary.stability,
        "frame_hash": frame_hash,
        "registrations": list(audit.registrations.order_by("n").values("n", "labels", "code_version", "frame_hash")),
        "progress": progress.as_dict(),
        "settled_how": dict(settled_how(audit)),
        "labelled_by": dict(labelled_by(audit)),
        "reused_from": dict(reused_sources(audit)),
        "diagnoses": diagnosis_counts(audit).as_dict(),
        "gate": gate_dicts(gate_now(audit)),
        "sign_offs": sign_off_dicts(audit),
        "inventory": inventory_dict(audit),
        "official": official_words(official_change(audit)),
        "known_cells": known_cells(audit).as_dict() if registered else None,
        "result": look.result if look else None,
        "remaining": look.remaining if look else None,
        "secondary": look.secondary if look else None,
        "reruns": look.reruns if look else None,
        "by_slice": look.slices if look else None,
        "agreement": asdict(reviewer_agreement(audit)),
        "estimate_again": estimate_command(audit, "pool.csv")
        if registered and not is_sealed(audit.comparison)
        else None,
        "holdout": holdout.as_dict() if (holdout := holdout_of(audit.comparison)) else None,
    }


def _html(audit: Audit, now: datetime, found: _Found, chart: str | None = None, changes_chart: str = "") -> str:
    look, progress, data = found.look, found.progress, found.data
    looks = list(looks_of(audit).values_list("pk", flat=True))
    comparison, half_width = audit.comparison, data["half_width"]
    if chart is None:
        chart = width_curve(looks_drawn(audit), half_width=half_width, remaining=data["remaining"], title=CHART_TITLE)
        changes_chart = change_chart(change_rows(data["transitions"], data["stability"]))
    tables = comparison_tables(
        data["integrity"], data["transitions"], data["stability"], most=MOST_ROWS, columns=data["column_warnings"]
    )
    context = (
        data
        | tables
        | {
            "audit": audit,
            "holdout": holdout_of(comparison),
            "changes_chart": changes_chart,
            "changes_title": CHANGES_TITLE,
            "made_at": now,
            "kind_words": KINDS[comparison.kind],
            "policy_words": POLICIES[audit.plan["policy"]],
            "agreement_words": agreement_words(data["agreement"]),
            "listed": LISTED,
            "sides": side_rows(comparison, data["integrity"]),
            "registrations": audit.registrations.order_by("n"),
            "progress": progress,
            "double_review_share": audit.review["double_review_share"],
            "double_review_slices": list(audit.review.get("double_review_slices", {}).items()),
            "no_gate": NO_GATE,
            "sign_offs": sign_offs_of(audit),
            "diagnosis_words": DiagnosisCounts(**data["diagnoses"]).words,
            "settled_how": list(data["settled_how"].items()),
            "labelled_by": list(data["labelled_by"].items()),
            "simulated": AuthorKind.SIMULATED in data["labelled_by"] or reuses_simulated(audit),
            "reused": list(data["reused_from"].items()),
            "look": look,
            "looks": looks_listed(audit).filter(pk__in=evenly(looks, MOST_LOOKS)).reverse(),
            "all_looks": len(looks),
            "cells": data["known_cells"],
            "cells_caption": "Verdict right, by side" if comparison.is_swap else "Human label at its best, by side",
            "conclusion": conclusion(look.result, half_width=half_width)
            if look
            else "Nothing yet: no label is settled.",
            "gain_words": gain_words(look.result) if look else "",
            "remaining_words": remaining_words(look.remaining, half_width=half_width) if look else "",
            "interval_words": interval_words(look.result) if look else "",
            "chart": chart,
            "chart_title": CHART_TITLE,
            "style": report_style(),
        }
    )
    return render_to_string("audits/report.html", context)


def report_style() -> str:
    return (settings.BASE_DIR / "static" / "css" / "report.css").read_text(encoding="utf-8")


def report_write(audit: Audit, folder: Path, now: datetime) -> dict[str, Any]:
    """Write `report.html` and `report.json` into a folder, made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    html, plain, pool = folder / "report.html", folder / "report.json", folder / "pool.csv"
    files = [html, plain]
    if audit.state == AuditState.REGISTERED and not is_sealed(audit.comparison):
        pool_write(audit, pool)
        files.append(pool)
    data, page = report_both(audit, now)
    html.write_text(page, encoding="utf-8")
    plain.write_text(report_json(data), encoding="utf-8")
    return {"files": [str(file) for file in files], "report": data}


def report_json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def settled_how(audit: Audit) -> list[tuple[str, int]]:
    """How the decisions in force on drawn cases came about, the commonest first."""
    sampled = standing_settlements(audit).filter(item__draws__audit=audit)
    return list(sampled.values_list("how").annotate(number=Count("pk")).order_by("-number", "how"))


def labelled_by(audit: Audit) -> list[tuple[str, int]]:
    """Who labelled the drawn cases: how many authors of each kind (member, imported, simulated)."""
    drawn = Review.objects.filter(item__draws__audit=audit, surplus=False)
    return list(
        drawn.values_list("author__kind").annotate(number=Count("author", distinct=True)).order_by("author__kind")
    )


def side_rows(comparison: Comparison, integrity: dict[str, Any]) -> list[tuple[dict[str, Any], str, str]]:
    """Each side's counts, its name, and its judge in words."""
    old, new = judge_words(comparison)
    return [(integrity["old"], "Old (baseline)", old), (integrity["new"], "New (candidate)", new)]


def judge_words(comparison: Comparison) -> tuple[str, str]:
    return _judge(comparison.old_run, comparison.old_reader), _judge(comparison.new_run, comparison.new_reader)


def _judge(run: Run, reader: Reader) -> str:
    content = run.generator.content
    prompt = f", prompt {content['prompt_version']}" if content["prompt_version"] else ""
    return (
        f"judge {run.generator.model}{prompt} (generator {run.generator.identity[:12]}), run {run.ordinal}, "
        f"read by {reader} on {run.system_version}"
    )
