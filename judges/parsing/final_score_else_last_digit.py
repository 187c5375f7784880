"""final-score-else-last-digit@1: the lenient reading of a published study, kept so that its figures can be made again.

The first "final score" counts, even if another contradicts it, and only its first digit; without one, the
last digit from 0 to 3. For new work `final-score@1` is the honest choice.
"""

import re

from judges.parsing.base import Parsed, Parser, Result
from judges.parsing.last_digit import parse as parse_last_digit

FIRST_SCORE = re.compile(r"final\s*score:?\s*\**([0-3])", re.IGNORECASE)


def parse(text: str) -> Result:
    score = FIRST_SCORE.search(text)
    return Parsed(score[1]) if score else parse_last_digit(text)


FINAL_SCORE_ELSE_LAST_DIGIT_1 = Parser("final-score-else-last-digit", "1", parse, reads="raw")
