"""The WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()

# Loads every view now, rather than in the first visitor's time, and stops the start where one is undeclared.
from core.access import refuse_undeclared  # noqa: E402 -- models load only after the application's set-up

refuse_undeclared(get_resolver().url_patterns)
