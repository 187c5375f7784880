"""The Celery application. Tasks live in each app's `tasks.py`."""

import os
from importlib import import_module
from threading import Thread
from typing import Any

from celery import Celery
from celery.signals import task_postrun, worker_init, worker_process_init, worker_ready
from django.core.exceptions import ImproperlyConfigured

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("tertium")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def load_ahead(**_: Any) -> None:
    """Load the mathematics and the charts while nobody waits: the first look would take seconds longer."""
    Thread(target=_load_heavy_modules, daemon=True).start()


def _load_heavy_modules() -> None:
    for module in ("audits.services.looks", "audits.services.charts", "altair", "vl_convert"):
        import_module(module)


def refuse_to_start(**_: Any) -> None:
    try:
        import_module("core.checks").refuse_unguarded()
    except ImproperlyConfigured as error:
        raise SystemExit(str(error)) from error  # any other exception, Celery would log, and go on


def count(**ended: Any) -> None:
    import_module("config.metrics").task_count(**ended)


worker_init.connect(refuse_to_start)
task_postrun.connect(count)
worker_ready.connect(load_ahead)  # the worker itself, where its pool is of threads
worker_process_init.connect(load_ahead)  # each process of a prefork pool
