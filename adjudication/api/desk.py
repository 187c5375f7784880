"""The desk without its pages: one person's next case, and what they do with it. All that is said comes from `blind`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from adjudication.blind import (
    CANNOT,
    POSITIONS,
    BlindComparison,
    BlindFeedback,
    BlindItem,
    Sent,
    Skipped,
    blind_comparison,
    blind_feedback,
    blind_item,
    sent_cases,
    skipped_cases,
)
from adjudication.calibration import known_cases_left_count, practice_queues
from adjudication.forms import (
    LONGEST_RATIONALE,
    LONGEST_SKIP_REASON,
    MOST_QUOTES,
    MOST_SECONDS,
    AnswerForm,
    DisputeForm,
    SkipForm,
)
from adjudication.in_hand import draft_of, key_choice_of, lease_in_hand
from adjudication.keys import ACTIONS, page_keys_of
from adjudication.models import Lease, Presentation, SlotKind
from adjudication.selectors import (
    COUNTED_UP_TO,
    reasons_of,
    sent_by,
    sent_count,
    skipped_by,
    undoable,
    waiting_for,
)
from adjudication.services.calibrating import label_dispute
from adjudication.services.drafts import draft_save
from adjudication.services.keys import keys_choose
from adjudication.services.leases import LeaseLost, practice_claim, work_claim
from adjudication.services.presentations import presentation_ensure
from adjudication.services.reviews import item_skip, review_submit
from adjudication.services.undo import review_undo
from adjudication.serving import queues_waiting
from core.api.base import ApiView
from core.api.once import once
from core.api.problems import REFUSED, problems_answer
from core.api.shapes import Given, shape, texts
from core.errors import InputError, Problem
from core.models import Role, Scope

TOKEN = OpenApiParameter("token", UUID, "path", description="the lease that `next` gave: all that names a case here")
SHOWN = 50
LOST = (
    "this case is no longer yours: your time on it ran out, and it went on to a colleague or has its answers. "
    "What you sent is kept as your draft"
)


@dataclass(frozen=True)
class DeskAnswer:
    """What waits for this person, what they passed on and what they sent; nothing about why. Both numbers stop at
    `counted_up_to`. `undo` is the lease of the answer that may be taken back, or empty."""

    reviews: int
    conflicts: int
    counted_up_to: int
    practice: int
    sent_in_all: int
    sent: tuple[Sent, ...]
    skipped: tuple[Skipped, ...]
    undo: str


@dataclass(frozen=True)
class NextAnswer:
    """The case in hand, or null where nothing waits. `passed_on`: cases that this person skipped are left."""

    case: BlindItem | None
    passed_on: bool


@dataclass(frozen=True)
class DoneAnswer:
    """`counts` is false for an answer beyond what the case needed: it is kept. `practice` has feedback."""

    counts: bool
    practice: bool


@dataclass(frozen=True)
class DifferencesAnswer:
    sides: tuple[BlindComparison, ...]


@dataclass(frozen=True)
class KeysAnswer:
    """Which key does what, and whether single keys act at all."""

    on: bool
    keys: dict[str, str]


class DeskView(ApiView):
    roles = (Role.REVIEWER, Role.ADJUDICATOR)
    reads = writes = (Scope.REVIEW,)

    def lease(self, token: UUID) -> Lease:
        """Their own: anybody else's is not there."""
        lease = lease_in_hand(self.author, token)
        if lease is None:
            raise Http404
        return lease

    def presented(self, lease: Lease) -> Presentation:
        return presentation_ensure(item=lease.item, author=self.author, now=timezone.now())

    def case(self, lease: Lease) -> BlindItem:
        keys = page_keys_of(key_choice_of(self.author).keys)
        return blind_item(lease, self.presented(lease), draft_of(lease.item, self.author), keys)


class Desk(DeskView):
    @extend_schema(operation_id="desk", summary="My work", responses=shape(DeskAnswer))
    def get(self, request: Request) -> Response:
        project, author = self.project, self.author
        queues, undo = queues_waiting(project, author), undoable(author, timezone.now())
        token = str(undo.token) if undo else ""
        skips = [(skip.item, skip.reason, skip.at) for skip in skipped_by(author)[:SHOWN]]
        answer = DeskAnswer(
            reviews=waiting_for(queues, author, self.role, SlotKind.REVIEW),
            conflicts=waiting_for(queues, author, self.role, SlotKind.ADJUDICATION),
            counted_up_to=COUNTED_UP_TO,
            practice=sum(known_cases_left_count(practice, author) for practice in practice_queues(project)),
            sent_in_all=sent_count(author),
            sent=sent_cases(project, list(sent_by(author).select_related("item__case")[:SHOWN]), token),
            skipped=skipped_cases(project, skips),
            undo=token,
        )
        return Response(asdict(answer))


class NextGiven(Given):
    passed_on = serializers.BooleanField(
        required=False, default=False, help_text="cases that you passed on, where nothing else waits"
    )


class Next(DeskView):
    @extend_schema(
        operation_id="desk_next",
        summary="The case in hand, or the next one",
        description="Asked again, it is the same case until that is answered or passed on.",
        request=NextGiven,
        responses=shape(NextAnswer),
        examples=[OpenApiExample("the next one", {}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        passed_on = self.given(NextGiven, request)["passed_on"]
        work = work_claim(project=self.project, actor=self.author, now=timezone.now(), passed_on=passed_on)
        case = self.case(work.lease) if work.lease else None
        return Response(asdict(NextAnswer(case, case is None and skipped_by(self.author).exists())))


class PracticeNext(DeskView):
    @extend_schema(
        operation_id="desk_practice",
        summary="The next case to practise on",
        request=None,
        responses=shape(NextAnswer),
    )
    def post(self, request: Request) -> Response:
        now, case = timezone.now(), None
        for queue in practice_queues(self.project):
            if lease := practice_claim(practice=queue, actor=self.author, now=now):
                case = self.case(lease)
                break
        return Response(asdict(NextAnswer(case, False)))


class AnswersField(serializers.DictField):
    """Position (`only`, or `left` and `right`) -> a label of the scale, or null for *cannot judge*."""

    child = serializers.CharField(allow_null=True, max_length=100)


class AnswerGiven(Given):
    """`spans` are passages quoted, each as `position.part.start.end`, with the parts that the case names."""

    answers = AnswersField(required=False, default=dict)
    reasons = serializers.ListField(child=texts(200), required=False, default=list)
    rationale = texts(LONGEST_RATIONALE, required=False, default="")
    spans = serializers.ListField(
        child=texts(60), required=False, default=list, max_length=MOST_QUOTES, help_text="such as left.0.17.42"
    )
    seconds = serializers.IntegerField(required=False, default=0, min_value=0, max_value=MOST_SECONDS)


ANSWER = OpenApiExample(
    "one output",
    {"answers": {"only": "pass"}, "reasons": [], "rationale": "It says what the source says.", "seconds": 41},
    request_only=True,
)
CANNOT_JUDGE = OpenApiExample("cannot judge", {"answers": {"left": None, "right": "fail"}}, request_only=True)


class Answering(DeskView):
    """What is entered for a case, whole or as far as it goes."""

    def content(self, request: Request, lease: Lease, *, complete: bool) -> dict[str, Any]:
        given, presentation = self.given(AnswerGiven, request), self.presented(lease)
        labels = lease.item.queue.rubric.labels
        values = _values(given.pop("answers"), POSITIONS[len(presentation.order)], labels)

        def codes() -> Any:
            return [reason.code for reason in reasons_of(self.project)]

        form = AnswerForm({**given, **values}, presentation=presentation, labels=labels, codes=codes, complete=complete)
        _require_valid(form)
        return form.content()


class Submit(Answering):
    @extend_schema(
        operation_id="desk_submit",
        summary="Answer the case",
        description="Sent again, it is stored once. 409 where the lease was lost: what was sent is kept as a draft.",
        parameters=[TOKEN],
        request=AnswerGiven,
        responses=shape(DoneAnswer),
        examples=[ANSWER, CANNOT_JUDGE],
    )
    @once
    def post(self, request: Request, token: UUID) -> Response:
        lease = self.lease(token)
        content = self.content(request, lease, complete=True)
        try:
            sent = review_submit(lease=lease, actor=self.author, now=timezone.now(), **content)
        except LeaseLost:
            draft_save(lease=lease, actor=self.author, now=timezone.now(), **content)
            return problems_answer([Problem(LOST, allowed="go on with the next case")], REFUSED)
        return Response(asdict(DoneAnswer(not sent.surplus, lease.slot.kind == SlotKind.PRACTICE)))


class DraftView(Answering):
    @extend_schema(
        operation_id="desk_draft",
        summary="Keep what is entered so far, and the case with it",
        parameters=[TOKEN],
        request=AnswerGiven,
        responses={204: None},
        examples=[ANSWER],
    )
    def put(self, request: Request, token: UUID) -> Response:
        lease = self.lease(token)
        content = self.content(request, lease, complete=False)
        if draft_save(lease=lease, actor=self.author, now=timezone.now(), **content):
            return Response(status=204)
        return problems_answer([Problem(LOST, allowed="go on with the next case")], REFUSED)


class SkipGiven(Given):
    reason = texts(LONGEST_SKIP_REASON)


class SkipView(DeskView):
    @extend_schema(
        operation_id="desk_skip",
        summary="Pass the case on: it goes to a colleague first",
        parameters=[TOKEN],
        request=SkipGiven,
        responses={204: None},
        examples=[OpenApiExample("why", {"reason": "I wrote this answer"}, request_only=True)],
    )
    @once
    def post(self, request: Request, token: UUID) -> Response:
        lease = self.lease(token)
        form = SkipForm(self.given(SkipGiven, request))
        _require_valid(form)
        item_skip(lease=lease, actor=self.author, reason=form.cleaned_data["reason"], now=timezone.now())
        return Response(status=204)


class Undo(DeskView):
    @extend_schema(
        operation_id="desk_undo",
        summary="Take back the answer sent last, within 15 minutes",
        description="The case comes next, with what was entered. The answer stays on record as withdrawn.",
        parameters=[TOKEN],
        request=None,
        responses={204: None},
    )
    @once
    def post(self, request: Request, token: UUID) -> Response:
        review_undo(lease=self.lease(token), actor=self.author, now=timezone.now())
        return Response(status=204)


class Differences(DeskView):
    @extend_schema(
        operation_id="desk_differences",
        summary="Where the two outputs differ",
        parameters=[TOKEN],
        responses=shape(DifferencesAnswer),
    )
    def get(self, request: Request, token: UUID) -> Response:
        lease = self.lease(token)
        sides = blind_comparison(lease, self.presented(lease))
        if not sides:
            raise Http404
        return Response(asdict(DifferencesAnswer(sides)))


class FeedbackView(DeskView):
    def feedback(self, lease: Lease) -> BlindFeedback:
        found = blind_feedback(lease, self.presented(lease))
        if found is None:
            raise Http404
        return found


class Feedback(FeedbackView):
    @extend_schema(
        operation_id="desk_feedback",
        summary="A practice case after its answer",
        parameters=[TOKEN],
        responses=shape(BlindFeedback),
    )
    def get(self, request: Request, token: UUID) -> Response:
        return Response(asdict(self.feedback(self.lease(token))))


class DisputeGiven(Given):
    code = texts(200)
    words = texts(LONGEST_RATIONALE)


class Dispute(FeedbackView):
    @extend_schema(
        operation_id="desk_dispute",
        summary="Say what is wrong with the label on record of a practice case",
        parameters=[TOKEN],
        request=DisputeGiven,
        responses={204: None},
        examples=[
            OpenApiExample("a dispute", {"code": "known label is wrong", "words": "The rule was changed in May."})
        ],
    )
    @once
    def post(self, request: Request, token: UUID) -> Response:
        lease = self.lease(token)
        form = DisputeForm(self.given(DisputeGiven, request))
        _require_valid(form)
        label_dispute(lease=lease, actor=self.author, now=timezone.now(), **form.cleaned_data)
        return Response(status=204)


class KeysGiven(Given):
    on = serializers.BooleanField()
    keys = serializers.DictField(child=texts(5), help_text=", ".join(ACTIONS))


class Keys(DeskView):
    @extend_schema(operation_id="desk_keys", summary="My keys at the desk", responses=shape(KeysAnswer))
    def get(self, request: Request) -> Response:
        choice = key_choice_of(self.author)
        return Response(asdict(KeysAnswer(not choice.off, asdict(page_keys_of(choice.keys)))))

    @extend_schema(
        operation_id="desk_keys_choose",
        summary="Choose my keys",
        request=KeysGiven,
        responses=shape(KeysAnswer),
    )
    def put(self, request: Request) -> Response:
        given = self.given(KeysGiven, request)
        keys = {action: given["keys"].get(action, "") for action in ACTIONS}
        choice = keys_choose(actor=self.author, keys=keys, off=not given["on"])
        return Response(asdict(KeysAnswer(not choice.off, asdict(page_keys_of(choice.keys)))))


def _values(answers: Mapping[str, str | None], positions: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """As the page's form sends them: a label by its place on the scale."""
    problems = [
        Problem("not an output of this case", key=f"answers.{place}", allowed=", ".join(positions))
        for place in answers
        if place not in positions
    ]
    problems += [
        Problem("not a label of the scale", key=f"answers.{place}", value=label, allowed=", ".join(labels))
        for place, label in answers.items()
        if label is not None and label not in labels
    ]
    if problems:
        raise InputError(problems)
    return {place: CANNOT if label is None else str(labels.index(label)) for place, label in answers.items()}


def _require_valid(form: Any) -> None:
    if not form.is_valid():
        raise InputError(
            Problem(str(sentence), key=name) for name, sentences in form.errors.items() for sentence in sentences
        )
