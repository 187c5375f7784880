"""Make somebody a member of a project, in one role, or change their role.

A new account gets a random password, which is shown this once. Exports and pages name people by their pseudonym.
"""

import secrets
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.contrib.auth import get_user_model
from django.utils import timezone

from core.commands import Command as Base
from core.commands import Result
from core.models import Role
from core.services import member_add, password_set, project_ensure, pseudonym_free


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="made if it is not there")
        parser.add_argument("username", metavar="USERNAME", help="what the person signs in with")
        parser.add_argument("role", choices=Role.values)
        parser.add_argument("--pseudonym", default="", help='what stands beside their labels (default: "person N")')

        parser.add_argument("--email", default="", help="the address by which single sign-on finds the account")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        username = options["username"]
        project = project_ensure(name=options["project"], now=timezone.now())
        author = member_add(
            project=project,
            username=username,
            role=Role(options["role"]),
            pseudonym=options["pseudonym"] or pseudonym_free(project),
            email=options["email"],
        )
        result = {"project": project.name, "username": username, "role": options["role"], "pseudonym": author.pseudonym}
        if not get_user_model().objects.get(username=username).has_usable_password():
            result["password"] = secrets.token_urlsafe(16)
            password_set(author=author, password=result["password"])

        def lines() -> list[str]:
            said = [f"{username} is {options['role']} in {project.name}, as {author.pseudonym!r}"]
            if "password" in result:
                said.append(f"password: {result['password']} (shown this once)")
            return said

        return result, lines, True
