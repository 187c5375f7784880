"""Texts that people write: every character that a database can keep, and a clear word about the others."""

from core.characters import UNSTORABLE
from core.errors import InputError, Problem


def require_storable(key: str, text: str, longest: int | None = None) -> None:
    """Refuse what no database could store, before anything is written."""
    if found := UNSTORABLE.search(text):
        what = f"U+{ord(found[0]):04X} at character {found.start() + 1} cannot be stored"
        raise InputError(Problem(what, key=key, allowed="a text without it"))
    if longest is not None and len(text) > longest:
        raise InputError(Problem("too long", key=key, value=text, allowed=f"at most {longest} characters"))
