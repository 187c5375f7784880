"""What somebody may change about their own account: the password, and a second factor."""

from io import BytesIO
from typing import Any

import qrcode
from django import forms
from django.contrib import messages
from django.contrib.auth import authenticate
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods
from django_otp import user_has_device
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice, default_key
from qrcode.image.svg import SvgPathImage

from core.access import signed_in
from core.errors import InputError, Problem
from core.services import second_factor_remove as remove
from core.services import second_factor_set

KEY = "second-factor-key"  # in the session until the app has shown that it has it
WRONG = Problem("the password is wrong")
WRONG_EITHER = Problem("the password or the code is wrong")


class FactorForm(forms.Form):
    """What makes sure that the person themselves is there, not only their open session."""

    password = forms.CharField(widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}), strip=False)
    code = forms.CharField(max_length=16, widget=forms.TextInput(attrs={"autocomplete": "one-time-code"}))

    def clean_code(self) -> str:
        return str(self.cleaned_data["code"]).replace(" ", "")


class PasswordChange(PasswordChangeView):
    template_name = "core/password.html"
    success_url = reverse_lazy("account")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, "The password is changed. Your sessions elsewhere have ended.")
        return super().form_valid(form)


@signed_in
@require_GET
def account(request: HttpRequest) -> HttpResponse:
    """How this person signs in."""
    left = StaticToken.objects.filter(device__user=request.user.pk).count()
    context = {
        "has_password": request.user.has_usable_password(),
        "has_factor": user_has_device(request.user),
        "codes_left": left,
    }
    return render(request, "core/account.html", context)


@signed_in
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor(request: HttpRequest) -> HttpResponse:
    """Set up a second factor: the app reads a key off the page, and a code shows that it has it."""
    if user_has_device(request.user) or not request.user.has_usable_password():
        return redirect("account")
    key = request.session.setdefault(KEY, default_key())
    form, problems, status = FactorForm(request.POST or None), [], 200
    if request.method == "POST" and form.is_valid():
        try:
            _sure_of(request, form, code="", wrong=WRONG)
            codes = second_factor_set(user=request.user, key=key, code=form.cleaned_data["code"])
        except InputError as error:
            problems, status = list(error.problems), 422
        else:
            del request.session[KEY]
            return render(request, "core/recovery_codes.html", {"codes": codes})
    device = TOTPDevice(user=request.user, key=key)
    context = {"form": form, "problems": problems, "picture": _picture(device.config_url), "secret": _in_fours(device)}
    return render(request, "core/second_factor.html", context, status=status)


@signed_in
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor_remove(request: HttpRequest) -> HttpResponse:
    """Sign in with the password alone again."""
    if not user_has_device(request.user):
        return redirect("account")
    form, problems, status = FactorForm(request.POST or None), [], 200
    if request.method == "POST" and form.is_valid():
        try:
            _sure_of(request, form, code=form.cleaned_data["code"], wrong=WRONG_EITHER)
        except InputError as error:
            problems, status = list(error.problems), 422
        else:
            remove(user=request.user)
            messages.success(request, "The second factor is removed.")
            return redirect("account")
    context = {"form": form, "problems": problems}
    return render(request, "core/second_factor_remove.html", context, status=status)


def _sure_of(request: HttpRequest, form: FactorForm, *, code: str, wrong: Problem) -> None:
    """Failures count as failed attempts to sign in: whoever finds an open session cannot guess here either."""
    name, password = request.user.get_username(), form.cleaned_data["password"]
    if authenticate(request, username=name, password=password, code=code) is None:
        raise InputError(wrong)


def _picture(address: str) -> SafeString:
    file = BytesIO()
    qrcode.make(address, image_factory=SvgPathImage).save(file)
    return mark_safe(file.getvalue().decode().partition("?>")[2])  # noqa: S308 -- drawn from a key of ours


def _in_fours(device: TOTPDevice) -> str:
    secret = device.config_url.partition("secret=")[2].partition("&")[0]
    return " ".join(secret[at : at + 4] for at in range(0, len(secret), 4))
