"""An installation as processes, each of which can be killed as by kill -9, and started again.

Commands and variables come from compose.yaml and the Dockerfile, so that what is tried here is what those start.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from config.embedded import broker_binary

ROOT = Path(__file__).resolve().parents[1]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
HOST = "audit.example"
GIVEN = {"SECRET_KEY": "k" * 50, "ALLOWED_HOSTS": HOST, "POSTGRES_PASSWORD": "x", "METRICS_TOKEN": ""}
STORED = "/var/lib/tertium"  # where the image keeps its files


def environment_of(service: str) -> dict[str, str]:
    """A service's variables, with what the file leaves to the environment filled in."""

    def fill(found: re.Match[str]) -> str:
        return GIVEN.get(found[1], found[3] if found[2] == ":-" else "")

    named = COMPOSE["services"][service]["environment"]
    return {name: re.sub(r"\$\{(\w+)(:[-?])([^}]*)\}", fill, value) for name, value in named.items()}


def command_of(service: str) -> list[str]:
    """A service's command; the image's own where the file names none."""
    if given := COMPOSE["services"][service].get("command"):
        return list(given)
    dockerfile = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
    return list(json.loads(re.findall(r"^CMD (\[.*\])$", dockerfile, re.MULTILINE)[-1]))


class House:
    """Web servers, workers, a clock and a broker on a database that is there. A name with a number, as in `web-2`, is
    one more of its kind."""

    def __init__(self, folder: Path, database: str, **changes: str) -> None:
        self.folder = folder
        self.ports = {name: free_port() for name in ("broker", "web", "web-2")}
        self.changes = {
            "DATABASE_URL": database,
            "REDIS_URL": f"redis://127.0.0.1:{self.ports['broker']}/0",
            "TERTIUM_PRODUCTION": "True",
            "TERTIUM_VAR": str(folder),
            **changes,
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str) -> None:
        """Start them at the same time, and wait for those that listen."""
        for name in names:
            # A group of its own, so that a kill reaches what it has forked.
            with self.log(name).open("ab") as log:
                self.processes[name] = subprocess.Popen(
                    self._command(name), cwd=ROOT, env=self.environment(name), stdout=log, stderr=log, process_group=0
                )
        for name in names:
            if name in self.ports:
                until(lambda name=name: self._listens(name), f"{name} listens")  # type: ignore[misc]

    def environment(self, name: str) -> dict[str, str]:
        plain = {known: os.environ[known] for known in ("PATH", "HOME") if known in os.environ}
        return plain if name == "broker" else plain | environment_of(_service(name)) | self.changes

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def kill(self, name: str) -> None:
        """As by kill -9, with what it has forked."""
        process = self.processes.pop(name)
        _kill_group(process)
        process.wait()

    def stop(self, *names: str) -> None:
        """Ask all, wait for each, then insist."""
        asked = [self.processes.pop(name) for name in names]
        for process in asked:
            process.terminate()
        for process in asked:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            _kill_group(process)
            process.wait()

    def children(self, name: str) -> list[int]:
        """What it has forked (Linux)."""
        pid = self.processes[name].pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def _command(self, name: str) -> list[str]:
        if name == "broker":
            port = str(self.ports["broker"])
            options = command_of("broker")[1:]
            return [broker_binary(), "--port", port, "--bind", "127.0.0.1", "--dir", str(self.folder), *options]
        program, *arguments = command_of(_service(name))
        replaced = {STORED: str(self.folder), "0.0.0.0:8000": f"127.0.0.1:{self.ports.get(name)}"}
        for old, new in replaced.items():
            arguments = [argument.replace(old, new) for argument in arguments]
        return [sys.executable, *arguments] if program == "python" else [sys.executable, "-m", program, *arguments]

    def _listens(self, name: str) -> bool:
        assert self.processes[name].poll() is None, self.log(name).read_text(errors="replace")[-2000:]
        return accepts(self.ports[name])


@contextlib.contextmanager
def house(folder: Path, database: str, **changes: str) -> Iterator[House]:
    """Nothing runs yet; whatever runs at the end is stopped."""
    built = House(folder, database, **changes)
    try:
        yield built
    finally:
        built.stop(*built.processes)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _service(name: str) -> str:
    return name.partition("-")[0]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def until(what: Callable[[], Any], said: str = "what was waited for", seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {said}"
        time.sleep(0.05)
    return found
