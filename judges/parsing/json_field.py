"""json-field@1: the response is one JSON object; the label is what stands at a named path of it."""

from judges.intake.paths import ABSENT, Cells, PathFault, steps_of, text_of
from judges.parsing.base import Parsed, Parser, Result, Unparsed
from judges.parsing.json_object import NOT_ONE, json_value


def parse(text: str, field: str) -> Result:
    try:
        response = json_value(text)
        value = Cells(response).value(field)
    except PathFault as error:
        return Unparsed(str(error)[:200])
    except (ValueError, RecursionError):
        return Unparsed(NOT_ONE)
    if not isinstance(response, dict):
        return Unparsed(NOT_ONE)
    if value is ABSENT or value is None:
        return Unparsed(f"nothing stands at {field}"[:200])
    if isinstance(value, dict | list) or not text_of(value).strip():
        return Unparsed(f"no label stands at {field}, but a list, a mapping or a blank text"[:200])
    return Parsed(text_of(value).strip())


def fault(field: str) -> str:
    try:
        return "a response has no rows" if any(in_element for in_element, _ in steps_of(field)) else ""
    except PathFault as error:
        return str(error)


JSON_FIELD_1 = Parser("json-field", "1", parse, reads="raw", setting="field", fault=fault)
