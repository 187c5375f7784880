"""The report of an audit: one self-contained page, and the same content as JSON."""

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.template.loader import render_to_string

from audits.exports.charts import width_curve
from audits.exports.pool import estimate_command, pool_write
from audits.exports.wording import POLICIES, conclusion, gain_words, interval_words, remaining_words
from audits.models import Audit, AuditState
from audits.plans import target_half_width
from audits.selectors import known_cells, last_look, looks_of, progress_of, reviewer_agreement, standing_settlements
from core.version import VERSION
from judges.integrity import LISTED, integrity_of
from judges.models import Reader, Run
from judges.selectors import pairs_of
from judges.transitions import transitions_of

KINDS = {"judge_swap": "Judge swap", "version_upgrade": "Version upgrade"}


def report_data(audit: Audit) -> dict[str, Any]:
    """Everything the report says, as plain values."""
    pairs = list(pairs_of(audit.comparison))
    look = last_look(audit)
    registered = audit.state == AuditState.REGISTERED
    return {
        "audit": audit.name,
        "project": audit.project.name,
        "kind": audit.comparison.kind,
        "state": audit.state,
        "code_version": VERSION,
        "manifest_hash": audit.manifest_hash,
        "plan": audit.plan,
        "half_width": target_half_width(audit.plan),
        "integrity": integrity_of(audit.comparison, pairs).as_dict(),
        "transitions": transitions_of(audit.comparison, pairs).as_dict(),
        "frame_hash": audit.frame.sha256 if registered else None,
        "registrations": list(audit.registrations.order_by("n").values("n", "labels", "code_version", "frame_hash")),
        "progress": progress_of(audit).as_dict(),
        "settled_how": dict(
            standing_settlements(audit).values_list("how").annotate(number=Count("pk")).order_by("-number", "how")
        ),
        "known_cells": known_cells(audit).as_dict() if registered else None,
        "result": look.result if look else None,
        "remaining": look.remaining if look else None,
        "secondary": look.secondary if look else None,
        "agreement": asdict(reviewer_agreement(audit)),
        "estimate_again": estimate_command(audit, "pool.csv") if registered else None,
        "looks": [
            {"watermark": one.watermark, "labels": one.labels, "point": one.point, "low": one.low, "high": one.high}
            for one in looks_of(audit)
        ],
    }


def report_html(audit: Audit, data: dict[str, Any], now: datetime) -> str:
    looks = list(looks_of(audit))
    look = looks[-1] if looks else None
    comparison, half_width = audit.comparison, data["half_width"]
    title = f"Interval of {audit.plan['estimand']} against the number of settled labels"
    context = data | {
        "audit": audit,
        "made_at": now,
        "kind_words": KINDS[comparison.kind],
        "policy_words": POLICIES[audit.plan["policy"]],
        "listed": LISTED,
        "sides": [
            (data["integrity"]["old"], "Old (baseline)", _judge(comparison.old_run, comparison.old_reader)),
            (data["integrity"]["new"], "New (candidate)", _judge(comparison.new_run, comparison.new_reader)),
        ],
        "transitions": _matrices(data["transitions"]),
        "registrations": audit.registrations.order_by("n"),
        "progress": progress_of(audit),
        "double_review_share": audit.review["double_review_share"],
        "settled_how": list(data["settled_how"].items()),
        "look": look,
        "looks": looks,
        "cells": data["known_cells"],
        "cells_caption": "Verdict right, by side" if comparison.is_swap else "Human label at its best, by side",
        "conclusion": conclusion(look.result, half_width=half_width) if look else "Nothing yet: no label is settled.",
        "gain_words": gain_words(look.result) if look else "",
        "remaining_words": remaining_words(look.remaining, half_width=half_width) if look else "",
        "interval_words": interval_words(look.result) if look else "",
        "chart": width_curve(looks, half_width=half_width, title=title),
        "chart_title": title,
        "style": (settings.BASE_DIR / "static" / "css" / "report.css").read_text(encoding="utf-8"),
    }
    return render_to_string("audits/report.html", context)


def report_write(audit: Audit, folder: Path, now: datetime) -> dict[str, Any]:
    """Write `report.html` and `report.json` into a folder, made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    data = report_data(audit)
    html, plain, pool = folder / "report.html", folder / "report.json", folder / "pool.csv"
    files = [html, plain]
    if audit.state == AuditState.REGISTERED:
        pool_write(audit, pool)
        files.append(pool)
    html.write_text(report_html(audit, data, now), encoding="utf-8")
    plain.write_text(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False), encoding="utf-8")
    return {"files": [str(file) for file in files], "report": data}


def _judge(run: Run, reader: Reader) -> str:
    content = run.generator.content
    prompt = f", prompt {content['prompt_version']}" if content["prompt_version"] else ""
    return (
        f"judge {run.generator.model}{prompt} (generator {run.generator.identity[:12]}), run {run.ordinal}, "
        f"read by {reader} on {run.system_version}"
    )


def _matrices(transitions: dict[str, Any]) -> dict[str, Any]:
    labels = transitions["labels"]
    return transitions | {
        "rows": list(zip(labels, transitions["all"]["counts"], strict=True)),
        "slices": [{"name": name, "values": list(values.items())} for name, values in transitions["slices"].items()],
    }
