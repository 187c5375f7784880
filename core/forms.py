from django import forms

from core.models import Scope, WebhookKind
from core.outgoing import LONGEST_URL
from core.tokens import LONGEST_DAYS, LONGEST_NAME, PIPELINE_SCOPES


class TokenForm(forms.Form):
    """A token for a program; what may be in it, the service knows."""

    name = forms.CharField(
        max_length=LONGEST_NAME,
        help_text="What the program is called, such as nightly. A second token of the name acts as the same author.",
    )
    scopes = forms.MultipleChoiceField(
        choices=[(scope.value, f"{scope.value}: {Scope(scope).label}") for scope in PIPELINE_SCOPES],
        widget=forms.CheckboxSelectMultiple,
        label="What it may do",
    )
    days = forms.IntegerField(
        initial=90, min_value=1, max_value=LONGEST_DAYS, label="Days until it expires", help_text="At most a year."
    )


class WebhookForm(forms.Form):
    """A webhook; where it may lead, the service knows."""

    url = forms.CharField(max_length=LONGEST_URL, label="Address", help_text="As in https://ci.example/tertium.")
    kinds = forms.MultipleChoiceField(
        choices=[(kind.value, f"{kind.value}: {WebhookKind(kind).label}") for kind in WebhookKind],
        widget=forms.CheckboxSelectMultiple,
        label="What it is told",
    )
