"""Take somebody out of a project, or (--account) remove their account from the installation altogether.

Their labels stay, with every count and interval, under their pseudonym.
"""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from core.commands import Command as Base
from core.commands import Result
from core.errors import InputError, Problem
from core.models import Author
from core.selectors import user_named
from core.services import account_remove, member_remove


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USERNAME")
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument("--project", metavar="PROJECT", help="the project that they leave")
        where.add_argument("--account", action="store_true", help="they leave the installation")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        username, project = options["username"], options["project"]
        user = user_named(username)
        if options["account"]:
            authors = account_remove(user=user)
        else:
            authors = list(Author.objects.filter(user=user, project__name=project, project__memberships__user=user))
            if not authors:
                raise InputError(Problem(f"is no member of {project}", value=username))
            member_remove(author=authors[0])
        stay = [{"project": author.project.name, "pseudonym": author.pseudonym} for author in authors]

        def lines() -> list[str]:
            left = "the account is removed" if options["account"] else f"no longer a member of {project}"
            labels = [f"  labels stay in {author['project']} under {author['pseudonym']!r}" for author in stay]
            return [f"{username}: {left}", *labels]

        return {"username": username, "labels_stay_under": stay}, lines, True
