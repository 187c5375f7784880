"""Texts as the characters they are: nothing is markup, and what would hide or turn other characters is named."""

import re
import unicodedata

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

# Controls but tab and line ends; marks, embeddings, overrides and isolates of direction; a byte-order mark and a
# space that cannot be seen; halves of a pair, which UTF-8 cannot carry.
UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)


RETURN = '<span class="return"></span>'


@register.filter
def characters(text: str) -> SafeString:
    named = UNSEEN.sub(_named, escape(text))
    # A browser reads two characters as one at a line's end: an empty mark keeps the count of a quoted passage right.
    return mark_safe(named.replace("\r\n", f"{RETURN}\n"))  # noqa: S308 -- escaped first; the marks are ours


def _named(found: re.Match[str]) -> str:
    code = f"U+{ord(found[0]):04X}"
    return f'<span class="unseen" title="{unicodedata.name(found[0], "control character").lower()}">{code}</span>'
