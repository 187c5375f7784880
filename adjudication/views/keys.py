"""The keys that a person uses at the desk."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from adjudication.forms import KeysForm
from adjudication.in_hand import key_choice_of
from adjudication.keys import page_keys_of
from adjudication.services.keys import keys_choose
from adjudication.views.pages import Notice, blind_page
from core.access import ProjectRequest, access
from core.errors import InputError
from core.models import Role

BAD_INPUT = 422


@access(Role.REVIEWER, Role.ADJUDICATOR)
@require_http_methods(["GET", "POST"])
def keys(request: ProjectRequest) -> HttpResponse:
    if request.method == "GET":
        choice = key_choice_of(request.author)
        form = KeysForm.of(page_keys_of(choice.keys), off=choice.off)
        notices = [Notice("success", "Your keys are kept.")] if "kept" in request.GET else []
        return blind_page(request, "adjudication/keys.html", {"form": form}, notices)
    form = KeysForm(request.POST)
    try:
        keys_choose(actor=request.author, keys=form.keys(), off=form.off())
    except InputError as error:
        form.refuse(error)
        return blind_page(request, "adjudication/keys.html", {"form": form}, status=BAD_INPUT)
    return redirect(f"{request.path}?kept")
