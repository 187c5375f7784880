"""What the desk's pages send."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from adjudication.blind import CANNOT, POSITIONS, answers_of
from adjudication.models import Presentation
from adjudication.reasons import CODES

LONGEST_RATIONALE = 20_000
LONGEST_SKIP_REASON = 500
MOST_SECONDS = 24 * 60 * 60


class AnswerForm(forms.Form):
    """An answer, by position of the outputs; complete when it is sent, as far as it goes when it is a draft."""

    rationale = forms.CharField(required=False, strip=False, max_length=LONGEST_RATIONALE)
    reasons = forms.MultipleChoiceField(required=False, choices=[(code, code) for code in CODES])
    seconds = forms.IntegerField(required=False, min_value=0)

    def __init__(
        self, data: Mapping[str, Any], *, presentation: Presentation, labels: Sequence[str], complete: bool
    ) -> None:
        super().__init__(data)
        self.presentation, self.labels = presentation, labels
        values = [(str(place), label) for place, label in enumerate(labels)]
        for position in POSITIONS[len(presentation.order)]:
            name = "a grade" if position == "only" else f"a grade for the {position} output"
            self.fields[position] = forms.ChoiceField(
                choices=[*values, (CANNOT, "cannot judge")],
                required=complete,
                error_messages={"required": f"Give {name}, or “cannot judge”, before you save."},
            )

    def clean_rationale(self) -> str:
        # A browser sends a line end as two characters, whatever was typed.
        return self.cleaned_data["rationale"].replace("\r\n", "\n")

    def clean_seconds(self) -> int:
        return min(self.cleaned_data["seconds"] or 0, MOST_SECONDS)

    def content(self) -> dict[str, Any]:
        """As the services take it."""
        return {
            "answers": answers_of(self.presentation, self.cleaned_data, self.labels),
            "reasons": self.cleaned_data["reasons"],
            "rationale": self.cleaned_data["rationale"],
            "seconds": self.cleaned_data["seconds"],
        }

    def sentences(self) -> list[str]:
        return [str(error) for errors in self.errors.values() for error in errors]


class SkipForm(forms.Form):
    reason = forms.CharField(
        max_length=LONGEST_SKIP_REASON, error_messages={"required": "Say in a few words why you pass this case on."}
    )

    def sentences(self) -> list[str]:
        return [str(error) for errors in self.errors.values() for error in errors]
