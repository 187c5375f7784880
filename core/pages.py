"""What stands around every page: who is signed in, where, and where they may go from here."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from core.models import Role


@dataclass(frozen=True)
class Link:
    label: str
    url: str
    current: bool = False


@dataclass(frozen=True)
class PageFrame:
    """Plain texts only: a template that gets this reaches no record through it."""

    person: str = ""
    project: str = ""
    role: str = ""
    links: tuple[Link, ...] = ()


def page_frame(request: HttpRequest) -> PageFrame:
    user = getattr(request, "user", None)
    person = user.get_username() if user is not None and user.is_authenticated else ""
    project, role = getattr(request, "project", None), getattr(request, "role", None)
    if project is None or role is None:
        return PageFrame(person)
    return PageFrame(person, project.name, str(Role(role).label), tuple(links_of(project.name, role, request.path)))


def links_of(project: str, role: Role, path: str = "") -> list[Link]:
    """Where somebody in this role may go. Which pages there are, `config` knows."""
    urls = [(label, reverse(name, args=[project])) for label, name in settings.NAVIGATION[role]]
    # The longest address that the present one begins with: /audits is where /audits/1/plan belongs.
    here = max((url for _, url in urls if path.startswith(url)), key=len, default="")
    return [Link(label, url, url == here) for label, url in urls]


def frame(request: HttpRequest) -> dict[str, Any]:
    """The context processor. Lazy: a page without a frame, such as that of an error, asks for none."""
    return {"frame": SimpleLazyObject(lambda: page_frame(request))}
