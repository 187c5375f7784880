"""Make, list or revoke the tokens of a project: for a program, or for a person's own programs.

The key of a new token is shown this once. Without --pipeline or --person the tokens are listed.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem
from core.models import ApiToken, Author, Project, Scope
from core.selectors import project_find
from core.services import operator_of
from core.tokens import person_token_make, pipeline_token_make, token_revoke, tokens_of


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        wanted = parser.add_mutually_exclusive_group()
        wanted.add_argument("--pipeline", metavar="NAME", help="make a token for a program of this name")
        wanted.add_argument("--person", metavar="USERNAME", help="make one with which a member's programs act as them")
        wanted.add_argument("--revoke", type=int, metavar="NUMBER", help="revoke the token of this number")
        parser.add_argument(
            "--scope", action="append", default=[], choices=Scope.values, help="what it may do; repeatable"
        )
        parser.add_argument("--days", type=int, default=90, help="until it expires (90)")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        project, now = project_find(options["project"]), timezone.now()
        actor, made = operator_of(project), {"scopes": options["scope"], "days": options["days"]}
        if options["pipeline"] is not None:
            return _made(*pipeline_token_make(name=options["pipeline"], **made, actor=actor, now=now))
        if options["person"] is not None:
            author = _member(project, options["person"])
            return _made(*person_token_make(author=author, **made, actor=actor, now=now))
        if options["revoke"] is not None:
            token_revoke(token=_token(project, options["revoke"]), actor=actor, now=now)
        tokens = [_told(token) for token in tokens_of(project)]
        return {"tokens": tokens}, lambda: [_line(told) for told in tokens] or ["no token is there"], True


def _made(token: ApiToken, key: str) -> tuple[Result, Callable[[], list[str]], bool]:
    result = _told(token) | {"key": key}
    return result, lambda: [_line(result), f"key: {key} (shown this once)"], True


def _told(token: ApiToken) -> Result:
    revoked, used = token.revoked_at, token.used_at
    return {
        "number": token.pk,
        "start": token.start,
        "author": token.author.pseudonym,
        "scopes": token.scopes,
        "made_by": token.made_by.pseudonym,
        "expires_at": token.expires_at.isoformat(),
        "revoked_at": revoked.isoformat() if revoked else None,
        "used_at": used.isoformat() if used else None,
    }


def _line(told: Result) -> str:
    state = f"revoked {told['revoked_at']}" if told["revoked_at"] else f"until {told['expires_at']}"
    return f"{told['number']}: {told['start']}… {told['author']}, {' '.join(told['scopes'])}, {state}"


def _member(project: Project, username: str) -> Author:
    found = Author.objects.filter(project=project, user__username=username).first()
    if found is None:
        raise InputError(Problem("nobody of this name is in the project", key="--person", value=username))
    return found


def _token(project: Project, number: int) -> ApiToken:
    found = tokens_of(project).filter(pk=number).first()
    if found is None:
        raise InputError(Problem("there is no token of this number", key="--revoke", value=str(number)))
    return found
