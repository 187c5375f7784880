from django.urls import path

from core.api import views

app_name = "api"

urlpatterns = [
    path("schema", views.schema, name="schema"),
    path("docs", views.docs, name="docs"),
    path("projects/<str:project>", views.ProjectView.as_view(), name="project"),
]
