"""final-score@1: the 0 to 3 that follows the words "final score", where every such mention agrees."""

import re

from core.errors import shortened
from judges.parsing.base import Parsed, Parser, Result, Unparsed

# What follows is taken with its decimals, its denominator and any alternative ("2.5", "2/3", "1 or 2"), so that
# a number which is no grade is seen whole and refused, and never cut down to its first digit.
MENTION = re.compile(
    r"final\s*+score[\s:*]*+"
    r"(?P<number>[-+]?[0-9][^\s*()]*(?:[ \t]*/[ \t]*[0-9]+)?(?:[ \t]*(?:or|to|and|[-–])[ \t]*[0-9]\S*)?)",
    re.IGNORECASE,
)
GRADE = re.compile(r"([0-3])(?:\s*/\s*3)?")
TRAILING = ".,;:!\"'"


def parse(text: str) -> Result:
    scores = set[str]()
    for mention in MENTION.finditer(text):
        number = mention["number"].rstrip(TRAILING)
        grade = GRADE.fullmatch(number)
        if grade is None:
            return Unparsed(f"the final score {shortened(number)!r} is not a grade from 0 to 3")
        scores.add(grade[1])
    if len(scores) > 1:
        return Unparsed(f"final scores contradict each other: {', '.join(sorted(scores))}")
    return Parsed(scores.pop()) if scores else Unparsed("no final score from 0 to 3")


FINAL_SCORE_1 = Parser("final-score", "1", parse, reads="raw")
