"""first-line-label@1: the first line that is not blank is the raw label, if it is short enough to be one."""

import re

from judges.parsing.base import Parsed, Parser, Result, Unparsed

# Not str.splitlines: U+0085 and its like are data, not line ends.
LINE_END = re.compile(r"\r\n|\r|\n")
MOST_WORDS = 3
MOST_CHARACTERS = 40


def parse(text: str) -> Result:
    first = next((line.strip() for line in LINE_END.split(text) if line.strip()), "")
    if not first:
        return Unparsed("the response is blank")
    if len(first.split()) > MOST_WORDS or len(first) > MOST_CHARACTERS:
        return Unparsed(f"the first line is a sentence, not a label of at most {MOST_WORDS} words")
    return Parsed(first)


FIRST_LINE_LABEL_1 = Parser("first-line-label", "1", parse, reads="raw")
