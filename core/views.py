from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_safe

from core.access import ProjectRequest, access, public, signed_in
from core.checks import why_unready
from core.models import Membership, Role
from core.pages import Link, links_of

NOT_READY = 503


@public
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 when this process answers and reaches its database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok\n", content_type="text/plain")


@public
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when this process may be sent visitors: its database is prepared, and guarded. Where it is not, 503 and why.

    The broker is not asked: answers are stored without it.
    """
    try:
        wanting = why_unready()
    except DatabaseError:
        wanting = "the database does not answer"
    if wanting:
        return HttpResponse(f"not ready: {wanting}\n", content_type="text/plain", status=NOT_READY)
    return HttpResponse("ready\n", content_type="text/plain")


@signed_in
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The projects of whoever is signed in; the only one at once."""
    members = Membership.objects.filter(user=request.user.pk).select_related("project").order_by("project__name")
    links = [Link(member.project.name, reverse("project", args=[member.project.name])) for member in members]
    if len(links) == 1:
        return redirect(links[0].url)
    return render(request, "core/home.html", {"projects": links})


@access(*Role)
@require_GET
def project_home(request: ProjectRequest) -> HttpResponse:
    """Where somebody in this role begins."""
    links = links_of(request.project.name, request.role)
    return redirect(links[0].url) if links else render(request, "core/project.html")
