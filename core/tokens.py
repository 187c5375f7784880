"""Keys of programs: made, found again by their hash, used and revoked."""

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from core.access import require_role, role_of
from core.errors import InputError, Problem, Refused
from core.events import event_record
from core.identity import text_hash
from core.models import ApiToken, Author, AuthorKind, Project, Role, Scope
from core.texts import require_storable

PREFIX = "tertium_"
SHOWN = len(PREFIX) + 6
LONGEST_NAME = 60
LONGEST_DAYS = 366
NOTED_EVERY = timedelta(minutes=1)  # the last use is written at most this often
PIPELINE_SCOPES = (Scope.INTAKE, Scope.AUDITS_READ, Scope.AUDITS_WRITE, Scope.EXPORTS_READ, Scope.WEBHOOKS)
# What a person's role lets a token of theirs do.
SCOPES_OF_ROLE: dict[Role, tuple[Scope, ...]] = {
    Role.REVIEWER: (Scope.REVIEW,),
    Role.ADJUDICATOR: (Scope.REVIEW,),
    Role.LEAD: (*PIPELINE_SCOPES, Scope.DECIDE),
    Role.OWNER: (*PIPELINE_SCOPES, Scope.DECIDE),
}


@transaction.atomic
def pipeline_token_make(
    *, name: str, scopes: Iterable[str], days: int, actor: Author, now: datetime
) -> tuple[ApiToken, str]:
    """A token for a program of this name, and its key. A second one of the name acts as the same author."""
    name = name.strip()
    require_storable("name", name, LONGEST_NAME)
    if not name:
        raise InputError(Problem("missing", key="name", allowed="what the program is called"))
    given = {"kind": AuthorKind.PIPELINE}
    pipeline, _ = Author.objects.get_or_create(project=actor.project, pseudonym=f"pipeline: {name}", defaults=given)
    if pipeline.kind != AuthorKind.PIPELINE:
        raise Refused(Problem("somebody else has this pseudonym", key="name", value=name, allowed="another one"))
    return _make(pipeline, PIPELINE_SCOPES, scopes, days, actor, now)


@transaction.atomic
def person_token_make(
    *, author: Author, scopes: Iterable[str], days: int, actor: Author, now: datetime
) -> tuple[ApiToken, str]:
    """A token with which a person's own programs act as that person, for as long as they are a member.

    Made by the operator alone: whoever makes one could speak in another's name.
    """
    if actor.kind != AuthorKind.OPERATOR:
        raise Refused(Problem("a person's token is made at the command line", allowed="manage.py api_token"))
    role = role_of(author)
    if role is None:
        raise Refused(Problem("no member of the project", value=str(author), allowed="a member"))
    return _make(author, SCOPES_OF_ROLE[role], scopes, days, actor, now)


def _make(
    author: Author, allowed: Iterable[Scope], scopes: Iterable[str], days: int, actor: Author, now: datetime
) -> tuple[ApiToken, str]:
    if actor.kind != AuthorKind.OPERATOR:
        require_role(actor, Role.OWNER)
    given, names = list(dict.fromkeys(scopes)), [scope.value for scope in allowed]
    problems = [
        Problem("not a scope of this token", key="scopes", value=scope, allowed=", ".join(names))
        for scope in given
        if scope not in names
    ]
    if not given:
        problems.append(Problem("missing", key="scopes", allowed=f"one or more of {', '.join(names)}"))
    if not 1 <= days <= LONGEST_DAYS:
        problems.append(
            Problem("not a time a token may last", key="days", value=str(days), allowed=f"1 to {LONGEST_DAYS} days")
        )
    if problems:
        raise InputError(problems)
    key = PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        author=author,
        start=key[:SHOWN],
        digest=text_hash(key),
        scopes=sorted(given),
        made_by=actor,
        made_at=now,
        expires_at=now + timedelta(days=days),
    )
    payload = {"token": token.pk, "of": author.pseudonym, "scopes": token.scopes, "days": days}
    event_record(name="core.token-made", actor=actor, now=now, payload=payload)
    return token, key


@transaction.atomic
def token_revoke(*, token: ApiToken, actor: Author, now: datetime) -> None:
    """From now on it opens nothing. Revoking it again changes nothing."""
    if actor.kind != AuthorKind.OPERATOR:
        require_role(actor, Role.OWNER)
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        event_record(name="core.token-revoked", actor=actor, now=now, payload={"token": token.pk})


def token_find(key: str, now: datetime) -> ApiToken | None:
    """The token of this key, if it still opens anything."""
    active = Q(author__user=None) | Q(author__user__is_active=True)
    live = ApiToken.objects.filter(active, digest=text_hash(key), revoked_at=None, expires_at__gt=now)
    return live.select_related("author__project", "author__user").first()


def token_used(*, token: ApiToken, now: datetime) -> None:
    if token.used_at is None or now - token.used_at >= NOTED_EVERY:
        due = Q(used_at=None) | Q(used_at__lte=now - NOTED_EVERY)
        ApiToken.objects.filter(due, pk=token.pk).update(used_at=now)


def tokens_of(project: Project) -> QuerySet[ApiToken]:
    """The latest first."""
    return ApiToken.objects.filter(author__project=project).select_related("author", "made_by").order_by("-pk")
