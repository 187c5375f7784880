"""YAML as text only: `No`, `1.10` and `null` stay what was written, and no file can make objects or copies."""

from typing import Any

import yaml

from core.characters import UNSTORABLE
from core.errors import Problem

LARGEST = 1_000_000
DEEPEST = 20


class _Loader(yaml.BaseLoader):
    """Composes nodes, and refuses what could make a small file large: aliases, tags, endless nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            raise yaml.MarkedYAMLError(
                problem="anchors and aliases are not read; write the value out", problem_mark=event.start_mark
            )
        if event.tag not in (None, "!"):
            raise yaml.MarkedYAMLError(problem="tags are not read", problem_mark=event.start_mark)
        self.depth += 1
        if self.depth > DEEPEST:
            raise yaml.MarkedYAMLError(problem="nested too deeply", problem_mark=event.start_mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


def read_document(source: bytes) -> tuple[str, dict[str, Any], list[Problem]]:
    """The text of a manifest, and its content as mappings, lists and texts. With problems, the content may be empty."""
    if len(source) > LARGEST:
        return "", {}, [Problem("larger than a manifest may be", allowed=f"at most {LARGEST} bytes")]
    try:
        text = source.decode("utf-8-sig")
        root = yaml.compose(text, Loader=_Loader)
    except UnicodeDecodeError as error:
        return "", {}, [Problem(f"not UTF-8 text at byte {error.start}", value=f"byte 0x{source[error.start]:02X}")]
    except yaml.MarkedYAMLError as error:
        return text, {}, [Problem(f"{_line(error.problem_mark)}{error.problem or error.context}")]
    except yaml.YAMLError as error:
        return text, {}, [Problem(" ".join(str(error).split()))]
    if not isinstance(root, yaml.MappingNode):
        return text, {}, [Problem("not a mapping", allowed="keys and values, such as kind: judge_swap")]
    problems: list[Problem] = []
    return text, _mapping(root, problems), problems


def _value(node: yaml.Node, problems: list[Problem]) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, problems)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, problems) for item in node.value]
    return _storable(node, problems)


def _storable(node: yaml.Node, problems: list[Problem]) -> Any:
    """An escape such as \\0 can put into a text what no database keeps."""
    if found := UNSTORABLE.search(node.value):
        problems.append(Problem(f"{_line(node.start_mark)}a text with U+{ord(found[0]):04X}, which cannot be stored"))
    return node.value


def _mapping(node: yaml.MappingNode, problems: list[Problem]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            problems.append(Problem(f"{_line(key.start_mark)}a key is not a text"))
        elif key.value in content:
            problems.append(Problem(f"{_line(key.start_mark)}the key stands twice", key=key.value))
        else:
            content[_storable(key, problems)] = _value(value, problems)
    return content


def _line(mark: yaml.Mark | None) -> str:
    return f"line {mark.line + 1}: " if mark else ""
