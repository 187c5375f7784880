"""Reads of projects and accounts."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.db.models import OuterRef, QuerySet, Subquery

from core.errors import InputError, Problem
from core.models import Author, Membership, Project

NAMED = 20


def project_find(name: str) -> Project:
    found = Project.objects.filter(name=name).first()
    if found is None:
        known = ", ".join(Project.objects.order_by("name").values_list("name", flat=True)[:NAMED])
        raise InputError(Problem("there is no project of this name", value=name, allowed=known or "none is there yet"))
    return found


def user_named(username: str) -> AbstractUser:
    found: AbstractUser | None = get_user_model().objects.filter(username=username).first()
    if found is None:
        raise InputError(Problem("there is no such account", value=username))
    return found


def members_of(project: Project) -> QuerySet[Author]:
    """The authors of those who are in the project now, each with `role`."""
    membership = Membership.objects.filter(project=OuterRef("project"), user=OuterRef("user"))
    return (
        Author.objects.select_related("user")
        .annotate(role=Subquery(membership.values("role")))
        .filter(project=project, role__isnull=False)
        .order_by("pk")
    )
