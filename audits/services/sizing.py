"""Sizing a draft's plan outside every request."""

from collections import Counter
from typing import Any

from django.db import transaction

from audits.allocation import first_sizing
from audits.frames import frame_sizes
from audits.models import Audit, DraftSizing
from audits.plans import frame_plan, sizing_of, target_half_width
from audits.stats.remaining import Sizing
from core.errors import InputError
from core.version import VERSION
from judges.selectors import pairs_of


def draft_size(*, audit: Audit) -> DraftSizing:
    """What the plan asks for, computed once. A plan that cannot be drawn is stored with its problems."""
    existing = sizing_of(audit)
    if existing is not None:
        return existing
    frame = frame_sizes(audit.comparison, pairs_of(audit.comparison), frame_plan(audit))
    sizes: Counter[str] = Counter()
    for (stratum, *_), number in frame.cells.items():
        sizes[stratum] += number
    half_width = target_half_width(audit.plan)
    content: dict[str, Any] = {"half_width": half_width}
    try:
        sizing = first_sizing(audit, frame)
    except InputError as error:
        content["problems"] = [problem.as_dict() for problem in error.problems]
    else:
        content["strata"] = [{"name": name, "size": sizes[name], "labels": sizing.n[name]} for name in sorted(sizes)]
        content |= _widths(sizing) if half_width is not None else {}
    defaults = {"strata": [], "code_version": VERSION} | content
    with transaction.atomic():
        return DraftSizing.objects.get_or_create(audit=audit, manifest_hash=audit.manifest_hash, defaults=defaults)[0]


def _widths(sizing: Sizing) -> dict[str, Any]:
    return {"projected": sizing.half_width, "without_judge": sizing.without_judge, "saving": sizing.saving}
