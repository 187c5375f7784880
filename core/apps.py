from typing import Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.core import checks
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate


def _install_after_migrate(using: str, **_: Any) -> None:
    from core.records import install_triggers

    install_triggers(connections[using])


def _step_aside_for_migrations(using: str, plan: list[Any], **_: Any) -> None:
    """SQLite renames no table while a trigger names a table or a column that is just being rebuilt."""
    from core.records import remove_triggers

    if plan:
        remove_triggers(connections[using])


class CoreConfig(AppConfig):
    name = "core"

    def ready(self) -> None:
        from core.checks import every_view_says_who_may_see_it, public_url_leads_here
        from core.sessions import session_begin

        checks.register(every_view_says_who_may_see_it, checks.Tags.urls)
        checks.register(public_url_leads_here, checks.Tags.urls)
        pre_migrate.connect(_step_aside_for_migrations, sender=self, dispatch_uid="append-only-triggers-aside")
        user_logged_in.connect(session_begin, dispatch_uid="session-limits")
        post_migrate.connect(_install_after_migrate, dispatch_uid="append-only-triggers")
