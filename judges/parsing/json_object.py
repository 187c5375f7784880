"""The JSON value that a response is, for the parsers that read one."""

import json
from typing import Any

NOT_ONE = "the response is not one JSON object, each of whose keys stands once"


def json_value(text: str) -> Any:
    """Raises ValueError or RecursionError where the text is no JSON, or has a key that stands twice."""
    return json.loads(text, object_pairs_hook=_without_duplicates)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two "label" keys json would keep the last; neither is the answer."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)
