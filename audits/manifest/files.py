"""Where the files are that a manifest names: beside it, or in the folder of files, and nowhere else."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

from audits.manifest.document import names_at
from core.characters import UNSTORABLE
from core.errors import Problem

LARGEST_TEXT = 1_000_000
LONGEST_NAME = 255  # bytes, of what stands between two slashes: most file systems' own limit

INSIDE = "a name inside the folder of the manifest or of the files"


def find_file(name: str, key: str, folders: list[Path], *, flat: bool = False) -> Path | Problem:
    """The file of that name in one of the folders. `flat` folders hold what a browser sent: names without folders."""
    fault = name_fault(name)
    if fault:
        return Problem(fault, key=key, value=name, allowed=INSIDE)
    if flat:
        sent = folders[0] / PurePosixPath(name).name
        return sent if sent.is_file() else Problem("not among the files that were sent", key=key, value=name)
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


def name_fault(name: str) -> str:
    parts = {*PurePosixPath(name).parts, *PureWindowsPath(name).parts}
    if UNSTORABLE.search(name) or not parts:
        return "not a file name"
    if any(len(part.encode()) > LONGEST_NAME for part in parts):
        return f"a file name longer than {LONGEST_NAME} bytes"
    if PurePosixPath(name).is_absolute() or PureWindowsPath(name).anchor:
        return "an absolute file name"
    return "a file name that leaves its folder" if ".." in parts else ""


def named_files(document: dict[str, object]) -> Iterator[tuple[str, str]]:
    """(key, name) of every data file that the manifest names."""
    for group in ("sources", "reviews"):
        entries = document.get(group)
        for place, entry in enumerate(entries if isinstance(entries, list) else []):
            for name in names_at(entry, "file"):
                if name:
                    yield f"{group}[{place}].file", name


def same_last_part(document: dict[str, object]) -> Iterator[Problem]:
    """Files that a browser would send under one name: nobody could say which is which."""
    first: dict[str, str] = {}
    for key, name in named_files(document):
        other = first.setdefault(PurePosixPath(name).name, name)
        if other != name:
            what = f"sent without its folder, it has the name of {other!r}"
            yield Problem(what, key=key, value=name, allowed="another name for one of them")
