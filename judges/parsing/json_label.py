"""json-label@1: the response is one JSON object with a text under "label" at its top. Nothing nested is searched."""

import json
from typing import Any

from judges.parsing.base import Parsed, Parser, Result, Unparsed


def parse(text: str) -> Result:
    try:
        response = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError):
        return Unparsed("the response is not one JSON object, each of whose keys stands once")
    if not isinstance(response, dict) or "label" not in response:
        return Unparsed('no top-level "label"')
    label = response["label"]
    if not isinstance(label, str) or not label.strip():
        return Unparsed('"label" is not a text, or is blank')
    return Parsed(label.strip())


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two "label" keys json would keep the last; neither is the answer."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


JSON_LABEL_1 = Parser("json-label", "1", parse, reads="raw")
