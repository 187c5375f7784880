"""Cells of a spreadsheet that are text and stay text."""

OPENERS = ("=", "+", "-", "@", "\t", "\r", "'")


def neutral(value: str) -> str:
    """A cell that a spreadsheet would run, or that starts with our own mark, gets one leading apostrophe."""
    return f"'{value}" if value.startswith(OPENERS) else value


def recovered(value: str) -> str:
    """The text as it was before `neutral`."""
    return value[1:] if value.startswith("'") and value[1:].startswith(OPENERS) else value
