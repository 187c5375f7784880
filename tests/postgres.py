"""`python -m tests.postgres [arguments of pytest]`: the tests marked `database` again, on PostgreSQL.

The server is a temporary one, or the one that TERTIUM_TEST_DATABASE_URL names.
"""

import contextlib
import os
import subprocess
import sys

from tests.services import temporary_postgres


def main(arguments: list[str]) -> int:
    given = os.environ.get("TERTIUM_TEST_DATABASE_URL")
    with contextlib.nullcontext(given) if given else temporary_postgres() as url:
        environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL_FILE"}
        command = [sys.executable, "-m", "pytest", "-m", "database", *arguments]
        return subprocess.run(command, env=environment | {"DATABASE_URL": url}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
