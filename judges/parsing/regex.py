"""regex@1: what a pattern finds in the response, where everything that it finds agrees.

RE2 reads in time that grows with the length of the text and nothing else, whatever the pattern; so a reading does not
depend on the patience of a machine.
"""

from functools import lru_cache

import re2

from core.errors import shortened
from judges.parsing.base import Parsed, Parser, Result, Unparsed

OPTIONS = re2.Options()
OPTIONS.log_errors = False


@lru_cache(maxsize=100)
def compiled(pattern: str) -> "re2._Regexp[str]":
    return re2.compile(pattern, OPTIONS)


def parse(text: str, pattern: str) -> Result:
    """The label is the first group, or the whole match of a pattern without one."""
    whole = text.encode("utf-8", "replace").decode()  # half a character is no text to RE2
    expression = compiled(pattern)
    group = 1 if expression.groups else 0
    labels = {(match[group] or "").strip() for match in expression.finditer(whole)}
    if not labels:
        return Unparsed("the pattern finds nothing")
    if len(labels) > 1:
        return Unparsed(
            f"what the pattern finds differs: {', '.join(shortened(label) for label in sorted(labels)[:2])}"
        )
    label = labels.pop()
    return Parsed(label) if label else Unparsed("the pattern finds a blank")


def fault(pattern: str) -> str:
    try:
        compiled(pattern)
    except re2.error as error:
        return f"no pattern of RE2: {error.args[0].decode() if isinstance(error.args[0], bytes) else error}"
    return ""


REGEX_1 = Parser("regex", "1", parse, reads="raw", setting="pattern", fault=fault)
