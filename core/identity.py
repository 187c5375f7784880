"""Identity of content: what a thing *is* decides whether two things are the same, not what it is called.

Hashes are SHA-256 over canonical bytes, as lower-case hexadecimal digits. Texts are hashed byte for
byte (UTF-8, nothing trimmed, no normalisation): two texts that look alike are two texts.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_bytes(text: str) -> bytes:
    """What is hashed and stored of a text. Lone surrogates, which a JSON escape can carry, are kept as they are."""
    return text.encode("utf-8", "surrogatepass")


def text_hash(text: str) -> str:
    """Hash of one text."""
    return hashlib.sha256(canonical_bytes(text)).hexdigest()


def files_hash(paths: Sequence[Path]) -> str:
    """Hash of the bytes of files, in their order."""
    return sequence_hash(file_hash(path) for path in paths)


def file_hash(path: Path) -> str:
    """Hash of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def canonical_json(value: Any) -> str:
    """One spelling per value: sorted keys, no spaces, no escapes; NaN and infinities are refused."""
    return _CANONICAL.encode(value)


def value_hash(value: Any) -> str:
    """Hash of a JSON value by its content, whatever the order of its keys."""
    return text_hash(canonical_json(value))


def sequence_hash(hashes: Iterable[str]) -> str:
    """Hash of an ordered sequence of hashes; the empty sequence has one of its own."""
    return value_hash(list(hashes))


def case_identity(set_name: str, set_version: str, case_id: str, version: int) -> str:
    """The permanent name of a case, the same after any re-import. Sampling orders are drawn over it."""
    return canonical_json([set_name, set_version, case_id, version])
