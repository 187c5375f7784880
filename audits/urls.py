from django.urls import path

from audits.views import exports, jobs, lists, monitor, pages, uploads

app_name = "audits"

urlpatterns = [
    path("audits", lists.audit_list, name="list"),
    path("audits/new", uploads.new, name="new"),
    path("jobs/<int:number>", jobs.job, name="job"),
    path("jobs/<int:number>/live", jobs.job_live, name="job-live"),
    path("audits/<str:name>/", pages.integrity, name="integrity"),
    path("audits/<str:name>/transitions", pages.transitions, name="transitions"),
    path("audits/<str:name>/plan", pages.plan, name="plan"),
    path("audits/<str:name>/register", pages.register, name="register"),
    path("audits/<str:name>/extend", pages.extend, name="extend"),
    path("audits/<str:name>/monitor", monitor.monitor, name="monitor"),
    path("audits/<str:name>/monitor/live", monitor.monitor_live, name="monitor-live"),
    path("audits/<str:name>/looks", monitor.looks, name="looks"),
    path("audits/<str:name>/chart-<int:look>.svg", monitor.chart, name="chart"),
    path("audits/<str:name>/results", pages.results, name="results"),
    path("audits/<str:name>/report.<str:kind>", exports.report, name="report"),
    path("audits/<str:name>/anchors.<str:kind>", exports.anchors, name="anchors"),
]
