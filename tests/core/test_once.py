"""A write that comes twice at the same moment, in two threads of one server, is done once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client

from audits.models import Job
from core.models import Scope, StoredAnswer
from tests import factories

SENT = 8


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_write_sent_eight_times_at_once_is_done_once() -> None:
    project = factories.make_project()
    factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No")}))
    key = factories.make_token(project, Scope.AUDITS_WRITE).key
    ready = Barrier(SENT)

    def send(_: int) -> tuple[int, int]:
        ready.wait()
        try:
            answer = Client(headers={"Authorization": f"Bearer {key}", "Idempotency-Key": "k1"}).post(
                "/api/v1/projects/p/audits/swap-1/register", {}, content_type="application/json"
            )
            return answer.status_code, answer.json()["number"]
        finally:
            connection.close()

    with ThreadPoolExecutor(SENT) as pool:
        answers = set(pool.map(send, range(SENT)))
    assert answers == {(202, Job.objects.get().pk)}
    assert StoredAnswer.objects.count() == 1
