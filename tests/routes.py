"""Every route there is, as the resolver knows it: a test that walks them misses no new one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.urls.converters import IntConverter, UUIDConverter

from core.access import Declared

NO_SUCH_TOKEN = UUID("00000000-0000-4000-8000-000000000000")


@dataclass(frozen=True)
class Route:
    name: str
    converters: dict[str, Any]
    access: Declared
    pattern: str
    view: Any

    def url(self, **known: Any) -> str:
        """The address, with `known` values where the route takes them, and something possible elsewhere."""
        values = {name: known.get(name, _possible(converter)) for name, converter in self.converters.items()}
        return reverse(self.name, kwargs=values)

    @property
    def in_project(self) -> bool:
        return "project" in self.converters

    @property
    def in_api(self) -> bool:
        return self.name.partition(":")[0].endswith("api")


def routes() -> list[Route]:
    return list(_walk(get_resolver().url_patterns, "", {}, ""))


def _walk(
    patterns: Iterable[URLPattern | URLResolver], space: str, above: dict[str, Any], before: str
) -> Iterator[Route]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        converters = above | pattern.pattern.converters
        if isinstance(pattern, URLResolver):
            inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
            yield from _walk(pattern.url_patterns, inner, converters, route)
        else:
            yield Route(f"{space}{pattern.name}", converters, pattern.callback.access, route, pattern.callback)


def _possible(converter: Any) -> Any:
    if isinstance(converter, UUIDConverter):
        return NO_SUCH_TOKEN
    return 1 if isinstance(converter, IntConverter) else "x"
