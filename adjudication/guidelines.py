"""Guidelines as HTML: Markdown in, and nothing out that could run, load or lead astray."""

from functools import lru_cache

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

TAGS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "ul", "ol", "li", "strong", "em", "s", "code", "pre", "blockquote"),
    *("a", "table", "thead", "tbody", "tr", "th", "td"),
}
HEADINGS_BELOW = 2  # the page has its own headings of the first two ranks
LOWEST_HEADING = 6

_markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@lru_cache(maxsize=64)
def guideline_html(markdown: str) -> SafeString:
    tokens = [_lowered(token) for token in _markdown.parse(markdown)]
    html = _markdown.renderer.render(tokens, _markdown.options, {})
    clean = nh3.clean(
        html,
        tags=TAGS,
        attributes={"a": {"href"}},
        url_schemes={"https", "http", "mailto"},
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},  # the case stays where it is
    )
    return mark_safe(clean)  # noqa: S308 -- only the allow-list above is left


def _lowered(token: Token) -> Token:
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{min(int(token.tag[1]) + HEADINGS_BELOW, LOWEST_HEADING)}"
    return token
