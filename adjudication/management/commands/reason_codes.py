"""List the reason codes of a project: the stage at which each is offered, who owns it, how often it was given."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from adjudication.selectors import reasons_given, reasons_of
from core.commands import Command as Base
from core.commands import Result
from core.selectors import project_find


class Command(Base):
    help = __doc__

    def arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT")

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        project = project_find(options["project"])
        given = reasons_given(project)
        columns = ("code", "meaning", "needs_text", "stage", "owner")
        codes = [
            {column: getattr(code, column) for column in columns} | {"given": given.get(code.code, 0)}
            for code in reasons_of(project)
        ]
        return {"project": project.name, "codes": codes}, lambda: [_line(code) for code in codes], True


def _line(code: dict[str, Any]) -> str:
    times = "1 time" if code["given"] == 1 else f"{code['given']} times"
    return f"{code['stage']}: {code['code']} ({code['owner']}), given {times}"
