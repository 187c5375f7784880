"""The shape that our commands share: plain lines or one JSON document, and three exit codes."""

import json
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

from core.errors import InputError, Problem, Refused

ANSWER_IS_NO = 1
BAD_INPUT = 2

Result = dict[str, Any]


class Command(BaseCommand):
    """Exit codes: 0 done, 1 the answer is no, 2 bad input. `--json` prints one document on standard
    output, errors included; progress goes to standard error."""

    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
        self.arguments(parser)

    def arguments(self, parser: ArgumentParser) -> None:
        """Further arguments of the command."""

    def run(self, options: dict[str, Any]) -> tuple[Result, Callable[[], list[str]], bool]:
        """The result as JSON, the same as lines (made only if wanted), and whether the answer is yes."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            result, lines, yes = self.run(options)
        except InputError as error:
            self._fail(error, options)
        except DatabaseError as error:
            self._fail(InputError(_database_problem(error)), options)
        except OSError as error:
            self._fail(InputError(Problem(f"cannot be used: {error.strerror}", file=str(error.filename))), options)
        if options["json"]:
            self.stdout.write(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False))
        else:
            for line in lines():
                self.stdout.write(line)
        if not yes:
            raise SystemExit(ANSWER_IS_NO)

    def _fail(self, error: InputError, options: dict[str, Any]) -> NoReturn:
        code = ANSWER_IS_NO if isinstance(error, Refused) else BAD_INPUT
        if options["json"]:
            problems = [problem.as_dict() for problem in error.problems]
            self.stdout.write(json.dumps({"errors": problems}, indent=2, ensure_ascii=False))
            raise SystemExit(code)
        raise CommandError(str(error), returncode=code)


def _database_problem(error: DatabaseError) -> Problem:
    """What keeps a command from its database, where a person can mend that; anything else is our own fault."""
    try:
        if unprepared():
            return Problem("the database is not prepared", allowed="manage.py migrate, once")
    except DatabaseError:
        pass  # it cannot even be asked: said below
    else:
        if not isinstance(error, OperationalError):
            raise error
    return Problem(f"the database cannot be used: {str(error).strip()}", key="DATABASE_URL or TERTIUM_VAR")


def unprepared() -> bool:
    """Whether migrations wait: then a missing table is no fault of the command."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
