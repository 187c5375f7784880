"""What a file's rows become once its columns have roles: plain rows, one case id each, everything else as written.

Nobody changes a row; yet they are not frozen, which would take thrice as long to make.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

LENGTH_BAND = "length_band"


@dataclass(slots=True)
class CaseRow:
    """One case. `partition` and `cluster` are blank where no column gives them."""

    number: int
    case_id: str
    input: str
    slices: Mapping[str, str]
    partition: str
    cluster: str


@dataclass(slots=True)
class ArtifactRow:
    number: int
    case_id: str
    output: str
    evidence: tuple[str, ...]


class Recorded(NamedTuple):
    """What a file says of a judgment beside label and response. What the judge saw is None where the file does not
    repeat it. `score`, `tokens` and `cost` are numbers as written, blank where none was recorded."""

    seen_output: str | None = None
    seen_evidence: tuple[str, ...] | None = None
    provenance: Mapping[str, str] = MappingProxyType({})
    score: str = ""
    tokens: str = ""
    cost: str = ""


NOTHING_RECORDED = Recorded()


@dataclass(slots=True)
class JudgmentRow:
    """One raw response. `label` is None where the source has no label column, and as written, perhaps blank, where it
    has one. Most files record nothing beside them."""

    number: int
    case_id: str
    label: str | None
    raw: str
    recorded: Recorded = NOTHING_RECORDED


@dataclass(slots=True)
class LabelRow:
    """The human labels of one artifact, as written: side `both` for a judge swap. Blank ones are left out."""

    number: int
    case_id: str
    side: str
    authors: Mapping[str, str]
    adjudicated: str | None


@dataclass
class Tally:
    """What became of the sound rows of one reading.

    `missing` rows said nothing (for labels: nothing about one side), `duplicates` repeated an earlier
    row word for word, `unknown` were about no case and left out, `left_out` about a case of which another row was
    refused, and `absent` counts the cases that no row was about.
    """

    rows: int = 0
    taken: int = 0
    missing: int = 0
    duplicates: int = 0
    absent: int = 0
    unknown: int = 0
    left_out: int = 0


class CaseIndex:
    """The ids of the case source and the rows they stand in: what every other file is joined to.

    `row_of` gives the data row of the case source that a case stands in.

    Rows about a case that is `left_out` are passed over in every file; its own row still counts where files are
    joined by row. `spelled` has, by another spelling of an id, the id: a file that we wrote may say it otherwise.
    """

    def __init__(self, left_out: Container[str] = ()) -> None:
        self.rows = 0
        self.left_out = left_out
        self.spelled: dict[str, str] = {}
        self.row_of: dict[str, int] = {}
        self._id_in: list[str | None] = []

    def __len__(self) -> int:
        return len(self.row_of)

    def add(self, case_id: str, number: int) -> int | None:
        """Take a case in; or give the row that has this id already. Numbers grow."""
        self.reach(number)
        if case_id in self.row_of:
            return self.row_of[case_id]
        self._id_in[number - 1] = case_id
        if case_id not in self.left_out:
            self.row_of[case_id] = number
        return None

    def reach(self, number: int) -> None:
        """There are so many data rows, whether or not each holds a case."""
        self._id_in.extend([None] * (number - self.rows))
        self.rows = max(self.rows, number)

    def at(self, number: int) -> str | None:
        """The case in data row `number` of the case source."""
        return self._id_in[number - 1] if 0 < number <= self.rows else None


def length_band(output: str) -> str:
    """The built-in slice: under 80 characters `short`, under 400 `medium`, else `long`."""
    return "short" if len(output) < 80 else "medium" if len(output) < 400 else "long"
