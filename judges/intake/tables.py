"""What a file of rows is to its readers, and what they make of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judges.intake.specs import Format, Quoting
from judges.intake.streams import Meter

# Characters. A cell may hold a transcript; the limits only keep one lost quote from swallowing the machine's memory.
CELL_LIMIT = 16 * 1024 * 1024
LINE_LIMIT = 4 * CELL_LIMIT
MOST_BLANK = 100_000  # lines on end: a small archive can hold billions of them


@dataclass(frozen=True)
class Table:
    """A file and how its cells are told apart. `name` is what errors call it.

    `rows` is the path of the list whose elements are the rows, for records that hold several; `columns` are the names
    of the columns of a file without a header; `where` are the values that a row must have to be read; `fields` are the
    paths that are wanted of records (of delimited text every column comes). `meter` watches how much of it is read.
    """

    path: Path
    format: Format
    quoting: Quoting = "minimal"
    name: str = ""
    rows: str = ""
    columns: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    meter: Meter | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.path.name)


@dataclass(slots=True)
class Row:
    """One data row. `number` counts rows from 1 without the header, `line` is the physical line it begins on, or the
    number of the record. `file` is the name of its file. Not frozen: that would take thrice as long to make."""

    number: int
    line: int
    cells: Mapping[str, str]
    file: str = field(default="", compare=False)
