from django.urls import path

from adjudication.views import keys, practice, reasons, review, skips, work

app_name = "adjudication"

# An address names a lease by its random token: no item, no case, no rank.
urlpatterns = [
    path("work", work.work, name="work"),
    path("skipped", skips.skipped, name="skipped"),
    path("keys", keys.keys, name="keys"),
    path("review", review.review, name="review"),
    path("review/<uuid:token>", review.review_send, name="send"),
    path("review/<uuid:token>/draft", review.draft, name="draft"),
    path("review/<uuid:token>/skip", review.skip, name="skip"),
    path("review/<uuid:token>/differences", review.differences, name="differences"),
    path("review/<uuid:token>/undo", review.undo, name="undo"),
    path("practice", practice.practice, name="practice"),
    path("practice/<uuid:token>", practice.feedback, name="feedback"),
    path("practice/<uuid:token>/dispute", practice.dispute, name="dispute"),
    path("reason-codes", reasons.reason_codes, name="reason-codes"),
    path("reason-codes/<int:number>", reasons.reason_code, name="reason-code"),
]
