"""Whatever somebody can do on a page, a program can do by the API, or it is said here why not."""

from typing import Any

import pytest
from django.test import Client

from core.models import Role
from tests import factories
from tests.routes import Route, routes
from tests.test_access_matrix import API, IN_PROJECT

# The route of a page that changes something -> the API's route for the same.
TWINS = {
    "members": "api:members",
    "member-role": "api:member-role",
    "member-removal": "api:member-removal",
    "webhooks": "api:webhooks",
    "webhook-secret": "api:webhook-secret",
    "webhook-end": "api:webhook-end",
    "webhook-again": "api:webhook-again",
    "adjudication:send": "desk-api:submit",
    "adjudication:draft": "desk-api:draft",
    "adjudication:skip": "desk-api:skip",
    "adjudication:undo": "desk-api:undo",
    "adjudication:dispute": "desk-api:dispute",
    "adjudication:keys": "desk-api:keys",
    "adjudication:skipped": "desk-api:skips-lift",
    "adjudication:reason-codes": "desk-api:reason-codes",
    "adjudication:reason-code": "desk-api:reason-code",
    "audits:new": "audits-api:intakes",
    "audits:job-cancel": "audits-api:job-cancel",
    "audits:register": "audits-api:register",
    "audits:extend": "audits-api:extend",
    "audits:diagnose": "audits-api:diagnoses",
    "audits:holdout": "audits-api:holdout",
    "audits:verdict": "audits-api:sign-offs",
    "audits:inventory": "audits-api:inventory",
    "audits:retention": "audits-api:retention",
    "audits:known-set": "audits-api:known-set",
    "audits:anchor-sets": "audits-api:anchor-sets",
    "audits:audit-anchors": "audits-api:audit-anchors",
    "audits:packet": "audits-api:packet",
}
OWN_ACCOUNT = "how a person signs in is theirs alone, with their password at hand"
A_FORM = "a form that writes a manifest; what it ends in is an intake, which the API takes"
ON_PAGES_ALONE = {
    "login": OWN_ACCOUNT,
    "logout": OWN_ACCOUNT,
    "password": OWN_ACCOUNT,
    "second-factor": OWN_ACCOUNT,
    "second-factor-remove": OWN_ACCOUNT,
    "tokens": "a token would beget tokens",
    "token-revoke": "a token would end the one by which it is watched",
    "audits:preview-new": A_FORM,
    "audits:preview": A_FORM,
}
# What somebody gets by opening an address: a case to work on, a file.
GOT = {
    "adjudication:review": "desk-api:next",
    "adjudication:practice": "desk-api:practice",
    "adjudication:differences": "desk-api:differences",
    "audits:anchor-file": "audits-api:anchor-file",
    "audits:anchor-card": "audits-api:anchor-card",
    "audits:job-refused": "audits-api:job-refused",
    "audits:job-packet": "audits-api:job-packet",
    "audits:report": "audits-api:report",
    "audits:anchors": "audits-api:anchors",
    "audits:reviews": "audits-api:reviews",
}


def in_api(route: Route) -> bool:
    return route.pattern.startswith("api/")


def takes_a_form(route: Route, people: dict[Role, Any]) -> bool:
    """Asked anew each time: one of the routes signs out."""
    owner = not route.in_project or Role.OWNER in IN_PROJECT[route.name]
    client = Client()
    client.force_login(people[Role.OWNER if owner else Role.REVIEWER])
    return client.post(route.url(project="p")).status_code != 405


@pytest.mark.django_db
def test_every_action_of_a_page_has_a_twin_in_the_api_or_a_reason() -> None:
    project = factories.make_project()
    people = {role: factories.make_person(project, role, role).user for role in (Role.OWNER, Role.REVIEWER)}
    actions = {route.name for route in routes() if not in_api(route) and takes_a_form(route, people)}
    assert actions == {*TWINS, *ON_PAGES_ALONE}
    assert TWINS.keys() & ON_PAGES_ALONE.keys() == set()


def test_every_twin_is_there_and_takes_what_the_page_takes() -> None:
    views = {route.name: route.view.view_class for route in routes() if route.name in API}
    writes = {name for name, view in views.items() if hasattr(view, "post") or hasattr(view, "put")}
    assert {*TWINS.values(), *GOT.values()} - set(views) == set()
    assert set(TWINS.values()) - writes == set()
    # And the other way round. What takes a case in hand is a POST here; label files are the command `import_reviews`.
    assert writes - set(TWINS.values()) == {"desk-api:next", "desk-api:practice", "audits-api:labels"}


def test_twins_let_in_the_same_roles() -> None:
    differing = {page for page, twin in (TWINS | GOT).items() if IN_PROJECT[page] != IN_PROJECT[twin]}
    assert differing == set()
