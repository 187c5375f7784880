"""Problems are gathered while a file streams past and raised together: a file is mended once, not row by row."""

from dataclasses import replace
from typing import NoReturn

from core.errors import InputError, Problem, shortened

SHOWN_PROBLEMS = 20


class Problems:
    """Keeps the first `limit` problems (all of them, for None) and counts the rest."""

    def __init__(self, limit: int | None = SHOWN_PROBLEMS) -> None:
        self.limit = limit
        self.kept: list[Problem] = []
        self.total = 0

    def add(self, problem: Problem) -> None:
        """A value may be a transcript: what is kept of it is its beginning."""
        self.total += 1
        if self.limit is None or len(self.kept) < self.limit:
            value = None if problem.value is None else shortened(problem.value)
            self.kept.append(replace(problem, value=value))

    def raise_if_any(self) -> None:
        if not self.total:
            return
        unshown = self.total - len(self.kept)
        more = [Problem(f"and {unshown} more problem{'s' if unshown > 1 else ''}")] if unshown else []
        raise InputError([*self.kept, *more])

    def stop(self, problem: Problem) -> NoReturn:
        """For a fault after which nothing that follows can be trusted."""
        self.add(problem)
        self.raise_if_any()
        raise AssertionError("a problem was added and none was raised")
