"""Careful looks into a document that may be incomplete: a check must not fall over what the schema has reported."""

from typing import Any


def at(document: Any, *path: str | int) -> Any:
    """The value at a path, or None."""
    for part in path:
        if isinstance(document, dict) and isinstance(part, str):
            document = document.get(part)
        elif isinstance(document, list) and isinstance(part, int) and part < len(document):
            document = document[part]
        else:
            return None
    return document


def text_at(document: Any, *path: str | int) -> str | None:
    value = at(document, *path)
    return value if isinstance(value, str) else None


def mapping_at(document: Any, *path: str | int) -> dict[str, Any]:
    value = at(document, *path)
    return value if isinstance(value, dict) else {}


def list_at(document: Any, *path: str | int) -> list[Any]:
    value = at(document, *path)
    return value if isinstance(value, list) else []


def texts_at(document: Any, *path: str | int) -> list[str]:
    return [item for item in list_at(document, *path) if isinstance(item, str)]


def names_at(document: Any, *path: str | int) -> list[str]:
    """The text at a path, or the texts of the list there."""
    text = text_at(document, *path)
    return texts_at(document, *path) if text is None else [text]


def number_at(document: Any, *path: str | int) -> float | None:
    """The number at a path, or None where there is none, or no number."""
    text = text_at(document, *path)
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
