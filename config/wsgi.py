"""The WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

_django = get_wsgi_application()

# Models load only after the application's set-up.
from core.access import refuse_undeclared  # noqa: E402
from core.bodies import whole_bodies  # noqa: E402
from core.checks import refuse_unguarded  # noqa: E402

application = whole_bodies(_django)

# Loads every view now, rather than in the first visitor's time, and stops the start where one is undeclared.
refuse_undeclared(get_resolver().url_patterns)
refuse_unguarded()
