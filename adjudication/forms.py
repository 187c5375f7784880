"""What the pages of the desk, and that of its reason codes, send."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from django import forms

from adjudication.blind import CANNOT, POSITIONS, answers_of, passages_of
from adjudication.keys import ACTIONS, ENTER, PageKeys
from adjudication.models import Presentation, ReasonOwner, ReasonStage
from adjudication.services.reasons import LONGEST_CODE, LONGEST_MEANING
from core.errors import InputError

LONGEST_RATIONALE = 20_000
LONGEST_SKIP_REASON = 500
MOST_QUOTES = 50
MOST_SECONDS = 24 * 60 * 60


class SpansField(forms.Field):
    """Passages quoted, each as position.part.start.end."""

    widget = forms.MultipleHiddenInput

    def __init__(self, positions: Iterable[str]) -> None:
        super().__init__(required=False)
        self.pattern = re.compile(rf"({'|'.join(('input', *positions))})\.(\d{{1,4}})\.(\d{{1,9}})\.(\d{{1,9}})")

    def clean(self, value: Any) -> list[tuple[str, int, int, int]]:
        found = [self.pattern.fullmatch(one) for one in dict.fromkeys(value or [])]
        spans = [(m[1], int(m[2]), int(m[3]), int(m[4])) for m in found if m]
        if len(spans) < len(found):
            raise forms.ValidationError("A quoted passage cannot be read. Take it out, and quote it again.")
        if len(spans) > MOST_QUOTES:
            raise forms.ValidationError(f"At most {MOST_QUOTES} passages can be quoted.")
        return spans


class AnswerForm(forms.Form):
    """An answer, by position of the outputs; complete when it is sent, as far as it goes when it is a draft.

    `codes` are all that the project ever had, asked for where a reason is given: a draft keeps one that was retired
    meanwhile, and the service says which are offered when the answer is sent.
    """

    rationale = forms.CharField(required=False, strip=False, max_length=LONGEST_RATIONALE)
    seconds = forms.IntegerField(required=False, min_value=0)

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        presentation: Presentation,
        labels: Sequence[str],
        codes: Callable[[], Iterable[str]],
        complete: bool,
    ) -> None:
        super().__init__(data)
        self.fields["reasons"] = forms.MultipleChoiceField(
            required=False, choices=lambda: [(code, code) for code in codes()]
        )
        self.presentation, self.labels = presentation, labels
        self.fields["spans"] = SpansField(POSITIONS[len(presentation.order)])
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
            "spans": passages_of(self.presentation, self.cleaned_data["spans"]),
            "seconds": self.cleaned_data["seconds"],
        }

    def sentences(self) -> list[str]:
        return [str(error) for errors in self.errors.values() for error in errors]


class KeysForm(forms.Form):
    """A key for each action, and whether keys act at all. What may be a key, the service says."""

    on = forms.BooleanField(required=False, label="Single keys act", help_text="Off, every key only types.")

    def __init__(self, data: Mapping[str, Any] | None = None, **more: Any) -> None:
        super().__init__(data, **more)
        for action, words in ACTIONS.items():
            self.fields[action] = forms.CharField(
                required=False,
                label=words[:1].upper() + words[1:],
                widget=forms.TextInput({"size": 6, "maxlength": 5, "autocomplete": "off", "autocapitalize": "none"}),
            )

    @classmethod
    def of(cls, keys: PageKeys, *, off: bool) -> "KeysForm":
        return cls(initial={**asdict(keys), "on": not off})

    def keys(self) -> dict[str, str]:
        """As they were typed, a letter small: Enter is a name."""
        typed = {action: str(self.data.get(action, "")).strip() for action in ACTIONS}
        return {action: ENTER if key.lower() == ENTER.lower() else key.lower() for action, key in typed.items()}

    def off(self) -> bool:
        return "on" not in self.data

    def refuse(self, error: InputError) -> None:
        """Say each problem beside the key that it is about."""
        self.full_clean()
        for problem in error.problems:
            self.add_error(problem.key, str(replace(problem, key="")))


class SkipForm(forms.Form):
    reason = forms.CharField(
        max_length=LONGEST_SKIP_REASON, error_messages={"required": "Say in a few words why you pass this case on."}
    )

    def sentences(self) -> list[str]:
        return [str(error) for errors in self.errors.values() for error in errors]


class DisputeForm(forms.Form):
    code = forms.CharField(max_length=LONGEST_CODE, error_messages={"required": "Choose a reason."})
    words = forms.CharField(
        max_length=LONGEST_RATIONALE, error_messages={"required": "Say what is wrong with the label on record."}
    )

    def sentences(self) -> list[str]:
        return [str(error) for errors in self.errors.values() for error in errors]


STAGES = [(stage, stage) for stage in ReasonStage.values]
OWNERS = [(owner, owner) for owner in ReasonOwner.values]


class PlacementForm(forms.Form):
    """Where a code stands: its stage, with *retired* among the choices, and its owner."""

    revision = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    stage = forms.ChoiceField(choices=STAGES)
    owner = forms.ChoiceField(choices=OWNERS)


class NewReasonForm(forms.Form):
    code = forms.CharField(max_length=LONGEST_CODE, help_text="In a few words. It cannot be renamed.")
    meaning = forms.CharField(max_length=LONGEST_MEANING, required=False, label="What it means")
    stage = forms.ChoiceField(
        choices=[choice for choice in STAGES if choice[0] != ReasonStage.RETIRED],
        help_text="Desk: offered to reviewers. Calibration: there, in practice only. Diagnosis: to leads.",
    )
    owner = forms.ChoiceField(choices=OWNERS, help_text="Who mends what it names.")
    needs_text = forms.BooleanField(required=False, label="Only together with a rationale")
