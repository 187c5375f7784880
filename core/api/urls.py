from django.urls import path

from core.api import members, views, webhooks

app_name = "api"

MEMBERS = "projects/<str:project>/members"
WEBHOOKS = "projects/<str:project>/webhooks"

urlpatterns = [
    path("schema", views.schema, name="schema"),
    path("docs", views.docs, name="docs"),
    path("projects/<str:project>", views.ProjectView.as_view(), name="project"),
    path(MEMBERS, members.Members.as_view(), name="members"),
    path(f"{MEMBERS}/<int:number>/role", members.MemberRole.as_view(), name="member-role"),
    path(f"{MEMBERS}/<int:number>/remove", members.MemberRemoval.as_view(), name="member-removal"),
    path(WEBHOOKS, webhooks.Webhooks.as_view(), name="webhooks"),
    path(f"{WEBHOOKS}/<int:number>", webhooks.OneWebhook.as_view(), name="webhook"),
    path(f"{WEBHOOKS}/<int:number>/secret", webhooks.WebhookSecret.as_view(), name="webhook-secret"),
    path(f"{WEBHOOKS}/<int:number>/end", webhooks.WebhookEnd.as_view(), name="webhook-end"),
    path(
        f"{WEBHOOKS}/<int:number>/messages",
        webhooks.WebhookMessages.as_view(),
        name="webhook-messages",
    ),
    path(
        f"{WEBHOOKS}/<int:number>/messages/<int:message>/again",
        webhooks.WebhookAgain.as_view(),
        name="webhook-again",
    ),
]
