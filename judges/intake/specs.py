"""What a manifest says about files, sides and judges, once validated. Plain data, no Django.

Texts are kept as written; numbers are parsed where the schema says so.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from core.identity import value_hash

SideName = Literal["baseline", "candidate"]
Format = Literal["csv", "tsv", "spaces", "json", "jsonl", "parquet", "eval"]
Quoting = Literal["minimal", "none"]
SIDES: tuple[SideName, ...] = ("baseline", "candidate")
Role = Literal["repeat", "order probe", "evidence probe"]
AS_GIVEN = "as given"


@dataclass(frozen=True)
class ScaleLabel:
    """One canonical label, and the number it counts as (None on a nominal scale, or where it has none)."""

    label: str
    value: float | None = None


@dataclass(frozen=True)
class RubricSpec:
    name: str
    version: str
    guideline: str  # the text of the guideline file, Markdown
    scale: tuple[ScaleLabel, ...]


@dataclass(frozen=True)
class GeneratorSpec:
    """What produced a raw response. Its identity is over all of this content, not over a name."""

    model: str
    prompt_version: str = ""
    prompt_template: str = ""
    rubric_version: str = ""
    rubric_text: str = ""
    label_vocabulary: tuple[str, ...] = ()
    retry_rule: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReaderSpec:
    """What turned a raw response into a verdict: `parser` is `id@version`, `mapping` is `name@version`. `setting` is
    what some parsers need beside: a field, a pattern."""

    parser: str
    mapping: str
    setting: str = ""


@dataclass(frozen=True)
class SideSpec:
    """One side; and, with another run, order, packaging or mapping, a further run of it."""

    system_version: str
    generator: GeneratorSpec
    reader: ReaderSpec
    run: int = 1
    presentation_order: str = AS_GIVEN
    packaging: str = AS_GIVEN


@dataclass(frozen=True)
class MappingSpec:
    """A versioned table from raw labels to canonical ones. A label outside it stays unmapped."""

    name: str
    version: str
    approved_by: str
    table: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True)
class Join:
    """How rows of a file find their case: by data row number, by the value of a column, or by those of several."""

    column: str | tuple[str, ...] | None = None  # None: by row number

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,) if isinstance(self.column, str) else tuple(self.column)

    @property
    def name(self) -> str:
        """What errors call it; blank for a join by row."""
        return ", ".join(self.columns)


@dataclass(frozen=True)
class Repair:
    """A named mend of a named fault. `split_first_column_by` names a column of the case source: where
    the row has one cell too few, the cell that holds that column's text and the next cell's text in
    one is cut after it."""

    split_first_column_by: str


@dataclass(frozen=True)
class Layout:
    """Which rows of a file are read, beside its format.

    `rows` is the path of the list whose elements are the rows; `columns` name those of a file without a header;
    `where` are values that a row must have; of several rows about one case `occurrence` takes the n-th;
    `unknown_cases` says what becomes of a row about no case.
    """

    files: tuple[str, ...] = ()  # where a source is several files, read one after the other
    rows: str = ""
    columns: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    occurrence: int | None = None
    unknown_cases: Literal["refuse", "leave_out"] = "refuse"


@dataclass(frozen=True)
class Source:
    """One reading of one file: cases, artifacts of one or both sides, or judgments of one side.

    A file with several of them is listed several times.
    """

    file: str
    format: Format
    quoting: Quoting
    join: Join
    judgments_of: SideName | None
    artifacts_of: tuple[SideName, ...]  # empty for a source of judgments
    defines_cases: bool  # the first source: its rows are the case set, in order
    input: str | None = None  # a column or a path, like those that follow
    output: str | None = None
    evidence: tuple[str, ...] = ()  # ordered
    label: str | None = None
    raw: str | None = None
    score: str | None = None
    tokens: str | None = None
    cost: str | None = None
    slices: Mapping[str, str] = field(default_factory=dict)  # slice name -> column
    partition: str | None = None
    cluster: str | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    # provenance: seen_output_hash | seen_evidence_hash | pipeline | cache | created_at | raw_reference -> column
    repair: Repair | None = None
    layout: Layout = Layout()
    judge_version: str | None = None  # a column, whose every cell must be `judge_named`
    judge_named: str = ""
    pipelines: tuple[str, ...] = ()  # those that a recorded one must be among; blank permits any
    further: Role | None = None  # judgments of a further run, not of the one that is compared

    def reading_hash(self) -> str:
        """How the rows are read, whatever the file is called and whoever is said to have judged."""
        named = ("file", "judgments_of", "judge_named", "pipelines", "further")
        read = {key: value for key, value in asdict(self).items() if key not in named}
        return value_hash(read | {"layout": asdict(self.layout) | {"files": ()}})


@dataclass(frozen=True)
class FurtherRun:
    """A run of a side's judge beside the compared one, from a source of its own."""

    side: SideName
    role: Role
    spec: SideSpec
    source: Source


@dataclass(frozen=True)
class ReviewColumns:
    """Where one artifact's human labels stand: one column per author, and perhaps a final one."""

    authors: Mapping[str, str]  # author's pseudonym -> column
    adjudicated: str | None = None


@dataclass(frozen=True)
class ReviewSource:
    """Human labels in a file. `sides` holds `both` for a judge swap, one entry per side otherwise."""

    file: str
    format: Format
    quoting: Quoting
    join: Join
    mapping: str
    sides: Mapping[str, ReviewColumns]
    layout: Layout = Layout()
