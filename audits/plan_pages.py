"""What the plan's pages show: what it asks, what it costs under each policy, what is registered, and how it grows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from audits.exports.report import judge_words
from audits.exports.wording import (
    ESTIMANDS,
    POLICIES,
    PREDICTORS,
    SIDES,
    TARGETS,
    budget_words,
    remaining_words,
    reuse_words,
    saving_words,
)
from audits.models import Audit, AuditState, DraftSizing, PlanChart
from audits.overview import Standing, address
from audits.pages import audit_context
from audits.plans import half_width_of, may_extend, predictor_of, sizing_of
from audits.progress import progress_of
from audits.reuse import reused_sources
from audits.selectors import last_look
from core.errors import Problem


@dataclass(frozen=True)
class StratumPlan:
    """One row of the plan: `needed` is what an extension to the target would come to, where that is known."""

    name: str
    size: int
    labels: int
    settled: int = 0
    needed: int | None = None
    field: str = ""

    @property
    def proposed(self) -> int:
        return max(self.labels, self.needed or 0)


def plan_context(audit: Audit) -> dict[str, Any]:
    sizing = sizing_of(audit)
    registrations = list(audit.registrations.select_related("actor").order_by("n"))
    context = audit_context(audit, "plan")
    rows = _drawn_rows(audit, registrations[-1].labels) if registrations else _sized_rows(sizing)
    return context | {
        "rows": rows,
        "total": sum(row.labels for row in rows),
        "cases": sum(row.size for row in rows),
        "estimand_words": ESTIMANDS[audit.plan["estimand"]],
        "side_words": SIDES.get(audit.plan["side"] or "", ""),
        "target_words": TARGETS[audit.plan["target"]],
        "predictor_words": PREDICTORS[predictor_of(audit.plan)],
        "policy_words": POLICIES[audit.plan["policy"]],
        "half_width": half_width_of(audit),
        "double_review_share": audit.review["double_review_share"],
        "double_review_slices": list(audit.review.get("double_review_slices", {}).items()),
        "judges": judge_words(audit.comparison),
        "reuse_anchors": audit.review.get("reuse_anchors", ""),
        "reused": reused_sources(audit),
        "sizing": sizing,
        "saving_words": saving_words(sizing.without_judge, sizing.saving) if sizing else "",
        "outlook": _outlook(audit, sizing) if sizing and sizing.outlook else None,
        "budget_words": _budget_words(audit, sizing) if sizing and sizing.outlook else "",
        "reuse_words": _reuse_words(audit, sizing) if sizing else "",
        "problems": [Problem(**problem) for problem in sizing.problems] if sizing else [],
        "may_register": _may_register(context["standing"]),
        "register_url": address("register", audit),
        "extend_url": address("extend", audit),
        "registrations": registrations,
        "integrity_url": address("integrity", audit),
    }


def _outlook(audit: Audit, sizing: DraftSizing) -> dict[str, Any]:
    """The policies side by side, and the curve with its chances."""
    outlook, own, budget = sizing.outlook, audit.plan["policy"], audit.plan.get("budget")
    needs = [PolicyPlan(one["policy"], one["policy"] == own, one) for one in outlook["policies"]]
    points = outlook["curve"]
    chart = PlanChart.objects.filter(sizing=sizing).exclude(svg="").values_list("pk", flat=True).first()
    totals = {need.total: need.policy for need in needs if need.total is not None}
    return {
        "difference": outlook["difference"],
        "power": outlook["power"],
        "draws": outlook["draws"],
        "error": 0.5 / outlook["draws"] ** 0.5,
        "needs": needs,
        "strata": [
            (row["name"], row["size"], [need.in_stratum(row["name"]) for need in needs]) for row in sizing.strata
        ],
        "curve": [
            CurveRow(
                point["labels"],
                [point["half_widths"][need.policy] for need in needs],
                point["without_judge"],
                point["chance"],
                _marks(point["labels"], totals, budget),
            )
            for point in points
        ],
        "chart_url": address("plan-chart", audit, chart) if chart else "",
    }


def _budget_words(audit: Audit, sizing: DraftSizing) -> str:
    budget = audit.plan.get("budget")
    return budget_words(budget, sizing.outlook, half_width=sizing.half_width) if budget else ""


@dataclass(frozen=True)
class PolicyPlan:
    """What one policy needs: labels as the plan shares them out, and those of a plain random sample as it falls."""

    policy: str
    own: bool
    need: Mapping[str, Any]

    @property
    def total(self) -> int | None:
        return sum(self.need["labels"].values()) if self.need["labels"] else None

    @property
    def plain_total(self) -> int | None:
        return sum(self.need["plain"].values()) if self.need["plain"] else None

    def in_stratum(self, name: str) -> tuple[int | None, int | None]:
        if not self.need["labels"]:
            return None, None
        return self.need["labels"][name], self.need["plain"].get(name, 0)


@dataclass(frozen=True)
class CurveRow:
    """One row of the table beside the curve. `mark` says which policy's target, or whose budget, these labels are."""

    labels: int
    half_widths: list[float]
    without_judge: float
    chance: float
    mark: str


def _marks(labels: int, totals: Mapping[int, str], budget: int | None) -> str:
    marks = [f"target, {totals[labels]}"] if labels in totals else []
    return ", ".join([*marks, "budget"] if labels == budget else marks)


def _reuse_words(audit: Audit, sizing: DraftSizing) -> str:
    """Sizings of earlier versions say nothing of references that are there."""
    reused = sum(row.get("reused", 0) for row in sizing.strata)
    total = sum(row["labels"] for row in sizing.strata)
    return reuse_words(
        reused, total, wanted=bool(audit.review["reuse_references"] or audit.review.get("reuse_anchors"))
    )


def _may_register(standing: Standing) -> bool:
    draft = standing.audit.state == AuditState.DRAFT
    return draft and standing.integrity["passed"] and standing.drawable and standing.job is None


def _sized_rows(sizing: DraftSizing | None) -> list[StratumPlan]:
    return [StratumPlan(row["name"], row["size"], row["labels"]) for row in sizing.strata] if sizing else []


def _drawn_rows(audit: Audit, labels: Mapping[str, int]) -> list[StratumPlan]:
    strata = audit.strata.order_by("name").values_list("name", "size")
    return [StratumPlan(name, size, labels.get(name, 0)) for name, size in strata]


def extend_context(audit: Audit, now: datetime) -> dict[str, Any]:
    look = last_look(audit)
    needed = look.remaining["n"] if look and look.remaining else {}
    rows = [
        StratumPlan(one.name, one.size, one.drawn, one.counting, needed.get(one.name), f"labels-{place}")
        for place, one in enumerate(progress_of(audit, now).strata)
    ]
    registered = audit.state == AuditState.REGISTERED
    drawn = sum(row.labels for row in rows)
    closed = registered and not may_extend(audit.plan, look.result if look else None, drawn)
    return audit_context(audit, "plan") | {
        "rows": rows,
        "remaining_words": remaining_words(look.remaining, half_width=half_width_of(audit)) if look else "",
        "closed": closed,
        "may_extend": registered and not closed,
        "plan_url": address("plan", audit),
    }
