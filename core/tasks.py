from celery import shared_task


@shared_task
def sessions_clear() -> None:
    """Sessions whose time is over are of no use to anybody but a thief."""
    from django.contrib.sessions.backends.db import SessionStore

    SessionStore.clear_expired()


@shared_task
def answers_sweep() -> None:
    """Answers of writes are kept for a day."""
    from django.utils import timezone

    from core.answers import answers_clear

    answers_clear(now=timezone.now())


@shared_task
def webhook_due(*, endpoint: int) -> None:
    """Something is to be told to it."""
    from django.utils import timezone

    from core.delivering import endpoint_deliver

    endpoint_deliver(endpoint=endpoint, clock=timezone.now)


@shared_task
def webhooks_sweep() -> None:
    """Find what a lost message would have sent, and what is to be sent again."""
    from django.utils import timezone

    from core.delivering import endpoint_deliver, endpoints_due

    for endpoint in endpoints_due(now=timezone.now()):
        endpoint_deliver(endpoint=endpoint, clock=timezone.now)
