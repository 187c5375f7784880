"""Run everything on this machine: database, broker, worker and web server, with a demonstration project.

Ctrl-C stops it all. What is in the folder of the data stays for the next time.
"""

import os
import secrets
import time
from argparse import ArgumentParser
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from subprocess import Popen
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from config import env
from config.embedded import (
    ServiceFailed,
    await_web,
    embedded_broker,
    embedded_web,
    embedded_worker,
    port_is_free,
    private_folder,
    stopping_in_order,
)
from core.commands import unprepared

PORTS = range(1024, 65536)


class Command(BaseCommand):
    help = __doc__
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, port: int, **options: Any) -> None:
        var = settings.VAR_DIR
        _refuse(port, var)
        try:
            with stopping_in_order():
                self._run(var, port)
        except KeyboardInterrupt:
            self.stdout.write("\nStopped. Everything is kept: make run starts it again.")
        except ServiceFailed as failure:
            raise CommandError(str(failure)) from failure

    def _run(self, var: Path, port: int) -> None:
        private_folder(var)
        if unprepared():  # asked first: a migrate that finds nothing to do takes its time all the same
            call_command("migrate", verbosity=0)
        with (
            _broker(var) as broker,
            embedded_web(var, port=port, environment=_environment(var, broker)) as web,
        ):
            fresh = self._demonstration(var)
            await_web(var, web, port)
            self._say(var, port, fresh)
            # Pages answer without it, and what was settled until it runs is not lost: nobody waits for it.
            with embedded_worker(var, broker=broker, environment=_environment(var, broker)):
                _await_the_end(web, var)

    def _demonstration(self, var: Path) -> list[str]:
        """The lines with new accounts, where the project had to be made."""
        from audits.services.demonstrating import demonstration_exists, demonstration_make

        if demonstration_exists():
            return []
        self.stdout.write("Making the demonstration project ...")
        self.stdout.flush()
        accounts = demonstration_make(folder=var / "demonstration", now=timezone.now())
        lines = [f"  {account.username:<14} {account.password:<20} {account.role.label}" for account in accounts]
        _write_private(accounts_file(var), "\n".join(lines) + "\n")
        return lines

    def _say(self, var: Path, port: int, fresh: list[str]) -> None:
        self.stdout.write(f"\nTertium runs at http://localhost:{port}    (Ctrl-C stops it)\n\n")
        where = os.path.relpath(accounts_file(var))
        if fresh:
            self.stdout.write("Sign in as one of these; the passwords are shown this once, and kept in " + where)
            self.stdout.write("\n".join(fresh))
        else:
            self.stdout.write(f"Who may sign in stands in {where}; the logs are beside it.")
        self.stdout.flush()


def accounts_file(var: Path) -> Path:
    return var / "accounts.txt"


def _refuse(port: int, var: Path) -> None:
    if port not in PORTS:
        raise CommandError(f"port {port} cannot be used; allowed: {PORTS.start} to {PORTS.stop - 1}")
    if not port_is_free(port):
        raise CommandError(
            f"port {port} is taken by another program, perhaps by a Tertium that runs already: "
            f"stop that one, or take another port, as in: make run PORT={port + 1}"
        )
    if var.exists() and not os.access(var, os.W_OK | os.X_OK):
        raise CommandError(
            f"the folder {var} cannot be written to: "
            "name another one for the data, as in: make run TERTIUM_VAR=$HOME/tertium"
        )


def _broker(var: Path) -> AbstractContextManager[str]:
    """The broker that the environment names, or one of our own."""
    if env.secret("REDIS_URL"):
        return nullcontext(settings.CELERY_BROKER_URL)
    return embedded_broker(var)


def _environment(var: Path, broker: str) -> dict[str, str]:
    changes = {"REDIS_URL": broker}
    if not env.secret("SECRET_KEY"):
        changes["SECRET_KEY"] = _secret_key(var / "secret-key")
    return changes


def _secret_key(path: Path) -> str:
    """A key of this installation's own: the default one is public."""
    if not path.exists():
        _write_private(path, secrets.token_urlsafe(50))
    return path.read_text().strip()


def _write_private(path: Path, text: str) -> None:
    """Readable for this user alone from its first byte on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _await_the_end(web: "Popen[bytes]", var: Path) -> None:
    while web.poll() is None:
        time.sleep(0.5)
    raise ServiceFailed(f"The web server has ended; the end of {var / 'web.log'} says why.")
