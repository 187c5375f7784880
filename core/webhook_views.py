"""The webhooks of a project, for its leads and owners."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.access import ProjectRequest, for_leads
from core.delivering import GIVE_UP_AFTER
from core.errors import InputError, Problem
from core.forms import WebhookForm
from core.models import WebhookEndpoint
from core.webhooks import (
    deliveries_of,
    delivery_send_again,
    webhook_end,
    webhook_make,
    webhook_secret_renew,
    webhooks_counted,
)

SHOWN = 50
BAD_INPUT = InputError.status


@for_leads
@require_http_methods(["GET", "HEAD", "POST"])
def webhooks(request: ProjectRequest) -> HttpResponse:
    """Who is told what, and a form for one more, whose secret is shown in the answer and never again."""
    if request.method != "POST":
        return _list(request, WebhookForm())
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return _list(request, form, status=BAD_INPUT)
    try:
        endpoint, secret = webhook_make(**form.cleaned_data, actor=request.author, now=timezone.now())
    except InputError as error:
        return _list(request, form, error.problems, error.status)
    return _page(request, endpoint, secret=secret)


@for_leads
@require_GET
def webhook(request: ProjectRequest, number: int) -> HttpResponse:
    """What became of the messages to one of them."""
    return _page(request, _endpoint(request, number))


@for_leads
@require_POST
def webhook_renewed(request: ProjectRequest, number: int) -> HttpResponse:
    endpoint = _endpoint(request, number)
    try:
        secret = webhook_secret_renew(endpoint=endpoint, actor=request.author, now=timezone.now())
    except InputError as error:
        return _page(request, endpoint, error.problems, error.status)
    return _page(request, endpoint, secret=secret)


@for_leads
@require_POST
def webhook_ended(request: ProjectRequest, number: int) -> HttpResponse:
    webhook_end(endpoint=_endpoint(request, number), actor=request.author, now=timezone.now())
    return redirect("webhooks", request.project.name)


@for_leads
@require_POST
def webhook_sent_again(request: ProjectRequest, number: int, delivery: int) -> HttpResponse:
    endpoint = _endpoint(request, number)
    one = get_object_or_404(deliveries_of(endpoint), pk=delivery)
    try:
        delivery_send_again(delivery=one, actor=request.author, now=timezone.now())
    except InputError as error:
        return _page(request, endpoint, error.problems, error.status)
    return redirect("webhook", request.project.name, number)


def _endpoint(request: ProjectRequest, number: int) -> WebhookEndpoint:
    return get_object_or_404(webhooks_counted(request.project), pk=number)


def _list(
    request: ProjectRequest, form: WebhookForm, problems: tuple[Problem, ...] = (), status: int = 200
) -> HttpResponse:
    shown = list(webhooks_counted(request.project)[: SHOWN + 1])
    context = {"rows": shown[:SHOWN], "more": len(shown) > SHOWN, "form": form, "problems": problems}
    return render(request, "core/webhooks.html", context, status=status)


def _page(
    request: ProjectRequest,
    endpoint: WebhookEndpoint,
    problems: tuple[Problem, ...] = (),
    status: int = 200,
    secret: str = "",
) -> HttpResponse:
    shown = list(deliveries_of(endpoint)[: SHOWN + 1])
    context = {
        "endpoint": endpoint,
        "rows": [(one, list(one.log.all())) for one in shown[:SHOWN]],
        "more": len(shown) > SHOWN,
        "days": GIVE_UP_AFTER.days,
        "problems": problems,
        "secret": secret,
    }
    return render(request, "core/webhook.html", context, status=status)
