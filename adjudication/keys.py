"""Which key does what at the desk. No two things share one: a key of the page is never given to a label."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from string import ascii_lowercase, digits, punctuation

from core.errors import Problem

ENTER = "Enter"


@dataclass(frozen=True)
class PageKeys:
    """The keys of what is on every page; each person may choose others."""

    save: str = ENTER
    cannot_judge: str = "x"
    rationale: str = "n"
    quote: str = "q"
    differences: str = "d"
    left: str = "l"
    right: str = "r"
    skip: str = "k"
    undo: str = "u"
    guideline: str = "g"
    help: str = "?"


ACTIONS = {
    "save": "save and next",
    "cannot_judge": "cannot judge",
    "rationale": "write the rationale",
    "quote": "quote the selected text",
    "differences": "show the differences of two outputs",
    "left": "grade the left output",
    "right": "grade the right output",
    "skip": "skip, with a reason",
    "undo": "undo the last answer",
    "guideline": "show or hide the guideline",
    "help": "show the keys",
}
ONLY_FOR_TWO = frozenset({"differences", "left", "right"})
ALLOWED = f"a letter, one of {punctuation}, or {ENTER} for saving"


@dataclass(frozen=True)
class DeskKeys:
    """For each label its keys (a digit, then its first letter, where they are free); for each reason and each answer
    to take over one letter, or none where it is taken."""

    labels: tuple[tuple[str, ...], ...]
    reasons: tuple[str, ...]
    answers: tuple[str, ...]


def desk_keys(
    labels: Sequence[str], reasons: Sequence[str], *, outputs: int, answers: int, page: PageKeys | None = None
) -> DeskKeys:
    taken = page_keys(page or PageKeys(), outputs)
    adopted = tuple(letter if letter not in taken else "" for letter in ascii_lowercase[:answers])
    taken |= set(adopted)
    numbers = _numbers(labels)
    initials = [label[:1].lower() for label in labels]
    letters = [
        letter if letter in ascii_lowercase and letter not in taken and initials.count(letter) == 1 else ""
        for letter in initials
    ]
    taken |= set(letters)
    by_label = tuple(tuple(filter(None, keys)) for keys in zip(numbers, letters, strict=True))
    return DeskKeys(by_label, tuple(_letters(reasons, taken)), adopted)


def page_keys_of(chosen: Mapping[str, str]) -> PageKeys:
    return PageKeys(**{action: key for action, key in chosen.items() if action in ACTIONS})


def page_keys(page: PageKeys, outputs: int) -> set[str]:
    return {getattr(page, name) for name in ACTIONS if outputs > 1 or name not in ONLY_FOR_TWO}


def key_problems(wanted: Mapping[str, str]) -> list[Problem]:
    """What is wrong with these keys, by action: `PageKeys` can be made of them where nothing is."""
    problems: list[Problem] = []
    used: dict[str, str] = {}
    for action in (field.name for field in fields(PageKeys)):
        key = wanted.get(action, "")
        if key in digits and key:
            problems.append(Problem("digits give grades", key=action, value=key, allowed=ALLOWED))
        elif not (len(key) == 1 and key in ascii_lowercase + punctuation) and not (action == "save" and key == ENTER):
            problems.append(Problem("cannot be a key", key=action, value=key, allowed=ALLOWED))
        elif key in used:
            problems.append(Problem(f"is the key of “{ACTIONS[used[key]]}” already", key=action, value=key))
        else:
            used[key] = action
    return problems


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
