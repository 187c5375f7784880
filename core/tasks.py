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
