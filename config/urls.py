from django.contrib.auth.views import LogoutView
from django.urls import include, path

from config.metrics import metrics
from core.access import public, refuse_undeclared, signed_in
from core.account import PasswordChange, account, second_factor, second_factor_remove
from core.api.views import Nothing
from core.members import member_removal, member_role, members
from core.signin import SignIn
from core.sso import sso, sso_callback
from core.views import (
    bad_request,
    forbidden,
    healthz,
    home,
    not_found,
    project_home,
    readyz,
    server_error,
    token_revoked,
    tokens,
)
from core.webhook_views import webhook, webhook_ended, webhook_renewed, webhook_sent_again, webhooks

handler400, handler403, handler404, handler500 = bad_request, forbidden, not_found, server_error

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("", home, name="home"),
    path("login", public(SignIn.as_view()), name="login"),
    path("login/sso", sso, name="sso"),
    path("login/sso/callback", sso_callback, name="sso-callback"),
    path("logout", public(LogoutView.as_view(next_page="login")), name="logout"),
    path("account", account, name="account"),
    path("account/password", signed_in(PasswordChange.as_view()), name="password"),
    path("account/second-factor", second_factor, name="second-factor"),
    path("account/second-factor/remove", second_factor_remove, name="second-factor-remove"),
    path("api/v1/", include("core.api.urls")),
    path("api/v1/projects/<str:project>/", include("adjudication.api.urls")),
    path("api/v1/projects/<str:project>/", include("audits.api.urls")),
    path("api/v1/<path:nothing>", Nothing.as_view(), name="api-nothing"),
    path("p/<str:project>/", project_home, name="project"),
    path("p/<str:project>/members", members, name="members"),
    path("p/<str:project>/members/<int:number>/role", member_role, name="member-role"),
    path("p/<str:project>/members/<int:number>/remove", member_removal, name="member-removal"),
    path("p/<str:project>/tokens", tokens, name="tokens"),
    path("p/<str:project>/tokens/<int:number>/revoke", token_revoked, name="token-revoke"),
    path("p/<str:project>/webhooks", webhooks, name="webhooks"),
    path("p/<str:project>/webhooks/<int:number>", webhook, name="webhook"),
    path("p/<str:project>/webhooks/<int:number>/secret", webhook_renewed, name="webhook-secret"),
    path("p/<str:project>/webhooks/<int:number>/end", webhook_ended, name="webhook-end"),
    path("p/<str:project>/webhooks/<int:number>/again/<int:delivery>", webhook_sent_again, name="webhook-again"),
    path("p/<str:project>/", include("adjudication.urls")),
    path("p/<str:project>/", include("audits.urls")),
]

refuse_undeclared(urlpatterns)
