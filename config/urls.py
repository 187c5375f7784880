from django.contrib.auth.views import LogoutView
from django.urls import include, path

from config.metrics import metrics
from core.access import public, refuse_undeclared
from core.signin import SignIn
from core.views import healthz, home, project_home, readyz, server_error

handler500 = server_error

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("", home, name="home"),
    path("login", public(SignIn.as_view()), name="login"),
    path("logout", public(LogoutView.as_view(next_page="login")), name="logout"),
    path("p/<str:project>/", project_home, name="project"),
    path("p/<str:project>/", include("adjudication.urls")),
    path("p/<str:project>/", include("audits.urls")),
]

refuse_undeclared(urlpatterns)
