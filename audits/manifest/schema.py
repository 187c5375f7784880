"""The schema's complaints in plain words, all of them, each with its key, its value and what is allowed."""

import json
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from core.errors import Problem

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "manifest.schema.json"
KINDS = {"string": "a text", "array": "a list", "object": "a mapping"}


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return schema


def schema_problems(document: dict[str, Any]) -> list[Problem]:
    errors = Draft202012Validator(_schema()).iter_errors(document)
    ordered = sorted(errors, key=lambda error: [str(part) for part in error.absolute_path])
    # Each missing key is an error of its own, and every such error lists all that are missing.
    return list(dict.fromkeys(problem for error in ordered for problem in _translated(error)))


def _translated(error: ValidationError) -> Iterator[Problem]:
    key = dotted(error.absolute_path)
    if error.validator == "required":
        for name in (name for name in error.validator_value if name not in error.instance):
            yield Problem("missing", key=joined(key, name), allowed=_allowed(error.schema["properties"].get(name, {})))
    elif error.validator == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        for name in (name for name in error.instance if name not in known):
            yield Problem(f"unknown key{did_you_mean(name, known)}", key=joined(key, name), allowed=", ".join(known))
    elif "propertyNames" in error.absolute_schema_path:
        yield Problem("not a usable key", key=joined(key, error.instance), allowed=_allowed(error.schema))
    else:
        yield Problem(_words(error), key=key, value=_shown(error.instance), allowed=_allowed(error.schema))


def _words(error: ValidationError) -> str:
    if error.validator == "type":
        return f"{_kind(error.instance)} stands here"
    if error.validator == "minLength":
        return "empty"
    if error.validator in ("minItems", "minProperties"):
        return f"fewer than {error.validator_value} entries"
    if error.validator == "uniqueItems":
        return "an entry stands twice"
    if error.validator in ("enum", "pattern"):
        return "not an allowed value"
    return str(error.message)


def _allowed(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        schema = _schema()["$defs"][schema["$ref"].rpartition("/")[2]]
    if "enum" in schema:
        return ", ".join(schema["enum"])
    kind = schema.get("type", "")
    return str(schema.get("description") or KINDS.get(kind if isinstance(kind, str) else "", ""))


def _kind(value: Any) -> str:
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a text"


def _shown(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def dotted(path: Iterable[str | int]) -> str:
    key = ""
    for part in path:
        key = f"{key}[{part}]" if isinstance(part, int) else joined(key, part)
    return key


def joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
