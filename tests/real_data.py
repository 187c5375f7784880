"""The public data that some tests read: a folder named by TERTIUM_REAL_DATA, never part of the project.

Where it is absent, tests marked `real_data` are deselected, and one line says so. Small files of our own
with the same faults stand in the other tests, which always run.
"""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("TERTIUM_REAL_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


@pytest.fixture(scope="session")
def real_data() -> Path:
    return FOLDER


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if FOLDER.is_dir():
        return
    absent = [item for item in items if item.get_closest_marker("real_data")]
    if absent:
        items[:] = [item for item in items if item not in absent]
        config.hook.pytest_deselected(items=absent)
        print(f"\n{len(absent)} tests left out: no real data at {FOLDER} (TERTIUM_REAL_DATA)")
