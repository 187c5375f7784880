"""Paths into nested records, and the one rule by which what stands there becomes a text.

`response.output`, `results[0]."swap = False".winner`: names divided by points, `[0]` for an element of a list, `*` for
the only entry there is. A name that holds one of these marks stands in double quotes. `[].coverage` begins at the
element that makes the row, where rows are the elements of a list; anything else begins at the record. `a | b` is the
first of them that has a value. A path that is, as a whole, the name of a field is that field.
"""

import json
import re
from collections.abc import Iterator
from datetime import date, time
from decimal import Decimal
from functools import lru_cache
from typing import Any

from core.characters import UNSTORABLE

STEP = re.compile(
    r'(?P<point>\.?)(?:(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<only>\*)|(?P<name>[^."\[\]|*]+))|\[(?P<index>[0-9]{1,9})\]'
)
ELEMENT = "[]"
DEEPEST = 20  # names in the path of a field that is listed; a longer one can still be written
PLAIN_NAME = re.compile(r'[^."\[\]|*\s](?:[^."\[\]|*]*[^."\[\]|*\s])?')
ALTERNATIVE = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^|"])+')

Step = str | int | None  # a name, a place in a list, or None for the only entry there is
ABSENT = object()


class PathFault(ValueError):
    """A path that cannot be read, or leads to what has no text."""


class Ambiguous(PathFault):
    """A path that means several things in this record."""


@lru_cache(maxsize=1000)
def steps_of(path: str) -> tuple[tuple[bool, tuple[Step, ...]], ...]:
    """The alternatives of a path: whether each begins at the row's element, and its steps."""
    alternatives = ALTERNATIVE.findall(path)
    if "|".join(alternatives) != path or not path or not all(map(str.strip, alternatives)):
        raise PathFault(f"{path!r} is no path: a part is blank, or a quote is not closed")
    return tuple(_steps(text.strip(), path) for text in alternatives)


def _steps(text: str, path: str) -> tuple[bool, tuple[Step, ...]]:
    in_element = text.startswith(ELEMENT)
    at = len(ELEMENT) if in_element else 0
    steps: list[Step] = []
    while at < len(text):
        step = STEP.match(text, at)
        if step is None or (step["index"] is None and bool(step["point"]) != (at > 0)):
            raise PathFault(f"{path!r} is no path at {text[at:]!r}")
        steps.append(_step(step))
        at = step.end()
    return in_element, tuple(steps)


def _step(step: re.Match[str]) -> Step:
    if step["index"] is not None:
        return int(step["index"])
    if step["only"]:
        return None
    return str(json.loads(step["quoted"])) if step["quoted"] else step["name"]


def path_of(*steps: Step) -> str:
    """The path that is read as these steps."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            name = "*" if step is None else _name(step)
            path += f".{name}" if path else name
    return path


def _name(name: str) -> str:
    """In quotes where it holds a mark; with escapes, which are read as what they stand for, where it could not be
    written."""
    odd = UNSTORABLE.search(name) is not None
    return name if PLAIN_NAME.fullmatch(name) and not odd else json.dumps(name, ensure_ascii=odd)


class Cells:
    """The cells of a row of nested fields, by path. A field that is absent or null is blank."""

    def __init__(self, record: Any, element: Any = ABSENT) -> None:
        self.record = record
        self.element = element

    def __getitem__(self, path: str) -> str:
        value = self.value(path)
        return "" if value is ABSENT else text_of(value)

    def has(self, path: str) -> bool:
        """Whether anything stands at the path, be it null or several things."""
        try:
            return self.value(path) is not ABSENT
        except Ambiguous:
            return True
        except PathFault:
            return False

    def __iter__(self) -> Iterator[str]:
        """The paths of all fields that hold something else than a mapping, the row's own first."""
        if self.element is not ABSENT:
            yield from (ELEMENT + ("" if path.startswith("[") else ".") + path for path in _leaves(self.element))
        yield from _leaves(self.record)

    def value(self, path: str) -> Any:
        """What stands at the path: the first alternative with a value, else null or ABSENT."""
        if isinstance(self.record, dict) and path in self.record:
            return self.record[path]
        found: Any = ABSENT
        for in_element, steps in steps_of(path):
            value = _walk(self.element if in_element else self.record, steps, path)
            if value is not ABSENT and value is not None:
                return value
            found = value if found is ABSENT else found
        return found


def _walk(value: Any, steps: tuple[Step, ...], path: str) -> Any:
    for step in steps:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else ABSENT
        elif not isinstance(value, dict):
            return ABSENT
        elif step is not None:
            value = value.get(step, ABSENT)
        elif len(value) > 1:
            names = ", ".join(list(value)[:5])
            raise Ambiguous(f"{path!r} is the only entry, and there are {len(value)}: {names}; name one")
        else:
            value = next(iter(value.values()), ABSENT)
    return value


def text_of(value: Any) -> str:
    """A text is itself; nothing is blank; a list of texts is one text per line; a date is written as in ISO 8601, a
    decimal in its digits; anything else as JSON: keys in order, no spaces, a number in its shortest form."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    if isinstance(value, date | time | Decimal):
        return _plain(value)
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_plain)
    except RecursionError as error:
        raise PathFault("a value that is nested too deeply") from error


def _plain(value: Any) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    raise PathFault(f"a {type(value).__name__}, which is no text, number, date, list or mapping")


def _leaves(value: Any, *steps: Step) -> Iterator[str]:
    """The paths of the fields that hold a text, a number or a list, in order; mappings are gone into, to a depth."""
    if isinstance(value, dict) and len(steps) < DEEPEST:
        for name, item in value.items():
            yield from _leaves(item, *steps, name)
    elif steps:
        yield path_of(*steps)
