"""last-digit@1: the last 0, 1, 2 or 3 that stands alone, whatever it means there. Lenient by name."""

import re

from judges.parsing.base import Parsed, Parser, Result, Unparsed

DIGIT = re.compile(r"\b([0-3])\b")


def parse(text: str) -> Result:
    digits = DIGIT.findall(text)
    return Parsed(digits[-1]) if digits else Unparsed("no digit from 0 to 3 stands alone")


LAST_DIGIT_1 = Parser("last-digit", "1", parse, reads="raw")
