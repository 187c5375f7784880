"""Keeping the keys that a person chose."""

from collections.abc import Mapping

from django.db import transaction

from adjudication.keys import ACTIONS, key_problems
from adjudication.models import KeyChoice
from core.errors import InputError
from core.models import Author


@transaction.atomic
def keys_choose(*, actor: Author, keys: Mapping[str, str], off: bool) -> KeyChoice:
    """One key for each action, no two alike. Switched off, they are kept for the day they are switched on again."""
    problems = key_problems(keys)
    if problems:
        raise InputError(problems)
    chosen = {action: keys[action] for action in ACTIONS}
    return KeyChoice.objects.update_or_create(author=actor, defaults={"keys": chosen, "off": off})[0]
