"""exact-label@1: the whole text is the raw label."""

from judges.parsing.base import Parsed, Parser, Result, Unparsed


def parse(text: str) -> Result:
    label = text.strip()
    return Parsed(label) if label else Unparsed("the label is blank")


EXACT_LABEL_1 = Parser("exact-label", "1", parse, reads="label")
