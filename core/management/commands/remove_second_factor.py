"""Let somebody who has lost their app and their recovery codes sign in with the password alone."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from core.commands import Command as Base
from core.commands import Result
from core.selectors import user_named
from core.services import second_factor_remove


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", metavar="USERNAME")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        username = options["username"]
        removed = second_factor_remove(user=user_named(username))
        said = "signs in with the password alone from now on" if removed else "has no second factor"
        return {"username": username, "removed": removed}, lambda: [f"{username} {said}"], removed
