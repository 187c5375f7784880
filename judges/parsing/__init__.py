"""Every parser there is. A new behaviour is a new version or a new id; a published one is never altered."""

from functools import lru_cache

from judges.parsing.base import Parsed, Parser, Result, Unparsed
from judges.parsing.exact_label import EXACT_LABEL_1
from judges.parsing.final_score import FINAL_SCORE_1
from judges.parsing.final_score_else_last_digit import FINAL_SCORE_ELSE_LAST_DIGIT_1
from judges.parsing.first_line_label import FIRST_LINE_LABEL_1
from judges.parsing.json_field import JSON_FIELD_1
from judges.parsing.json_label import JSON_LABEL_1
from judges.parsing.last_digit import LAST_DIGIT_1
from judges.parsing.regex import REGEX_1

PARSERS: dict[str, Parser] = {
    "exact-label@1": EXACT_LABEL_1,
    "final-score@1": FINAL_SCORE_1,
    "final-score-else-last-digit@1": FINAL_SCORE_ELSE_LAST_DIGIT_1,
    "first-line-label@1": FIRST_LINE_LABEL_1,
    "json-field@1": JSON_FIELD_1,
    "json-label@1": JSON_LABEL_1,
    "last-digit@1": LAST_DIGIT_1,
    "regex@1": REGEX_1,
}


@lru_cache(maxsize=100)
def parser_of(key: str, setting: str = "") -> Parser:
    """The parser as a reader uses it."""
    return PARSERS[key].with_setting(setting)


__all__ = ["PARSERS", "Parsed", "Parser", "Result", "Unparsed", "parser_of"]
