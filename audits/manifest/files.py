"""Where the files are that a manifest names: beside it, or in the folder of files, and nowhere else."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from core.errors import Problem
from core.texts import UNSTORABLE

LARGEST_TEXT = 1_000_000


def find_file(name: str, key: str, folders: list[Path]) -> Path | Problem:
    fault = _name_fault(name)
    if fault:
        return Problem(fault, key=key, value=name, allowed="a name inside the folder of the manifest or of the files")
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if found is None:
        places = " nor ".join(str(folder / name) for folder in folders)
        return Problem(f"no such file; {'neither ' if len(folders) > 1 else 'not '}{places}", key=key, value=name)
    return found


def read_text(path: Path, key: str) -> str | Problem:
    """A text file that goes into the records whole, such as the guideline."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        return Problem(f"cannot be read: {error.strerror}", file=path.name, key=key)
    except UnicodeDecodeError as error:
        return Problem(f"not UTF-8 text at byte {error.start}", file=path.name, key=key)
    if len(content) > LARGEST_TEXT:
        return Problem(f"{len(content)} bytes", file=path.name, key=key, allowed=f"at most {LARGEST_TEXT} bytes")
    if found := UNSTORABLE.search(text):
        what = f"U+{ord(found[0]):04X} at character {found.start() + 1} cannot be stored"
        return Problem(what, file=path.name, key=key, allowed="a text without it")
    return text if text.strip() else Problem("empty", file=path.name, key=key, allowed="the text for the reviewers")


def _name_fault(name: str) -> str:
    parts = {*PurePosixPath(name).parts, *PureWindowsPath(name).parts}
    if "\x00" in name or not parts:
        return "not a file name"
    if PurePosixPath(name).is_absolute() or PureWindowsPath(name).anchor:
        return "an absolute file name"
    return "a file name that leaves its folder" if ".." in parts else ""


def named_files(document: dict[str, object]) -> Iterator[tuple[str, str]]:
    """(key, name) of every data file that the manifest names."""
    for group in ("sources", "reviews"):
        entries = document.get(group)
        for place, entry in enumerate(entries if isinstance(entries, list) else []):
            name = entry.get("file") if isinstance(entry, dict) else None
            if isinstance(name, str) and name:
                yield f"{group}[{place}].file", name
