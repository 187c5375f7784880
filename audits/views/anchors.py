from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from audits.anchor_pages import anchor_set_context, anchor_sets_context, audit_anchors_context
from audits.exports.anchorfiles import CARDS, SET_FORMATS, SET_TYPES, card_text, set_bytes
from audits.models import AnchorSet
from audits.services.anchoring import known_set_ask
from audits.services.anchorsets import anchor_set_ask
from audits.services.uploads import anchors_ask
from audits.views.access import after_of, audit_or_404
from audits.views.uploads import BAD_INPUT, TOO_LARGE, within_limit
from core.access import ProjectRequest, for_leads
from core.errors import InputError, Problem
from core.sending import saved_as


def _refused(request: ProjectRequest, problem: Problem) -> HttpResponse:
    context = anchor_sets_context(request.project, 0) | {"problems": [problem]}
    return render(request, "audits/anchor_sets.html", context, status=TOO_LARGE)


# The token is checked inside: checking it first would read the whole upload before its size is judged.
@csrf_exempt
@for_leads
@require_http_methods(["GET", "POST"])
@within_limit(_refused)
@csrf_protect
def anchor_sets(request: ProjectRequest) -> HttpResponse:
    """The sets of a project; what is sent is a file of one, with its card or without."""
    if request.method == "POST":
        file, card = request.FILES.get("file"), request.FILES.get("card")
        try:
            job = anchors_ask(file=file, card=card, actor=request.author, now=timezone.now())
        except InputError as error:
            context = anchor_sets_context(request.project, 0) | {"problems": error.problems}
            return render(request, "audits/anchor_sets.html", context, status=BAD_INPUT)
        return redirect("audits:job", request.project.name, job.pk)
    return render(request, "audits/anchor_sets.html", anchor_sets_context(request.project, after_of(request)))


@for_leads
@require_http_methods(["GET", "POST"])
def audit_anchors(request: ProjectRequest, name: str) -> HttpResponse:
    """The versions made of one audit; what is sent asks for the next."""
    audit = audit_or_404(request, name)
    context = audit_anchors_context(audit)
    if request.method == "GET":
        return render(request, "audits/audit_anchors.html", context)
    asked = {key: request.POST.get(key, "").strip() for key in ("name", "licence")}
    try:
        job = anchor_set_ask(audit=audit, **asked, actor=request.author, now=timezone.now())
    except InputError as error:
        context |= {"problems": error.problems, "given": asked}
        return render(request, "audits/audit_anchors.html", context, status=error.status)
    return redirect("audits:job", request.project.name, job.pk)


@for_leads
@require_GET
def anchor_set(request: ProjectRequest, anchors: int) -> HttpResponse:
    return render(request, "audits/anchor_set.html", anchor_set_context(_set(request, anchors)))


@for_leads
@require_POST
def known_set(request: ProjectRequest, anchors: int) -> HttpResponse:
    """Ask for a set of these anchors to practise on, or to hide in audits."""
    one = _set(request, anchors)
    given = {key: request.POST.get(key, "") for key in ("name", "purpose")}
    try:
        job = known_set_ask(anchor_set=one, **given, actor=request.author, now=timezone.now())
    except InputError as error:
        context = anchor_set_context(one) | {"problems": error.problems, "given": given}
        return render(request, "audits/anchor_set.html", context, status=error.status)
    return redirect("audits:job", request.project.name, job.pk)


@for_leads
@require_GET
def anchor_file(request: ProjectRequest, anchors: int, kind: str) -> StreamingHttpResponse:
    one = _set(request, anchors)
    if kind not in SET_FORMATS:
        raise Http404
    answer = StreamingHttpResponse(set_bytes(one, kind), content_type=SET_TYPES[kind])
    return saved_as(answer, f"{one.name}-{one.version}.{kind}")


@for_leads
@require_GET
def anchor_card(request: ProjectRequest, anchors: int, kind: str) -> HttpResponse:
    one = _set(request, anchors)
    if kind not in CARDS:
        raise Http404
    answer = HttpResponse(card_text(one, kind), content_type=SET_TYPES[kind])
    return saved_as(answer, f"{one.name}-{one.version}.card.{kind}")


def _set(request: ProjectRequest, anchors: int) -> AnchorSet:
    sets = AnchorSet.objects.select_related("project", "audit__project", "actor")
    return get_object_or_404(sets, project=request.project, pk=anchors)
