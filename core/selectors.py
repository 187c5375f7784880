"""Reads of projects."""

from core.errors import InputError, Problem
from core.models import Project

NAMED = 20


def project_find(name: str) -> Project:
    found = Project.objects.filter(name=name).first()
    if found is None:
        known = ", ".join(Project.objects.order_by("name").values_list("name", flat=True)[:NAMED])
        raise InputError(Problem("there is no project of this name", value=name, allowed=known or "none is there yet"))
    return found
