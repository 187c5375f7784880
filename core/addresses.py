"""Addresses for whoever is not in a browser here."""

from django.conf import settings
from django.urls import get_script_prefix, reverse


def address_of(route: str, *arguments: object) -> str:
    """Where a route is found from outside: whole where the installation says its public address, and a path otherwise.

    The path under which a proxy shows us is the settings': a worker's threads know of none.
    """
    path = "/" + reverse(route, args=arguments).removeprefix(get_script_prefix())
    return (settings.PUBLIC_URL or settings.BASE_PATH) + path
