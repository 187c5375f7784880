"""Errors that a person can fix. One shape for pages, API and commands: where, what, what is allowed."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from core.characters import UNSTORABLE, shown

SHOWN_VALUE = 80


@dataclass(frozen=True)
class Problem:
    """One fault in something a person gave us.

    `row` counts data rows from 1 (a header is not a row); `key` is a path in a manifest, such as
    `plan.level`; `value` is what was found, `allowed` what would have been accepted.

    What was found may be the fault itself: every text is kept so that it can be stored, sent and shown.
    """

    what: str
    file: str = ""
    row: int | None = None
    column: str = ""
    key: str = ""
    value: str | None = None
    allowed: str = ""

    def __post_init__(self) -> None:
        for name, text in vars(self).items():
            if isinstance(text, str) and UNSTORABLE.search(text):
                object.__setattr__(self, name, shown(text))

    def __str__(self) -> str:
        place = [
            self.file,
            f"row {self.row}" if self.row is not None else "",
            f"column {self.column}" if self.column else "",
            self.key,
        ]
        where = ", ".join(part for part in place if part)
        found = "" if self.value is None else f" (found {shortened(self.value)!r})"
        allowed = f"; allowed: {self.allowed}" if self.allowed else ""
        return f"{where}: {self.what}{found}{allowed}" if where else f"{self.what}{found}{allowed}"

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}


class InputError(Exception):
    """What a person gave cannot be taken as it is. Carries every problem found, never only the first."""

    status = 422  # of the answer that says so, by page and API

    def __init__(self, problems: Problem | str | Iterable[Problem]):
        if isinstance(problems, str):
            problems = Problem(problems)
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Refused(InputError):
    """The input is sound, and the answer is no: the state of things, or a rule, forbids it."""

    status = 409


def shortened(value: str) -> str:
    return value if len(value) <= SHOWN_VALUE else f"{value[: SHOWN_VALUE - 1]}…"
