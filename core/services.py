"""Projects and people."""

import contextlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import AbstractUser
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import ProtectedError
from django.utils.module_loading import import_string
from django_otp import user_has_device
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from core.access import require_role
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.models import Author, AuthorKind, ExternalAccount, Membership, Project, Role

OPERATOR = "operator"
RECOVERY_CODES = 10


@transaction.atomic
def project_ensure(*, name: str, now: datetime) -> Project:
    project = _project(name, now)
    _begin(project, now)
    return project


def _project(name: str, now: datetime) -> Project:
    return Project.objects.get_or_create(name=name, defaults={"created_at": now})[0]


def _begin(project: Project, now: datetime) -> None:
    """Give a project what it begins with, unless it has it already."""
    for begin in settings.PROJECT_BEGINS_WITH:
        import_string(begin)(project=project, now=now)


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
    # What a project begins with is never deleted: it comes when the block is done.
    actor = operator_of(_project(project, now))
    try:
        yield actor
    except BaseException:
        if not known:
            _project_forget(actor)
        raise
    _begin(actor.project, now)


def _project_forget(actor: Author) -> None:
    """Remove a project and its one author, unless something refers to them by now."""
    with contextlib.suppress(ProtectedError), transaction.atomic():
        actor.delete()
        actor.project.delete()


@transaction.atomic
def member_add(
    *,
    project: Project,
    username: str,
    role: Role,
    kind: AuthorKind = AuthorKind.MEMBER,
    pseudonym: str = "",
    email: str = "",
) -> Author:
    """A member with one role, and the author under whose pseudonym (else: account's name) their labels stand.

    Whoever comes back keeps the pseudonym they had. `email` is that by which single sign-on finds the account.
    """
    if (
        pseudonym
        and Author.objects.filter(project=project, pseudonym=pseudonym).exclude(user__username=username).exists()
    ):
        raise Refused(
            Problem("somebody else has this pseudonym in the project", value=pseudonym, allowed="another one")
        )
    user, _ = get_user_model().objects.get_or_create(username=username, defaults={"password": make_password(None)})
    if email and email != user.email:
        user.email = email
        user.save(update_fields=["email"])
    Membership.objects.update_or_create(project=project, user=user, defaults={"role": role})
    author, _ = Author.objects.get_or_create(
        project=project, user=user, defaults={"pseudonym": pseudonym or username, "kind": kind}
    )
    return author


def pseudonym_free(project: Project) -> str:
    """A pseudonym that says nothing about anybody."""
    number = Author.objects.filter(project=project, kind=AuthorKind.MEMBER).count() + 1
    while Author.objects.filter(project=project, pseudonym=f"person {number}").exists():
        number += 1
    return f"person {number}"


@transaction.atomic
def member_remove(*, author: Author) -> None:
    """The person leaves the project; what they stated stays, under their pseudonym."""
    Membership.objects.filter(project=author.project_id, user=author.user_id).delete()


@transaction.atomic
def member_enrol(
    *, username: str, role: Role, pseudonym: str, email: str, actor: Author, now: datetime
) -> tuple[Author, str | None]:
    """An owner takes somebody in. A new account comes with a password, which nobody can read again later.

    Of an account that is there already, an owner changes nothing: it may belong to other projects too.
    """
    require_role(actor, Role.OWNER)
    project = actor.project
    known = get_user_model().objects.filter(username=username).first()
    if known and known.memberships.filter(project=project).exists():
        raise Refused(Problem("is in the project already", key="username", value=username))
    if known and email:
        allowed = "none, for an account that is there already"
        raise Refused(Problem("the address is its own affair", key="email", value=email, allowed=allowed))
    author = member_add(
        project=project,
        username=username,
        role=Role(role),
        pseudonym=pseudonym or pseudonym_free(project),
        email=email,
    )
    password = None if known else secrets.token_urlsafe(16)
    if password:
        password_set(author=author, password=password)
    _told("core.member-added", author, actor, now, role=Role(role).value)
    return author, password


@transaction.atomic
def member_role_set(*, author: Author, role: Role, actor: Author, now: datetime) -> None:
    require_role(actor, Role.OWNER)
    _keep_an_owner(author, role)
    membership = Membership.objects.filter(project=author.project_id, user=author.user_id)
    if not membership.update(role=role):
        raise Refused(Problem(f"{author} is not in the project any more"))
    _told("core.member-role-set", author, actor, now, role=role.value)


@transaction.atomic
def member_dismiss(*, author: Author, actor: Author, now: datetime) -> None:
    """An owner lets somebody go, or goes; what they stated stays, under their pseudonym."""
    require_role(actor, Role.OWNER)
    _keep_an_owner(author, None)
    member_remove(author=author)
    _told("core.member-removed", author, actor, now)


def _keep_an_owner(author: Author, role: Role | None) -> None:
    """Of two owners who remove each other at once, the second finds that they are the last."""
    owners = Membership.objects.select_for_update().filter(project=author.project_id, role=Role.OWNER)
    if role != Role.OWNER and {owner.user_id for owner in owners.order_by("pk")} == {author.user_id}:
        raise Refused(Problem(f"{author} is the only owner", allowed="another owner first"))


def _told(name: str, author: Author, actor: Author, now: datetime, **more: str) -> None:
    event_record(name=name, actor=actor, now=now, payload={"author": author.pk} | more)


@transaction.atomic
def account_remove(*, user: AbstractUser) -> list[Author]:
    """The person leaves the installation. Their account and memberships go, and their attempts to sign in; every label
    stays under its author, who from now on is nobody in particular. The authors come back."""
    authors = list(Author.objects.filter(user=user).select_related("project"))
    AccessAttempt.objects.filter(username=user.get_username()).delete()
    user.delete()
    return authors


@transaction.atomic
def password_set(*, author: Author, password: str) -> None:
    if author.user is None:
        raise Refused(Problem(f"{author} has no account"))
    try:
        validate_password(password, author.user)
    except ValidationError as error:
        raise InputError(Problem(" ".join(error.messages), key="password")) from error
    author.user.set_password(password)
    author.user.save(update_fields=["password"])


@transaction.atomic
def second_factor_set(*, user: AbstractUser, key: str, code: str) -> list[str]:
    """From now on this account is signed in to with a code too. `key` is the app's, in hex; `code` shows that the app
    has it. What comes back are codes for when the app is lost, each good for one sign-in."""
    get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
    if user_has_device(user):
        raise Refused(Problem("this account has a second factor already", allowed="another one after it is removed"))
    if not TOTPDevice.objects.create(user=user, key=key, name="app").verify_token(code):
        raise InputError(Problem("this is not the code that the app shows now", key="code"))
    recovery = StaticDevice.objects.create(user=user, name="recovery codes")
    codes = [StaticToken.random_token() for _ in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=recovery, token=one) for one in codes)
    return codes


@transaction.atomic
def second_factor_remove(*, user: AbstractUser) -> bool:
    """The password alone is enough again. False where there was no second factor."""
    StaticDevice.objects.filter(user=user).delete()
    return TOTPDevice.objects.filter(user=user).delete()[0] > 0


@transaction.atomic
def external_account_user(*, issuer: str, subject: str, email: str, now: datetime) -> AbstractUser:
    """Whose account a provider's subject signs in to. At first it is found by `email`, which the provider has verified
    (else empty) and an owner has entered here; from then on by the subject, which never goes to another."""
    if not subject:
        raise InputError(Problem("the provider did not say who you are"))
    tied = ExternalAccount.objects.select_related("user").filter(issuer=issuer, subject=subject).first()
    if tied is None:
        users = list(get_user_model().objects.filter(email__iexact=email, is_active=True)) if email else []
        if len(users) != 1 or users[0].external_accounts.filter(issuer=issuer).exists():
            raise Refused(
                Problem(
                    "no account here is yours",
                    value=email or "no verified address",
                    allowed="an address that an owner has entered for one account here",
                )
            )
        tied = ExternalAccount.objects.create(user=users[0], issuer=issuer, subject=subject, tied_at=now)
    if not tied.user.is_active:
        raise Refused(Problem("this account is closed"))
    return tied.user


@transaction.atomic
def imported_author(*, project: Project, name: str | None) -> Author:
    """The author of labels that came in a file under this name; None: whoever filled its final column."""
    # The final column's author has no colon, so that no name of a file can be taken for it.
    pseudonym = "imported final decision" if name is None else f"imported: {name}"
    return Author.objects.get_or_create(project=project, pseudonym=pseudonym, defaults={"kind": AuthorKind.IMPORTED})[0]
