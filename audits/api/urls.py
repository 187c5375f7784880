from django.urls import path

from audits.api import anchors, audits, decisions, exports, jobs, retention

app_name = "audits-api"

# As on the pages: an audit's name may hold slashes, and what follows it tells the addresses apart.

urlpatterns = [
    path("intakes", jobs.Intakes.as_view(), name="intakes"),
    path("jobs", jobs.Jobs.as_view(), name="jobs"),
    path("jobs/<int:number>", jobs.OneJob.as_view(), name="job"),
    path("jobs/<int:number>/cancel", jobs.JobCancel.as_view(), name="job-cancel"),
    path("jobs/<int:number>/refused.csv", jobs.JobRefused.as_view(), name="job-refused"),
    path("jobs/<int:number>/packet.zip", jobs.JobPacket.as_view(), name="job-packet"),
    path("anchor-sets", anchors.AnchorSets.as_view(), name="anchor-sets"),
    path("anchor-sets/<int:anchors>", anchors.OneAnchorSet.as_view(), name="anchor-set"),
    path("anchor-sets/<int:anchors>/known-set", anchors.KnownSets.as_view(), name="known-set"),
    path("anchor-sets/<int:anchors>/anchors.<str:kind>", anchors.AnchorFile.as_view(), name="anchor-file"),
    path("anchor-sets/<int:anchors>/card.<str:kind>", anchors.AnchorCard.as_view(), name="anchor-card"),
    path("calibration", audits.CalibrationView.as_view(), name="calibration"),
    path("retention", retention.RetentionView.as_view(), name="retention"),
    path("audits", audits.Audits.as_view(), name="audits"),
    path("audits/<path:name>/manifest", audits.Manifest.as_view(), name="manifest"),
    path("audits/<path:name>/integrity", audits.Integrity.as_view(), name="integrity"),
    path("audits/<path:name>/transitions", audits.Transitions.as_view(), name="transitions"),
    path("audits/<path:name>/pairs", audits.Pairs.as_view(), name="pairs"),
    path("audits/<path:name>/caches", audits.Caches.as_view(), name="caches"),
    path("audits/<path:name>/readers", audits.Readers.as_view(), name="readers"),
    path("audits/<path:name>/plan", audits.Plan.as_view(), name="plan"),
    path("audits/<path:name>/register", audits.Register.as_view(), name="register"),
    path("audits/<path:name>/extend", audits.Extend.as_view(), name="extend"),
    path("audits/<path:name>/progress", audits.ProgressView.as_view(), name="progress"),
    path("audits/<path:name>/looks", audits.Looks.as_view(), name="looks"),
    path("audits/<path:name>/looks/<int:look>", audits.OneLook.as_view(), name="look"),
    path("audits/<path:name>/diagnoses", decisions.Diagnoses.as_view(), name="diagnoses"),
    path("audits/<path:name>/verdict", decisions.Verdict.as_view(), name="verdict"),
    path("audits/<path:name>/sign-offs", decisions.SignOffs.as_view(), name="sign-offs"),
    path("audits/<path:name>/inventory", decisions.InventoryView.as_view(), name="inventory"),
    path("audits/<path:name>/holdout", decisions.Holdout.as_view(), name="holdout"),
    path("audits/<path:name>/anchor-sets", anchors.AuditAnchorSets.as_view(), name="audit-anchors"),
    path("audits/<path:name>/packet", jobs.Packets.as_view(), name="packet"),
    path("audits/<path:name>/labels", exports.Labels.as_view(), name="labels"),
    path("audits/<path:name>/report", exports.Report.as_view(), name="report"),
    path("audits/<path:name>/anchors.<str:kind>", exports.Anchors.as_view(), name="anchors"),
    path("audits/<path:name>/reviews.<str:kind>", exports.Reviews.as_view(), name="reviews"),
    path("audits/<path:name>", audits.OneAudit.as_view(), name="audit"),
]
