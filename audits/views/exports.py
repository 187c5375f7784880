import base64
import hashlib
from collections.abc import Callable, Iterator

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from audits.exports.anchors import anchor_lines
from audits.exports.report import report_data, report_html, report_json, report_style
from audits.exports.reviews import review_lines
from audits.exports.tables import CONTENT_TYPES
from audits.models import Audit, ChangeChart, LookChart
from audits.selectors import require_registered
from audits.views.access import audit_or_404
from core.access import ProjectRequest, for_leads
from core.sending import saved_as

REPORTS = ("html", "json")


@for_leads
@require_GET
def report(request: ProjectRequest, name: str, kind: str) -> HttpResponse:
    audit, now = audit_or_404(request, name), timezone.now()
    if kind not in REPORTS:
        raise Http404
    if kind == "json":
        answer = HttpResponse(report_json(report_data(audit, now)), content_type="application/json; charset=utf-8")
        return saved_as(answer, f"{name}-report.json")
    chart = LookChart.objects.filter(look__audit=audit).order_by("-pk").first()
    changes = ChangeChart.objects.filter(audit=audit).first()
    charts = {"chart": chart.svg if chart else "", "changes_chart": changes.svg if changes else ""}
    return _self_contained(HttpResponse(report_html(audit, now, **charts)))


@for_leads
@require_GET
def anchors(request: ProjectRequest, name: str, kind: str) -> StreamingHttpResponse:
    return _streamed(request, name, "anchors", kind, anchor_lines)


@for_leads
@require_GET
def reviews(request: ProjectRequest, name: str, kind: str) -> StreamingHttpResponse:
    return _streamed(request, name, "reviews", kind, review_lines)


def _streamed(
    request: ProjectRequest, name: str, what: str, kind: str, lines: Callable[[Audit, str], Iterator[str]]
) -> StreamingHttpResponse:
    audit = require_registered(audit_or_404(request, name))
    if kind not in CONTENT_TYPES:
        raise Http404
    answer = StreamingHttpResponse(lines(audit, kind), content_type=CONTENT_TYPES[kind])
    return saved_as(answer, f"{name}-{what}.{kind}")


def _self_contained(answer: HttpResponse) -> HttpResponse:
    """The report is one file, with its style inside: exactly this style is let through, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(f"\n{report_style()}\n".encode()).digest()).decode()
    nothing = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    answer["Content-Security-Policy"] = f"{nothing}; style-src 'sha256-{digest}'"
    return answer
