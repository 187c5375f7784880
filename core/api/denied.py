"""Apart, because DRF loads it before its own views."""

from typing import Any

from rest_framework.permissions import BasePermission


class Denied(BasePermission):
    """The default of views that are none of ours: nobody may."""

    def has_permission(self, request: Any, view: Any) -> bool:
        return False
