from django.urls import URLPattern

app_name = "adjudication"

urlpatterns: list[URLPattern] = []
