"""What /metrics shows. All of it is read at the moment of asking, from the database and the broker: every web process
gives the same answer, and none of it is lost with a process."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from celery import current_app
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_GET
from kombu.exceptions import OperationalError
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from adjudication.workload import desk_workload
from audits.workload import background_workload
from core.access import public
from core.webhooks import webhook_workload

COUNTED = "tertium:tasks"  # a hash at the broker: "name state" -> how often, since the broker began
BROKER_AWAY = (OperationalError, RedisError, OSError)


@public
@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """For Prometheus, with the token that the environment names; without one there is no such page."""
    token = settings.METRICS_TOKEN
    if not token or not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {token}"):
        raise Http404
    registry = CollectorRegistry()
    registry.register(Everything(timezone.now()))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def task_count(task: Any = None, state: str = "", **_: Any) -> None:
    """Called in a worker when a task has ended. A broker that is away costs a count, never a task."""
    try:
        with current_app.connection_or_acquire() as line:
            line.default_channel.client.hincrby(COUNTED, f"{task.name} {state}", 1)
    except BROKER_AWAY:
        return


class Everything(Collector):
    def __init__(self, now: datetime) -> None:
        self.now = now

    def collect(self) -> Iterator[Metric]:
        yield from self._desk()
        yield from self._background()
        yield from self._webhooks()
        yield from self._broker()

    def _desk(self) -> Iterator[Metric]:
        desk = desk_workload(self.now)
        yield _labelled("tertium_queue_depth", "Answers that items still need.", "kind", desk.open_slots)
        yield _gauge("tertium_leases", "Cases that somebody holds.", desk.live_leases)
        yield _gauge("tertium_oldest_lease_seconds", "Since the oldest of them was taken.", desk.oldest_lease)

    def _background(self) -> Iterator[Metric]:
        work = background_workload(self.now)
        yield _labelled("tertium_jobs", "Work that pages asked for; broken is a fault of ours.", "state", work.jobs)
        yield _gauge("tertium_oldest_job_seconds", "Since the oldest open job was asked for.", work.oldest_job)
        yield _gauge("tertium_looks_due", "Audits with settlements that no look has seen.", work.looks_due)
        yield _gauge("tertium_oldest_due_look_seconds", "Since the first of those settlements.", work.oldest_due_look)
        if work.look_latency is not None:
            yield _gauge(
                "tertium_look_latency_seconds", "From settlement to look, at the last look.", work.look_latency
            )

    def _webhooks(self) -> Iterator[Metric]:
        work = webhook_workload(self.now)
        yield _labelled("tertium_webhook_messages", "Messages to webhooks that are told.", "state", work.messages)
        yield _gauge("tertium_oldest_webhook_seconds", "Since the oldest waiting one was to be sent.", work.oldest)
        attempts = CounterMetricFamily("tertium_webhook_attempts", "Sendings to webhooks.", labels=["outcome"])
        for outcome, number in sorted(work.attempts.items()):
            attempts.add_metric([outcome], number)
        yield attempts

    def _broker(self) -> Iterator[Metric]:
        try:
            with current_app.connection_for_read() as line:
                client = line.default_channel.client
                waiting, counts = client.llen("celery"), client.hgetall(COUNTED)
        except BROKER_AWAY:
            yield _gauge("tertium_broker_up", "Whether the broker answers.", 0)
            return
        yield _gauge("tertium_broker_up", "Whether the broker answers.", 1)
        yield _gauge("tertium_broker_messages", "Messages that no worker has taken.", waiting)
        tasks = CounterMetricFamily(
            "tertium_tasks", "Tasks that ended, since the broker began.", labels=["task", "state"]
        )
        for name, number in sorted(counts.items()):
            tasks.add_metric(name.decode().split(" "), int(number))
        yield tasks


def _gauge(name: str, help_: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_, value=value)


def _labelled(name: str, help_: str, label: str, values: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, help_, labels=[label])
    for value, number in sorted(values.items()):
        family.add_metric([value], number)
    return family
