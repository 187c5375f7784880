"""The people of a project, for its owners."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from core.access import ProjectRequest, access
from core.errors import InputError, Problem
from core.models import Author, Role
from core.selectors import members_of
from core.services import member_dismiss, member_enrol, member_role_set

BAD_INPUT = InputError.status
USERNAME = get_user_model()._meta.get_field("username")

owners = access(Role.OWNER)


class MemberForm(forms.Form):
    username = forms.CharField(
        label="Name to sign in with", max_length=USERNAME.max_length, validators=USERNAME.validators
    )
    role = forms.ChoiceField(choices=Role.choices)
    pseudonym = forms.CharField(
        required=False, max_length=100, help_text="What stands beside their labels. Empty: a number."
    )
    email = forms.EmailField(
        required=False, label="E-mail address", help_text="Of a new account, where single sign-on finds people by it."
    )


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices)


@owners
@require_http_methods(["GET", "HEAD", "POST"])
def members(request: ProjectRequest) -> HttpResponse:
    """Who is in the project, and a form for one more."""
    if request.method != "POST":
        return _page(request, MemberForm())
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=BAD_INPUT)
    try:
        author, password = member_enrol(**form.cleaned_data, actor=request.author, now=timezone.now())
    except InputError as error:
        return _page(request, form, error.problems, error.status)
    if password:
        return _page(request, MemberForm(), new={"username": form.cleaned_data["username"], "password": password})
    messages.success(request, f"{form.cleaned_data['username']} is in the project, as {author.pseudonym}.")
    return redirect("members", request.project.name)


@owners
@require_POST
def member_role(request: ProjectRequest, number: int) -> HttpResponse:
    """Another role for one of them."""
    author, form = _member(request, number), RoleForm(request.POST)
    if not form.is_valid():
        return _page(request, MemberForm(), (Problem("not a role", allowed=", ".join(Role.values)),), BAD_INPUT)
    role = Role(form.cleaned_data["role"])
    return _done(request, author, lambda: member_role_set(author=author, role=role, **_by(request)))


@owners
@require_POST
def member_removal(request: ProjectRequest, number: int) -> HttpResponse:
    """One of them leaves the project; their labels stay."""
    author = _member(request, number)
    return _done(request, author, lambda: member_dismiss(author=author, **_by(request)))


def _member(request: ProjectRequest, number: int) -> Author:
    """One of this project: anybody else's is not there, whatever else was sent."""
    return get_object_or_404(Author, project=request.project, pk=number)


def _done(request: ProjectRequest, author: Author, change: Callable[[], Any]) -> HttpResponse:
    try:
        change()
    except InputError as error:
        return _page(request, MemberForm(), error.problems, error.status)
    if author == request.author:  # who may be let in here no more
        return redirect("home")
    return redirect("members", request.project.name)


def _by(request: ProjectRequest) -> dict[str, Any]:
    return {"actor": request.author, "now": timezone.now()}


def _page(
    request: ProjectRequest,
    form: MemberForm,
    problems: tuple[Problem, ...] = (),
    status: int = 200,
    new: dict[str, str] | None = None,
) -> HttpResponse:
    rows = [
        (author, RoleForm(initial={"role": author.role}, auto_id=f"id_%s_{author.pk}"))
        for author in members_of(request.project)
    ]
    context = {"rows": rows, "form": form, "problems": problems, "new": new}
    return render(request, "core/members.html", context, status=status)
