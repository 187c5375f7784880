from typing import Any

from django.core.checks import CheckMessage, Error
from django.urls import get_resolver

from core.access import UNDECLARED, undeclared


def every_view_says_who_may_see_it(**_: Any) -> list[CheckMessage]:
    return [
        Error(f"{route}: the view does not say who may see it", id=UNDECLARED)
        for route in undeclared(get_resolver().url_patterns)
    ]
