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
    """Plain texts only: a template that gets this reaches no record through it. `beside` are the pages that stand under
    one link with the present one."""

    person: str = ""
    project: str = ""
    role: str = ""
    links: tuple[Link, ...] = ()
    beside: tuple[Link, ...] = ()


def page_frame(request: HttpRequest) -> PageFrame:
    user = getattr(request, "user", None)
    person = user.get_username() if user is not None and user.is_authenticated else ""
    project, role = getattr(request, "project", None), getattr(request, "role", None)
    if project is None or role is None:
        return PageFrame(person)
    links, beside = links_of(project.name, role, request.path)
    return PageFrame(person, project.name, str(Role(role).label), tuple(links), tuple(beside))


def links_of(project: str, role: Role, path: str = "") -> tuple[list[Link], list[Link]]:
    """Where somebody in this role may go, and the pages beside the present one. Which there are, `config` knows."""
    pages = [
        (label, [(under, reverse(name, args=[project])) for under, name in names])
        for label, names in settings.NAVIGATION[role]
    ]
    # The longest address that the present one begins with: /audits is where /audits/1/plan belongs.
    here = max((url for _, under in pages for _, url in under if path.startswith(url)), key=len, default="")
    links = [Link(label, under[0][1], any(url == here for _, url in under)) for label, under in pages]
    groups = (under for _, under in pages if len(under) > 1 and any(url == here for _, url in under))
    return links, [Link(label, url, url == here) for label, url in next(groups, [])]


def frame(request: HttpRequest) -> dict[str, Any]:
    """The context processor. Lazy: a page without a frame, such as that of an error, asks for none."""
    return {"frame": SimpleLazyObject(lambda: page_frame(request))}
