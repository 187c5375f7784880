"""What a parser is: a pure function from one response to a raw label, under a name that never changes meaning."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from core.characters import UNSTORABLE


@dataclass(frozen=True)
class Parsed:
    """The raw label that was found, as written. A mapping decides what it counts as, or that it counts as nothing."""

    label: str


@dataclass(frozen=True)
class Unparsed:
    """No label can be read, and why. Never a "fail"."""

    reason: str


Result = Parsed | Unparsed


@dataclass(frozen=True)
class Parser:
    """One version of one parser. A published version is never altered: its golden vectors are its specification.

    `reads` says what it is given: the label that the file recorded (where the file has such a column,
    else the raw response), or always the raw response. `setting` names what a manifest must say beside the parser, if
    anything; `fault` says what is wrong with what it said.
    """

    id: str
    version: str
    parse: Callable[..., Result]
    reads: Literal["label", "raw"]
    setting: str = ""
    fault: Callable[[str], str] | None = None

    @property
    def key(self) -> str:
        return f"{self.id}@{self.version}"

    def with_setting(self, text: str) -> "Parser":
        return replace(self, parse=partial(self.parse, **{self.setting: text})) if self.setting else self

    def read(self, *, label: str | None, raw: str) -> Result:
        """Read one judgment; `label` is None where its source records no label, blank where it records none here."""
        result = self.parse(raw if label is None or self.reads == "raw" else label)
        # Both are data in a response; in a label they can be neither shown nor stored by every database.
        if isinstance(result, Parsed) and (found := UNSTORABLE.search(result.label)):
            return Unparsed(f"the label holds {'a NUL character' if ord(found[0]) == 0 else 'half of a character'}")
        return result
