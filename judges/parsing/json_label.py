"""json-label@1: the response is one JSON object with a text under "label" at its top. Nothing nested is searched."""

from judges.parsing.base import Parsed, Parser, Result, Unparsed
from judges.parsing.json_object import NOT_ONE, json_value


def parse(text: str) -> Result:
    try:
        response = json_value(text)
    except (ValueError, RecursionError):
        return Unparsed(NOT_ONE)
    if not isinstance(response, dict) or "label" not in response:
        return Unparsed('no top-level "label"')
    label = response["label"]
    if not isinstance(label, str) or not label.strip():
        return Unparsed('"label" is not a text, or is blank')
    return Parsed(label.strip())


JSON_LABEL_1 = Parser("json-label", "1", parse, reads="raw")
