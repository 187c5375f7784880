from django.urls import path

from adjudication.api import desk, leading

app_name = "desk-api"

# As on the pages: a case is named by the random token of its lease, and by nothing else.
urlpatterns = [
    path("desk", desk.Desk.as_view(), name="desk"),
    path("desk/next", desk.Next.as_view(), name="next"),
    path("desk/practice", desk.PracticeNext.as_view(), name="practice"),
    path("desk/keys", desk.Keys.as_view(), name="keys"),
    path("desk/<uuid:token>/answer", desk.Submit.as_view(), name="submit"),
    path("desk/<uuid:token>/draft", desk.DraftView.as_view(), name="draft"),
    path("desk/<uuid:token>/skip", desk.SkipView.as_view(), name="skip"),
    path("desk/<uuid:token>/undo", desk.Undo.as_view(), name="undo"),
    path("desk/<uuid:token>/differences", desk.Differences.as_view(), name="differences"),
    path("desk/<uuid:token>/feedback", desk.Feedback.as_view(), name="feedback"),
    path("desk/<uuid:token>/dispute", desk.Dispute.as_view(), name="dispute"),
    path("skips", leading.Skips.as_view(), name="skips"),
    path("skips/lift", leading.Lift.as_view(), name="skips-lift"),
    path("reason-codes", leading.Reasons.as_view(), name="reason-codes"),
    path("reason-codes/<int:number>", leading.OneReason.as_view(), name="reason-code"),
]
