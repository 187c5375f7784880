"""Problems are gathered while a file streams past and raised together: a file is mended once, not row by row."""

from collections.abc import Collection
from dataclasses import replace
from typing import NoReturn

from core.errors import InputError, Problem, shortened

SHOWN_PROBLEMS = 20
MOST_REFUSED = 100_000  # rows: above, it is no matter of single rows, and their list would fill the memory


class Problems:
    """Keeps the first `limit` problems (all of them, for None) and counts the rest."""

    def __init__(self, limit: int | None = SHOWN_PROBLEMS) -> None:
        self.limit = limit
        self.kept: list[Problem] = []
        self.total = 0
        self._last: dict[str, int] = {}

    def add(self, problem: Problem, case_id: str = "") -> None:
        """`case_id` is the case that a refused row is about, where that is known."""
        self._last[problem.file] = max(self.last_row(problem.file), problem.row or 0)
        self._keep(problem)

    def last_row(self, file: str) -> int:
        """The last row of a file that a problem is about; 0 for none."""
        return self._last.get(file, 0)

    def _keep(self, problem: Problem) -> None:
        self.total += 1
        if self.limit is None or len(self.kept) < self.limit:
            self.kept.append(as_kept(problem))

    def raise_if_any(self) -> None:
        if not self.total:
            return
        unshown = self.total - len(self.kept)
        more = [Problem(f"and {unshown} more problem{'s' if unshown > 1 else ''}")] if unshown else []
        raise InputError([*self.kept, *more])

    def stop(self, problem: Problem) -> NoReturn:
        """For a fault after which nothing that follows can be trusted."""
        self._keep(problem)
        self.raise_if_any()
        raise AssertionError("a problem was added and none was raised")


class RefusedRows(Problems):
    """Keeps refused rows, and the cases that they are about, apart from what is wrong with a file as a whole.

    While `counted` is set, a row that names no case is such a fault: which case a later row is about depends on it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.counted = False
        self.rows: dict[Problem, None] = {}  # in order, each once: several readings of a file find the same
        self.cases: set[str] = set()

    def add(self, problem: Problem, case_id: str = "") -> None:
        if problem.row is None or (self.counted and not case_id):
            super().add(problem)
            return
        self._last[problem.file] = max(self.last_row(problem.file), problem.row)
        self.rows[as_kept(problem)] = None
        self.cases |= {case_id} - {""}
        if len(self.rows) > MOST_REFUSED:
            allowed = "files that are sound but for some rows"
            self.stop(Problem(f"more than {MOST_REFUSED:,} rows are refused", file=problem.file, allowed=allowed))


class FurtherProblems(Problems):
    """Passes over refused rows that are told already."""

    def __init__(self, told: Collection[Problem]) -> None:
        super().__init__()
        self.told = told

    def _keep(self, problem: Problem) -> None:
        if as_kept(problem) not in self.told:
            super()._keep(problem)


def as_kept(problem: Problem) -> Problem:
    """A value may be a transcript: what is kept of it is its beginning."""
    return problem if problem.value is None else replace(problem, value=shortened(problem.value))
