"""What the pages about anchor sets show."""

import json
from typing import Any

from django.conf import settings
from django.urls import reverse

from adjudication.models import QueuePurpose
from audits.anchormonitor import SHOWN, monitored
from audits.anchorsets import Changes, anchor_sets_of
from audits.calibration import LEVEL, METHOD
from audits.exports.anchorcards import MONITORS
from audits.exports.anchorfiles import CARDS, SET_FORMATS
from audits.exports.wording import agreement_words
from audits.models import AnchorSet, Audit, AuditState
from audits.overview import address
from audits.pages import audit_context
from core.models import Project

PAGE = 50
PRACTICE = "A practice set: new reviewers answer its cases first, and are told the label on record"
HIDDEN = "Hidden anchors: served now and then among the cases of an audit, to measure each reviewer"


def anchor_sets_context(project: Project, before: int) -> dict[str, Any]:
    """One page of a project's sets, newest first."""
    sets = anchor_sets_of(project).order_by("-pk")
    page = list((sets.filter(pk__lt=before) if before else sets)[: PAGE + 1])
    here = reverse("audits:anchor-sets", args=[project.name])
    return {
        "sets": [set_row(one) for one in page[:PAGE]],
        "older_url": f"{here}?after={page[PAGE - 1].pk}" if len(page) > PAGE else "",
        "limit": settings.UPLOAD_LIMIT,
        "monitors": MONITORS,
        "list_url": here,
    }


def set_row(one: AnchorSet) -> dict[str, Any]:
    return {
        "set": one,
        "url": reverse("audits:anchor-set", args=[one.project.name, one.pk]),
        "changes": Changes(**one.changes).words if one.changes else "",
    }


def audit_anchors_context(audit: Audit) -> dict[str, Any]:
    """The versions that were made of one audit, and the form for the next."""
    sets = list(anchor_sets_of(audit.project).filter(audit=audit).order_by("-pk")[:PAGE])
    return audit_context(audit, "results") | {
        "sets": [set_row(one) for one in sets],
        "registered": audit.state == AuditState.REGISTERED,
        "given": {
            "name": sets[0].name if sets else audit.name.replace("/", "-"),
            "licence": sets[0].licence if sets else "",
        },
        "monitors": MONITORS,
        "results_url": address("results", audit),
        "all_url": reverse("audits:anchor-sets", args=[audit.project.name]),
    }


def anchor_set_context(one: AnchorSet) -> dict[str, Any]:
    card = json.loads(one.card_text)
    found = monitored(one, SHOWN)
    return set_row(one) | {
        "card": card,
        "agreement": agreement_words(card["agreement"]),
        "files": [(f"{one.name}.{kind}", _url("anchor-file", one, kind)) for kind in SET_FORMATS],
        "cards": [(f"card.{kind}", _url("anchor-card", one, kind)) for kind in CARDS],
        "runs": found.runs,
        "untouched": found.untouched,
        "shown": SHOWN,
        "monitors": MONITORS,
        "level": LEVEL,
        "method": METHOD,
        "list_url": reverse("audits:anchor-sets", args=[one.project.name]),
        "known_set_url": reverse("audits:known-set", args=[one.project.name, one.pk]),
        "calibration_url": reverse("audits:calibration", args=[one.project.name]),
        "purposes": [(QueuePurpose.PRACTICE, PRACTICE), (QueuePurpose.ANCHORS, HIDDEN)],
        "given": {"name": one.name},
        "audit_url": address("audit-anchors", one.audit) if one.audit else "",
    }


def _url(name: str, one: AnchorSet, kind: str) -> str:
    return reverse(f"audits:{name}", args=[one.project.name, one.pk, kind])
