"""Characters that a text may hold as data, and that no database keeps, no page and no terminal shows."""

import re

# NUL, and halves of a character (lone surrogates), which an escape in JSON can carry.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
NUL, HALF = "\u2400", "\ufffd"  # the signs that stand for them


def shown(text: str) -> str:
    """The text with a sign in place of each of them, so that all else stays where it stood."""
    return UNSTORABLE.sub(lambda found: NUL if found[0] == "\x00" else HALF, text)
