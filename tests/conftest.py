"""What every test may rely on: a database of its own, and services that start when a test asks for them."""

from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from django.conf import settings
from django.db import connections
from django.test import TransactionTestCase, override_settings
from kombu import pools
from whitenoise.middleware import WhiteNoiseMiddleware

from config import celery_app
from config.embedded import broker_url, embedded_broker, embedded_worker
from tests.emptying import as_made
from tests.real_data import pytest_collection_modifyitems, real_data
from tests.services import database_url

__all__ = ["pytest_collection_modifyitems", "real_data"]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The SQLite test database is a file in a folder of this run, so that two runs at a time do not meet."""
    if connections["default"].vendor == "sqlite":
        file = tmp_path_factory.mktemp("database") / "test.sqlite3"
        connections["default"].settings_dict["TEST"]["NAME"] = str(file)


@pytest.fixture(scope="session", autouse=True)
def _no_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A test that asks for no broker reaches none: not even that of a demo running in this folder."""
    with pytest.MonkeyPatch.context() as patch:
        _use_broker(patch, broker_url(tmp_path_factory.mktemp("no-broker")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _nothing_counted() -> Iterator[None]:
    """No test is throttled by what another asked: a person of the same number is somebody else there."""
    with override_settings(CACHES={"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}):
        yield


@pytest.fixture(scope="session", autouse=True)
def _static_files_listed_once() -> Iterator[None]:
    """Every test client makes the middleware anew, which lists all static files anew: they are the same for the run."""
    listing, listed = WhiteNoiseMiddleware.add_files_from_finders, {}

    def once(middleware: WhiteNoiseMiddleware) -> None:
        if not listed:
            listing(middleware)
            listed.update(middleware.files)
        middleware.files.update(listed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", once)
        yield


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real broker for this run; yields its URL. Tests that publish ask for `celery_broker`."""
    with embedded_broker(tmp_path_factory.mktemp("broker")) as url:
        yield url


@pytest.fixture
def celery_broker(broker: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Celery]:
    """The project's Celery application, publishing to the run's broker."""
    _use_broker(monkeypatch, broker)
    yield celery_app
    celery_app.control.purge()
    monkeypatch.undo()
    _forget_connections()


@pytest.fixture
def worker(broker: str, django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real worker process on the run's broker and test database, for one test: left running it would
    take the messages that another test counts. Yields its node name.

    A test that uses it needs `celery_broker` to publish, and `transactional_db`: another process sees
    only what is committed.
    """
    environment = {"DATABASE_URL": database_url(connections["default"].settings_dict)}
    with embedded_worker(tmp_path_factory.mktemp("worker"), broker=broker, environment=environment) as node:
        yield node


@pytest.fixture
def quick_passwords(settings: Any) -> None:
    """For tests that sign in often: half a second for each attempt is what the real hashing is for."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def _use_broker(patch: pytest.MonkeyPatch, url: str) -> None:
    patch.setattr(settings, "CELERY_BROKER_URL", url)
    patch.setitem(celery_app.conf, "broker_url", url)
    _forget_connections()


def _forget_connections() -> None:
    """Celery keeps a pool per process, opened on the first URL it saw. Closed here: a process forked later closes what
    it inherited, and waits five seconds for what the broker still owes a reader whose time ran out."""
    celery_app._after_fork()
    pools.reset()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """What Django makes, and how to get it back after a test that commits."""
    with django_db_blocker.unblock():
        TransactionTestCase._fixture_teardown = as_made(connections["default"])
