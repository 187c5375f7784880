from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from audits.forms import asked_manifest
from audits.manifest.previews import preview_files, preview_text
from audits.pages import upload_context
from audits.preview_pages import PREVIEWED_ROWS, preview_context
from audits.services.uploads import preview_open, preview_paths, preview_store
from audits.views.uploads import BAD_INPUT, upload_refused, within_limit
from core.access import ProjectRequest, for_leads
from core.errors import InputError
from core.sending import saved_as


# As for an upload with a manifest: the token is checked inside, after the size.
@csrf_exempt
@for_leads
@require_http_methods(["POST"])
@within_limit(upload_refused)
@csrf_protect
def new(request: ProjectRequest) -> HttpResponse:
    try:
        token = preview_store(files=request.FILES.getlist("files"), project=request.project)
    except InputError as error:
        context = upload_context(request.project.name, error.problems)
        return render(request, "audits/new.html", context, status=BAD_INPUT)
    return redirect("audits:preview", request.project.name, token)


@for_leads
@require_http_methods(["GET", "POST"])
def preview(request: ProjectRequest, token: str) -> HttpResponse:
    paths = preview_paths(token, request.project)
    if not paths:
        raise Http404
    if request.method == "GET":
        person = request.user.get_username()
        found = preview_files(paths, project=request.project.name, person=person, limit=PREVIEWED_ROWS)
        return render(request, "audits/preview.html", preview_context(found, token))
    text = asked_manifest(request.POST)
    if request.POST.get("do") == "download":
        return saved_as(HttpResponse(text, content_type="application/yaml"), "manifest.yaml")
    found = preview_text(text, paths, limit=PREVIEWED_ROWS)
    if request.POST.get("do") == "open" and not found.problems:
        good_rows = "good_rows" in request.POST
        job = preview_open(token=token, text=text, actor=request.author, now=timezone.now(), good_rows=good_rows)
        return redirect("audits:job", request.project.name, job.pk)
    return render(request, "audits/preview.html", preview_context(found, token))
