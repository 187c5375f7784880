"""How often one token, or one person, may ask."""

import logging
from typing import Any

from django.conf import settings
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from core.models import ApiToken

log = logging.getLogger(__name__)


class PerPerson(SimpleRateThrottle):
    """So many requests a minute; a token counts for itself. Where the count cannot be kept, nobody is stopped."""

    scope = "api"

    def get_rate(self) -> str:
        return f"{settings.API_PER_MINUTE}/minute"

    def get_cache_key(self, request: Request, view: Any) -> str:
        who = f"token-{request.auth.pk}" if isinstance(request.auth, ApiToken) else f"author-{view.author.pk}"
        return f"throttle-{who}"

    def allow_request(self, request: Request, view: Any) -> bool:
        try:
            return bool(super().allow_request(request, view))
        except (RedisError, OSError) as error:
            log.warning("requests are not counted: %s", error)
            return True
