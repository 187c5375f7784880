"""Projects and people."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import ProtectedError

from core.errors import Problem, Refused
from core.models import Author, AuthorKind, Membership, Project, Role

OPERATOR = "operator"


@transaction.atomic
def project_ensure(*, name: str, now: datetime) -> Project:
    return Project.objects.get_or_create(name=name, defaults={"created_at": now})[0]


def operator_of(project: Project) -> Author:
    """The author of what is done at the command line."""
    return Author.objects.get_or_create(project=project, pseudonym=OPERATOR, defaults={"kind": AuthorKind.OPERATOR})[0]


def operator_at(*, project: str, now: datetime) -> Author:
    """The same for a project that the command may be the first to name."""
    return operator_of(project_ensure(name=project, now=now))


@contextmanager
def operator_for(*, project: str, now: datetime) -> Iterator[Author]:
    """The same for a block: where that fails and the project is new, nothing is left, not even the project."""
    known = Project.objects.filter(name=project).exists()
    actor = operator_at(project=project, now=now)
    try:
        yield actor
    except BaseException:
        if not known:
            _project_forget(actor)
        raise


def _project_forget(actor: Author) -> None:
    """Remove a project and its one author, unless something refers to them by now."""
    with contextlib.suppress(ProtectedError), transaction.atomic():
        actor.delete()
        actor.project.delete()


@transaction.atomic
def member_add(*, project: Project, username: str, role: Role, kind: AuthorKind = AuthorKind.MEMBER) -> Author:
    """A member with one role, and the author under whose pseudonym their labels stand."""
    user, _ = get_user_model().objects.get_or_create(username=username)
    Membership.objects.update_or_create(project=project, user=user, defaults={"role": role})
    author, _ = Author.objects.get_or_create(project=project, user=user, defaults={"pseudonym": username, "kind": kind})
    return author


@transaction.atomic
def member_remove(*, author: Author) -> None:
    """The person leaves the project; what they stated stays, under their pseudonym."""
    Membership.objects.filter(project=author.project_id, user=author.user_id).delete()


@transaction.atomic
def password_set(*, author: Author, password: str) -> None:
    if author.user is None:
        raise Refused(Problem(f"{author} has no account"))
    author.user.set_password(password)
    author.user.save(update_fields=["password"])


@transaction.atomic
def imported_author(*, project: Project, name: str | None) -> Author:
    """The author of labels that came in a file under this name; None: whoever filled its final column."""
    # The final column's author has no colon, so that no name of a file can be taken for it.
    pseudonym = "imported final decision" if name is None else f"imported: {name}"
    return Author.objects.get_or_create(project=project, pseudonym=pseudonym, defaults={"kind": AuthorKind.IMPORTED})[0]
