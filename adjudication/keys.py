"""Which key does what at the desk. No two things share one: a key of the page is never given to a label."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, digits

CANNOT_JUDGE, RATIONALE, SKIP, UNDO, GUIDELINE, LEFT, RIGHT = "x", "n", "k", "u", "g", "l", "r"
PAGE_KEYS = frozenset({CANNOT_JUDGE, RATIONALE, SKIP, UNDO, GUIDELINE})


@dataclass(frozen=True)
class DeskKeys:
    """For each label its keys (a digit, then its first letter, where they are free); for each reason one
    letter, or none where all are taken."""

    labels: tuple[tuple[str, ...], ...]
    reasons: tuple[str, ...]


def desk_keys(labels: Sequence[str], reasons: Sequence[str], *, outputs: int, answers: int) -> DeskKeys:
    taken = set(PAGE_KEYS) | set(ascii_lowercase[:answers])  # a, b, …: answers to adopt
    if outputs > 1:
        taken |= {LEFT, RIGHT}
    numbers = _numbers(labels)
    initials = [label[:1].lower() for label in labels]
    letters = [
        letter if letter in ascii_lowercase and letter not in taken and initials.count(letter) == 1 else ""
        for letter in initials
    ]
    taken |= set(letters)
    by_label = tuple(tuple(filter(None, keys)) for keys in zip(numbers, letters, strict=True))
    return DeskKeys(by_label, tuple(_letters(reasons, taken)))


def _numbers(labels: Sequence[str]) -> list[str]:
    """A label that is a digit has itself; the others their place, or nothing where the scale is longer."""
    own = {label for label in labels if label in digits and len(label) == 1}
    free = iter([digit for digit in digits[1:] if digit not in own])
    return [label if label in own else next(free, "") for label in labels]


def _letters(names: Sequence[str], taken: set[str]) -> Iterable[str]:
    """For each name a letter of its own: an initial of a word if one is free, else any of its letters."""
    for name in names:
        words = name.lower().replace("-", " ").split()
        wanted = [*(word[0] for word in words), *"".join(words)]
        letter = next((one for one in wanted if one in ascii_lowercase and one not in taken), "")
        taken.add(letter)
        yield letter
