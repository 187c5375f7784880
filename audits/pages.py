"""What the pages of one audit show, as values ready for their templates."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.urls import reverse

from adjudication.models import SettlementHow
from audits.exports.comparison import comparison_tables, integrity_state, integrity_tables, integrity_words
from audits.exports.report import settled_how, side_rows
from audits.models import Audit, AuditState, ChangeChart, Job, JobKind, JobState
from audits.overview import Standing, address, standing_of
from audits.selectors import column_warnings_of, last_look
from audits.services.jobs import may_cancel
from audits.services.uploads import packet_path, preview_paths, refused_path
from core.errors import Problem
from core.identity import text_hash
from core.pages import Link
from judges.holdouts import holdout_of
from judges.integrity import LISTED
from judges.summaries import summary_of

PAIRS, DIAGNOSE = "Pairs", "Diagnose"
NAMING_CASES = (PAIRS, DIAGNOSE)
TABS = [
    ("Integrity", "integrity"),
    ("Transitions", "transitions"),
    (PAIRS, "pairs"),
    ("Plan", "plan"),
    ("Monitor", "monitor"),
    (DIAGNOSE, "diagnose"),
    ("Verdict", "verdict"),
    ("Results", "results"),
]
SHOWN_VALUES = 50
KEPT_SHOWN = 5
LATE = 5  # seconds after which a job that nobody took says so


def audit_context(audit: Audit, current: str, standing: Standing | None = None) -> dict[str, Any]:
    """What stands around every page of an audit."""
    holdout = holdout_of(audit.comparison)
    shown = [tab for tab in TABS if tab[0] not in NAMING_CASES or not (holdout and holdout.sealed)]
    return {
        "audit": audit,
        "standing": standing or standing_of(audit),
        "tabs": [Link(label, address(name, audit), name == current) for label, name in shown],
        "current": current,
        "holdout": holdout,
        "holdout_url": address("holdout", audit),
        "integrity_words": integrity_words(integrity_state(audit)),
    }


def holdout_context(audit: Audit) -> dict[str, Any]:
    return audit_context(audit, "holdout")


def integrity_context(audit: Audit) -> dict[str, Any]:
    summary = summary_of(audit.comparison)
    integrity = summary.integrity
    tables = integrity_tables(integrity, summary.stability, values=SHOWN_VALUES, columns=column_warnings_of(audit))
    return (
        audit_context(audit, "integrity")
        | tables
        | {
            "integrity": integrity,
            "sides": side_rows(audit.comparison, integrity),
            "listed": LISTED,
        }
    )


def transitions_context(audit: Audit) -> dict[str, Any]:
    summary = summary_of(audit.comparison)
    reports = (summary.integrity, summary.transitions, summary.stability)
    drawn = ChangeChart.objects.filter(audit=audit).exclude(svg="").exists()
    return (
        audit_context(audit, "transitions")
        | comparison_tables(*reports, most=SHOWN_VALUES)
        | {
            "integrity": summary.integrity,
            "changes_url": address("changes", audit) if drawn else "",
            "integrity_url": address("integrity", audit),
            "report_url": address("report", audit, "json"),
            "blocking_slices": audit.comparison.blocking_slices,
        }
    )


def results_context(audit: Audit) -> dict[str, Any]:
    how, look = settled_how(audit), last_look(audit)
    return audit_context(audit, "results") | {
        "look": look,
        "secondary": look.secondary if look else None,
        "reruns": look.reruns if look else None,
        "by_slice": look.slices if look else None,
        "registered": audit.state == AuditState.REGISTERED,
        "settled_how": how,
        "underspecified": dict(how).get(SettlementHow.UNDERSPECIFIED, 0),
        "results_url": address("results", audit),
        "report_url": address("report", audit, "html"),
        "json_url": address("report", audit, "json"),
        "csv_url": address("anchors", audit, "csv"),
        "jsonl_url": address("anchors", audit, "jsonl"),
        "anchor_sets_url": address("audit-anchors", audit),
        "reviews_csv_url": address("reviews", audit, "csv"),
        "reviews_jsonl_url": address("reviews", audit, "jsonl"),
        "packet_url": address("packet", audit),
        "packets": _packets(audit),
        "plan_url": address("plan", audit),
    }


def _packets(audit: Audit) -> list[tuple[Job, str]]:
    """The last packets that are still kept, newest first, and where they are."""
    made = Job.objects.filter(audit=audit, kind=JobKind.PACKET, state=JobState.DONE).order_by("-pk")[:KEPT_SHOWN]
    return [
        (job, reverse("audits:job-packet", args=[audit.project.name, job.pk]))
        for job in made.select_related("actor")
        if packet_path(job).is_file()
    ]


TITLES = {
    JobKind.INTAKE: "Taking in what you sent",
    JobKind.REGISTER: "Registering the plan",
    JobKind.EXTEND: "Drawing more cases",
    JobKind.MAKE_ANCHORS: "Making an anchor set",
    JobKind.TAKE_ANCHORS: "Taking in an anchor set",
    JobKind.LABELS: "Taking in labels",
    JobKind.PACKET: "Making the handoff packet",
    JobKind.KNOWN_SET: "Making a set of known cases",
    JobKind.RETENTION: "Retention of texts",
}
TARGETS_OF_JOBS = {
    JobKind.INTAKE: "integrity",
    JobKind.REGISTER: "monitor",
    JobKind.EXTEND: "monitor",
    JobKind.MAKE_ANCHORS: "audit-anchors",
    JobKind.TAKE_ANCHORS: "anchor-sets",
    JobKind.LABELS: "monitor",
    JobKind.PACKET: "results",
    JobKind.KNOWN_SET: "calibration",
    JobKind.RETENTION: "retention",
}
# Of jobs that no audit is tied to: where to ask for them again.
AGAIN_AT = {
    JobKind.TAKE_ANCHORS: "audits:anchor-sets",
    JobKind.KNOWN_SET: "audits:anchor-sets",
    JobKind.RETENTION: "audits:retention",
}
NOTHING_CHANGED = {
    JobKind.INTAKE: "No audit was opened, and nothing was taken in.",
    JobKind.REGISTER: "The plan is still a draft: nothing was drawn.",
    JobKind.EXTEND: "The sample is as it was.",
    JobKind.MAKE_ANCHORS: "No version was made.",
    JobKind.TAKE_ANCHORS: "Nothing of the file was taken in.",
    JobKind.LABELS: "No label was taken in.",
    JobKind.PACKET: "No packet was made.",
    JobKind.KNOWN_SET: "No set was made, and none was added to.",
    JobKind.RETENTION: "No text was dropped.",
}


def job_context(job: Job, now: datetime) -> dict[str, Any]:
    project = job.project.name
    late = job.state == JobState.WAITING and (now - job.asked_at).total_seconds() > LATE
    target = f"audits:{TARGETS_OF_JOBS[JobKind(job.kind)]}"
    of_project = AGAIN_AT.get(JobKind(job.kind))
    done = reverse(target, args=[project, job.audit.name]) if job.audit else ""
    return {
        "job": job,
        "late": late,
        "mark": text_hash(f"{job.state} {job.progress} {late}")[:12],
        "live_url": reverse("audits:job-live", args=[project, job.pk]),
        "cancel_url": reverse("audits:job-cancel", args=[project, job.pk]) if may_cancel(job) else "",
        "done_url": reverse(target, args=[project]) if of_project else done,
        "audit_url": reverse("audits:plan", args=[project, job.audit.name]) if job.audit else "",
        "new_url": reverse(of_project or "audits:new", args=[project]),
        "refused_url": reverse("audits:job-refused", args=[project, job.pk]) if refused_path(job).is_file() else "",
        "packet_url": reverse("audits:job-packet", args=[project, job.pk]) if packet_path(job).is_file() else "",
        "preview_url": _preview_url(job),
        "title": TITLES[JobKind(job.kind)],
        "nothing_changed": NOTHING_CHANGED[JobKind(job.kind)],
        "problems": [Problem(**problem) for problem in job.problems],
    }


def _preview_url(job: Job) -> str:
    """Where the manifest of an intake can be mended, if its files were looked at before and are still there."""
    token = job.asked.get("folder", "")
    return reverse("audits:preview", args=[job.project.name, token]) if preview_paths(token, job.project) else ""


def upload_context(project: str, problems: tuple[Problem, ...] = ()) -> dict[str, Any]:
    return {
        "problems": problems,
        "limit": settings.UPLOAD_LIMIT,
        "list_url": reverse("audits:list", args=[project]),
        "preview_url": reverse("audits:preview-new", args=[project]),
    }
