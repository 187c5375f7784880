"""A setting that cannot be read stops the start, and says what is allowed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env
from config.embedded import broker_url

ROOT = Path(__file__).resolve().parents[2]
POSTGRES = "postgresql://ann:p%40ss@db.example:5433/tertium?sslmode=require"


@pytest.mark.parametrize("value", ["true", "1", "yes", "", " True"])
def test_flag_refuses_what_is_not_true_or_false(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("DEBUG", value)
    with pytest.raises(ImproperlyConfigured, match=f"^DEBUG is {value!r}; allowed: True, False$"):
        env.flag("DEBUG", False)


@pytest.mark.parametrize(("value", "read"), [("True", True), ("False", False)])
def test_flag_reads_both_values(monkeypatch: pytest.MonkeyPatch, value: str, read: bool) -> None:
    monkeypatch.setenv("DEBUG", value)
    assert env.flag("DEBUG", not read) is read


def test_choice_refuses_another_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "loud")
    with pytest.raises(ImproperlyConfigured, match=r"^LOG_LEVEL is 'loud'; allowed: INFO, ERROR$"):
        env.choice("LOG_LEVEL", "INFO", ["INFO", "ERROR"])


def test_hosts_drops_spaces_and_empty_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", " a.example, ,b.example,[::1]")
    assert env.hosts("ALLOWED_HOSTS", "") == ["a.example", "b.example", "[::1]"]


def test_networks_are_read_and_one_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERTIUM_WEBHOOK_NETWORKS", "10.1.0.0/16, fd00::/8,")
    assert [str(one) for one in env.networks("TERTIUM_WEBHOOK_NETWORKS", "")] == ["10.1.0.0/16", "fd00::/8"]
    monkeypatch.setenv("TERTIUM_WEBHOOK_NETWORKS", "10.1.2.3/16")
    with pytest.raises(ImproperlyConfigured, match=r"has host bits set; allowed: networks as in 10\.1\.0\.0/16"):
        env.networks("TERTIUM_WEBHOOK_NETWORKS", "")


def test_secret_is_read_from_the_named_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.delenv("SECRET_KEY", raising=False)
    assert env.secret("SECRET_KEY") == "s3cret"


def test_secret_names_the_file_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.delenv("SECRET_KEY", raising=False)
    with pytest.raises(ImproperlyConfigured, match=r"^SECRET_KEY_FILE names '.*key': No such file or directory$"):
        env.secret("SECRET_KEY")


def test_secret_given_twice_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("SECRET_KEY", "other")
    with pytest.raises(ImproperlyConfigured, match=r"^SECRET_KEY and SECRET_KEY_FILE are both set; allowed: one"):
        env.secret("SECRET_KEY")


def test_postgresql_url_is_taken_apart() -> None:
    read = env.database(POSTGRES, Path("unused"))
    names = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
    assert [read[name] for name in names] == [
        "django.db.backends.postgresql",
        "tertium",
        "ann",
        "p@ss",
        "db.example",
        "5433",
        {"sslmode": "require"},
    ]


def test_sqlite_url_names_the_file() -> None:
    assert env.database("sqlite:///srv/my%20data/t.sqlite3", Path("unused"))["NAME"] == Path("/srv/my data/t.sqlite3")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://ann:hush@db/tertium", "DATABASE_URL has the scheme 'mysql'; allowed: postgresql://"),
        ("sqlite://relative.sqlite3", "DATABASE_URL has the scheme 'sqlite'; allowed: .*sqlite:///absolute/path"),
        ("postgresql://ann:hush@db", "DATABASE_URL names no database"),
        ("postgresql://ann:hush@db:port/tertium", "DATABASE_URL cannot be read: Port could not be cast"),
    ],
)
def test_database_url_that_cannot_be_used_is_refused_without_its_password(url: str, says: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"^{says}") as refusal:
        env.database(url, Path("unused"))
    assert "hush" not in str(refusal.value)


@pytest.mark.parametrize("given", ["", "https://audit.example", "https://audit.example:8443/tertium"])
def test_public_url_is_an_address_or_nothing(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("TERTIUM_PUBLIC_URL", given)
    assert env.public_url("TERTIUM_PUBLIC_URL", plain_allowed=False) == given


@pytest.mark.parametrize(
    "given",
    [
        *("audit.example", "/tertium", "http://audit.example", "https://", "https://audit.example/"),
        *("https://me@audit.example", "https://audit.example?a=b", "https://audit.example#a", "https://[audit.example"),
    ],
)
def test_odd_public_url_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("TERTIUM_PUBLIC_URL", given)
    with pytest.raises(ImproperlyConfigured, match=r"^TERTIUM_PUBLIC_URL is '.*'; allowed: an address that begins"):
        env.public_url("TERTIUM_PUBLIC_URL", plain_allowed=False)


def started(**environment: str) -> subprocess.CompletedProcess[str]:
    """Load the settings in a process of their own, with nothing of ours in its environment but what is given."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [sys.executable, "-c", "import config.settings, sys; print(*sys.modules)"]
    return subprocess.run(command, cwd=ROOT, env=kept | environment, capture_output=True, text=True, check=False)


SAID = {"ALLOWED_HOSTS": "audit.example", "BEHIND_TLS_PROXY": "True", "SECRET_KEY": "k" * 32}


@pytest.mark.parametrize("setting", [{"TERTIUM_PRODUCTION": "True"}, {"ALLOWED_HOSTS": "localhost,audit.example"}])
def test_without_a_secret_key_nothing_but_this_machine_is_served(tmp_path: Path, setting: dict[str, str]) -> None:
    refused = started(TERTIUM_VAR=str(tmp_path), **setting)
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1] == (
        "django.core.exceptions.ImproperlyConfigured: SECRET_KEY is not set; it, or SECRET_KEY_FILE, is required "
        "in production, and wherever ALLOWED_HOSTS names more than this machine"
    )
    assert started(TERTIUM_VAR=str(tmp_path), **SAID | setting).returncode == 0


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"ALLOWED_HOSTS": None}, "ALLOWED_HOSTS is not set; required in production: the host names that people type"),
        ({"BEHIND_TLS_PROXY": None}, "BEHIND_TLS_PROXY is not set; required in production: True behind a proxy that"),
        ({"SECRET_KEY": "k" * 31}, "SECRET_KEY has 31 characters; allowed in production: at least 32, at random"),
    ],
)
def test_production_refuses_to_start_with_defaults(tmp_path: Path, setting: dict[str, str | None], says: str) -> None:
    said = {name: value for name, value in (SAID | setting).items() if value is not None}
    start = started(TERTIUM_PRODUCTION="True", TERTIUM_VAR=str(tmp_path), **said)
    assert start.returncode == 1
    assert f"ImproperlyConfigured: {says}" in start.stderr.splitlines()[-1]
    assert started(TERTIUM_PRODUCTION="True", TERTIUM_VAR=str(tmp_path), **SAID).returncode == 0


def test_production_with_debug_does_not_start(tmp_path: Path) -> None:
    start = started(TERTIUM_PRODUCTION="True", SECRET_KEY="long", DEBUG="True", TERTIUM_VAR=str(tmp_path))
    assert start.returncode == 1
    assert start.stderr.splitlines()[-1].endswith("DEBUG is True; allowed in production: False")


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    start = started(TERTIUM_VAR=str(tmp_path / "file" / "var"))
    assert start.returncode == 1
    assert "cannot be made (Not a directory); name one that can be written to in TERTIUM_VAR" in start.stderr


def test_outside_services_leave_the_folder_unmade(tmp_path: Path) -> None:
    start = started(TERTIUM_VAR=str(tmp_path / "var"), DATABASE_URL=POSTGRES, REDIS_URL="redis://cache.example/0")
    assert (start.returncode, (tmp_path / "var").exists()) == (0, False)


@pytest.mark.parametrize(
    ("url", "location"),
    [
        (None, Path("var/counts")),
        ("redis://:secret@cache.example:6380/1", "redis://:secret@cache.example:6380/1"),
        ("rediss://cache.example/0", "rediss://cache.example/0"),
        (broker_url(Path("/var/lib/a folder")), "unix:///var/lib/a%20folder/valkey.sock?db=0"),
        ("redis+socket:///run/valkey.sock?virtual_host=3", "unix:///run/valkey.sock?db=3"),
    ],
)
def test_requests_are_counted_in_the_server_that_celery_uses(url: str | None, location: str | Path) -> None:
    assert env.cache(url, Path("var/counts"))["LOCATION"] == location


def test_broker_of_another_kind_is_refused_without_saying_its_password(tmp_path: Path) -> None:
    start = started(TERTIUM_VAR=str(tmp_path), REDIS_URL="amqp://user:secret@queue.example")
    assert start.returncode == 1
    assert "REDIS_URL has the scheme 'amqp'; allowed: redis://user:password@host:port/0" in start.stderr
    assert "secret" not in start.stderr.splitlines()[-1]


def test_settings_load_without_the_heavy_libraries(tmp_path: Path) -> None:
    loaded = started(TERTIUM_VAR=str(tmp_path)).stdout.split()
    assert "config.settings" in loaded
    assert not {"numpy", "scipy", "pandas", "altair", "redis"} & set(loaded)


def test_every_variable_that_config_reads_stands_in_the_example() -> None:
    source = "\n".join(file.read_text() for file in (ROOT / "config").glob("*.py"))
    plain = set(re.findall(r'env\.(?!secret|require_said)[a-z_]+\(\s*"([A-Z_]+)"', source))
    secret = set(re.findall(r'env\.secret\(\s*"([A-Z_]+)"', source))
    example = set(re.findall(r"^#? ?([A-Z][A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert plain | secret | {f"{name}_FILE" for name in secret} == example
    assert {"DEBUG", "SECRET_KEY", "LOG_LEVEL"} <= example
