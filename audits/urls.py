from django.urls import path

from audits.views import (
    anchors,
    calibration,
    diagnoses,
    exports,
    jobs,
    lists,
    monitor,
    pages,
    pairs,
    previews,
    uploads,
    verdicts,
)

app_name = "audits"

# An audit's name may hold slashes: what follows it tells the pages apart.

urlpatterns = [
    path("audits", lists.audit_list, name="list"),
    path("audits/new", uploads.new, name="new"),
    path("previews", previews.new, name="preview-new"),
    path("previews/<str:token>", previews.preview, name="preview"),
    path("calibration", calibration.calibration, name="calibration"),
    path("anchor-sets", anchors.anchor_sets, name="anchor-sets"),
    path("anchor-sets/<int:anchors>", anchors.anchor_set, name="anchor-set"),
    path("anchor-sets/<int:anchors>/anchors.<str:kind>", anchors.anchor_file, name="anchor-file"),
    path("anchor-sets/<int:anchors>/card.<str:kind>", anchors.anchor_card, name="anchor-card"),
    path("jobs/<int:number>", jobs.job, name="job"),
    path("jobs/<int:number>/live", jobs.job_live, name="job-live"),
    path("jobs/<int:number>/refused.csv", jobs.job_refused, name="job-refused"),
    path("jobs/<int:number>/cancel", jobs.job_cancelled, name="job-cancel"),
    path("audits/<path:name>/", pages.integrity, name="integrity"),
    path("audits/<path:name>/transitions", pages.transitions, name="transitions"),
    path("audits/<path:name>/pairs", pairs.pairs, name="pairs"),
    path("audits/<path:name>/pairs/caches", pairs.caches, name="caches"),
    path("audits/<path:name>/pairs/readers", pairs.readers, name="readers"),
    path("audits/<path:name>/diagnose", diagnoses.diagnose, name="diagnose"),
    path("audits/<path:name>/holdout", pairs.holdout, name="holdout"),
    path("audits/<path:name>/changes.svg", pages.changes, name="changes"),
    path("audits/<path:name>/plan", pages.plan, name="plan"),
    path("audits/<path:name>/plan-<int:number>.svg", pages.plan_chart, name="plan-chart"),
    path("audits/<path:name>/register", pages.register, name="register"),
    path("audits/<path:name>/extend", pages.extend, name="extend"),
    path("audits/<path:name>/monitor", monitor.monitor, name="monitor"),
    path("audits/<path:name>/monitor/live", monitor.monitor_live, name="monitor-live"),
    path("audits/<path:name>/looks", monitor.looks, name="looks"),
    path("audits/<path:name>/chart-<int:look>.svg", monitor.chart, name="chart"),
    path("audits/<path:name>/verdict", verdicts.verdict, name="verdict"),
    path("audits/<path:name>/results", pages.results, name="results"),
    path("audits/<path:name>/anchor-sets", anchors.audit_anchors, name="audit-anchors"),
    path("audits/<path:name>/report.<str:kind>", exports.report, name="report"),
    path("audits/<path:name>/anchors.<str:kind>", exports.anchors, name="anchors"),
    path("audits/<path:name>/reviews.<str:kind>", exports.reviews, name="reviews"),
]
