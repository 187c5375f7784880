"""The embedded broker and worker: real processes, in folders as odd as people's."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from celery import Celery

from config import embedded
from config.embedded import embedded_broker, embedded_worker, socket_path


def client(var_dir: Path) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(socket_path(var_dir)), retry=None, decode_responses=True)


def broker_pid(var_dir: Path) -> int:
    with client(var_dir) as line:
        return line.info("server")["process_id"]


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(holds: Callable[[], object], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def alive_in_group(group: int) -> list[str]:
    """Members of a process group that still run; a dead one that nobody has collected does not count."""
    alive = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, member_of = file.read_text().rpartition(")")[2].split()[:3]
            if int(member_of) == group and state != "Z":
                alive.append(file.parent.name)
    return alive


def test_broker_answers_inside_the_block_and_is_gone_after_it(tmp_path: Path) -> None:
    with embedded_broker(tmp_path):
        pid = broker_pid(tmp_path)
        assert runs(pid)
    assert (runs(pid), socket_path(tmp_path).exists()) == (False, False)


def test_broker_keeps_what_it_was_given_until_the_next_start(tmp_path: Path) -> None:
    with embedded_broker(tmp_path), client(tmp_path) as line:
        line.set("kept", "yes")
    with embedded_broker(tmp_path), client(tmp_path) as line:
        assert line.get("kept") == "yes"


def test_broker_listens_on_no_port_and_for_this_user_alone(tmp_path: Path) -> None:
    with embedded_broker(tmp_path), client(tmp_path) as line:
        assert line.config_get("port") == {"port": "0"}
        assert socket_path(tmp_path).stat().st_mode & 0o777 == 0o700


def test_broker_starts_over_what_a_killed_one_left_behind(tmp_path: Path) -> None:
    with embedded_broker(tmp_path):
        killed = broker_pid(tmp_path)
        os.kill(killed, signal.SIGKILL)
    assert socket_path(tmp_path).exists()
    (tmp_path / "valkey.lock").write_text("1\n")
    with embedded_broker(tmp_path):
        assert broker_pid(tmp_path) != killed


def test_broker_of_another_live_owner_is_used_and_left_running(tmp_path: Path) -> None:
    with embedded_broker(tmp_path) as theirs:
        pid = broker_pid(tmp_path)
        with embedded_broker(tmp_path) as ours:
            assert (ours, broker_pid(tmp_path)) == (theirs, pid)
        assert broker_pid(tmp_path) == pid


def kill_owner(var_dir: Path, before: str = "") -> None:
    """Start the broker in a process that is killed at once, without a chance to stop it."""
    code = f"import os, signal, sys; from pathlib import Path; from config import embedded; {before}\n"
    code += "with embedded.embedded_broker(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", code, str(var_dir)], cwd=embedded.BASE_DIR, check=False)


def test_broker_that_outlived_its_owner_is_taken_over_and_stopped(tmp_path: Path) -> None:
    kill_owner(tmp_path, "embedded._dies_with_us = list")
    left = broker_pid(tmp_path)
    with embedded_broker(tmp_path):
        assert broker_pid(tmp_path) == left
    assert eventually(lambda: not socket_path(tmp_path).exists())


@pytest.mark.skipif(not embedded._dies_with_us(), reason="this machine's setpriv knows no --pdeathsig")
def test_broker_ends_with_an_owner_that_is_killed(tmp_path: Path) -> None:
    kill_owner(tmp_path)
    assert (tmp_path / "valkey.log").exists()
    assert eventually(lambda: not socket_path(tmp_path).exists())


def test_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "kv" / "appendonlydir").mkdir(parents=True)
    (tmp_path / "kv" / "appendonlydir" / "appendonly.aof.manifest").write_text("no manifest\n")
    said = r"(?s)^The broker ended at once; the end of .*valkey\.log:.*manifest"
    with pytest.raises(embedded.ServiceFailed, match=said), embedded_broker(tmp_path):
        pass


def test_lock_is_free_again_after_the_block(tmp_path: Path) -> None:
    with embedded_broker(tmp_path):
        pass
    with (tmp_path / "valkey.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("name", ["two words", "100% #1? & ü", "d" * 120], ids=["space", "marks", "deep"])
def test_celery_reaches_the_broker_of_any_folder(tmp_path: Path, name: str) -> None:
    var_dir = tmp_path / name
    with embedded_broker(var_dir) as url, Celery(broker=url, set_as_current=False) as app:
        app.send_task("audits.tasks.looks_sweep")
        with client(var_dir) as line:
            assert line.llen("celery") == 1
    assert socket_path(var_dir).parent.exists() == (socket_path(var_dir).parent == var_dir)


def test_socket_moves_to_a_private_folder_where_the_path_is_too_long(tmp_path: Path) -> None:
    fits = Path("/" + "v" * (embedded.SOCKET_PATH_BYTES - len("//valkey.sock")))
    assert socket_path(fits) == fits / "valkey.sock"
    moved = socket_path(Path(f"{fits}v"))
    assert moved.parent.parent == Path("/tmp")
    assert moved != socket_path(Path(f"{fits}w"))


def test_private_folder_refuses_one_that_others_may_write_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    planted = tmp_path / "planted"
    planted.mkdir()
    planted.chmod(0o777)
    with pytest.raises(embedded.ServiceFailed, match="others may write to it"):
        embedded.private_folder(planted)


def test_private_folder_refuses_a_planted_link(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "planted").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(embedded.ServiceFailed, match="belongs to another user"):
        embedded.private_folder(tmp_path / "planted")


def test_publishing_to_a_broker_that_is_down_fails_at_once() -> None:
    from kombu.exceptions import OperationalError

    from config import celery_app

    before = time.monotonic()
    with pytest.raises(OperationalError):
        celery_app.send_task("audits.tasks.looks_sweep")
    assert time.monotonic() - before < 1.0


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_worker_runs_what_is_sent_to_it(worker: str, celery_broker: Celery) -> None:
    assert celery_broker.control.ping(destination=[worker], timeout=5) == [{worker: {"ok": "pong"}}]
    celery_broker.send_task("celery.accumulate", args=(1, 2))  # one that Celery itself brings
    counts = celery_broker.control.inspect([worker], timeout=1).stats
    assert eventually(lambda: counts()[worker]["total"] == {"celery.accumulate": 1})


def test_worker_and_its_beat_are_gone_after_the_block_even_where_it_died(tmp_path: Path) -> None:
    with embedded_broker(tmp_path) as url:
        with embedded_worker(tmp_path, broker=url, environment={"TERTIUM_VAR": str(tmp_path)}) as node:
            with Celery(broker=url, set_as_current=False) as app:
                pid = app.control.inspect([node], timeout=5).stats()[node]["pid"]
            os.kill(pid, signal.SIGKILL)
        assert eventually(lambda: not alive_in_group(pid))


def test_worker_finds_its_broker_again_after_the_broker_restarted(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        with embedded_broker(tmp_path) as url:
            here = {"TERTIUM_VAR": str(tmp_path)}
            node = stack.enter_context(embedded_worker(tmp_path, broker=url, environment=here))
        app = Celery(broker=url, set_as_current=False)
        with embedded_broker(tmp_path), app.connection_for_write() as line:
            assert eventually(lambda: app.control.ping(destination=[node], timeout=0.5, connection=line))


def test_polite_signal_stops_the_services_of_a_command(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from config.embedded import embedded_broker, stopping_in_order\n"
        "with stopping_in_order(), embedded_broker(Path(sys.argv[1])): print('up', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, cwd=embedded.BASE_DIR, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        pid = broker_pid(tmp_path)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) != 0
    assert not runs(pid)
