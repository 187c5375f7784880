"""What two texts do not share, word by word. Pure: texts in, marked pieces out; joined, they are the text again."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_WORDS = 2000  # of each text: what comes after is not compared, so that a page never waits for a long text
WORD = re.compile(r"\w+|[^\w\s]|\s+")


@dataclass(frozen=True)
class Piece:
    text: str
    differs: bool = False
    compared: bool = True


def differences(left: str, right: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Both texts in pieces: shared, or in this one alone (`differs`), or beyond what is compared.

    Ratcliff and Obershelp's matching, as `difflib` has it, over words, marks and spaces.
    """
    a, after_a = _words(left)
    b, after_b = _words(right)
    ours, theirs = [], []
    for what, i, j, k, m in SequenceMatcher(None, a, b, autojunk=True).get_opcodes():
        ours.append(Piece("".join(a[i:j]), what != "equal"))
        theirs.append(Piece("".join(b[k:m]), what != "equal"))
    return _whole(ours, after_a), _whole(theirs, after_b)


def _words(text: str) -> tuple[list[str], str]:
    words: list[str] = []
    end = 0
    for found in WORD.finditer(text):
        if len(words) == MOST_WORDS:
            break
        words.append(found[0])
        end = found.end()
    return words, text[end:]


def _whole(pieces: list[Piece], rest: str) -> tuple[Piece, ...]:
    return (*(piece for piece in pieces if piece.text), *([Piece(rest, compared=False)] if rest else []))
