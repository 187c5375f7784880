"""What people decide: diagnoses, sign-offs, the opening of a holdout."""

from dataclasses import asdict

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from adjudication.models import ReasonOwner
from audits.api.base import CURSOR, NAME, AuditView
from audits.api.shapes import CaseAnswer, HoldoutAnswer, VerdictAnswer
from audits.diagnoses import UNDIAGNOSED, cases_known, diagnosis_page
from audits.models import DiagnosisKind, SignOffKind
from audits.services.diagnosing import LONGEST_WORDS, case_diagnose
from audits.services.signing import LONGEST_INVENTORY, audit_sign_off, inventory_state
from core.api.once import once
from core.api.pages import Pages, cursor_number, page_answer
from core.api.shapes import Given, shape, texts
from core.models import Scope
from judges.holdouts import holdout_of
from judges.models import Case
from judges.services.holdouts import LONGEST_REASON, holdout_open

CREATED = 201


class DiagnosisGiven(Given):
    case_id = texts(500)
    case_version = serializers.IntegerField(min_value=1, max_value=2**31 - 1, default=1)
    revision = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="that of the diagnosis you saw; 0 for none"
    )
    code = texts(200)
    kind = texts(20, help_text=f"{' or '.join(DiagnosisKind.values)}")
    words = texts(LONGEST_WORDS)


DIAGNOSIS = {
    "case_id": "c-17",
    "case_version": 1,
    "revision": 0,
    "code": "judge or parser error",
    "kind": "repair",
    "words": "the parser takes the first digit",
}


class Diagnoses(AuditView):
    writes = (Scope.DECIDE,)
    queries = ("code", "owner", "cursor")

    @extend_schema(
        operation_id="diagnoses",
        summary="Cases that ask for a diagnosis, with what was said",
        description="409 while a holdout is sealed.",
        parameters=[
            NAME,
            OpenApiParameter("code", str, "query", description=f"a code, or {UNDIAGNOSED}"),
            OpenApiParameter("owner", str, "query", description=", ".join(ReasonOwner.values)),
            CURSOR,
        ],
        responses=inline_serializer("CasesPage", Pages().page_of(shape(CaseAnswer))),
    )
    def get(self, request: Request, name: str) -> Response:
        audit, asked = self.audit(name), request.query_params
        page = diagnosis_page(
            audit, code=asked.get("code", ""), owner=asked.get("owner", ""), after=cursor_number(request)
        )
        return page_answer(request, [row.as_dict() for row in page.rows], page.after)

    @extend_schema(
        operation_id="diagnose",
        summary="Say why people and judge differ on a case, and who mends it",
        parameters=[NAME],
        request=DiagnosisGiven,
        responses={CREATED: shape(CaseAnswer)},
        examples=[OpenApiExample("a repair", DIAGNOSIS, request_only=True)],
    )
    @once
    def post(self, request: Request, name: str) -> Response:
        audit = self.audit(name)
        given = self.given(DiagnosisGiven, request)
        wanted = {"case_id": given.pop("case_id"), "version": given.pop("case_version")}
        case: Case = self.one(Case.objects.filter(case_set=audit.comparison.case_set), **wanted)
        case_diagnose(audit=audit, case=case, **given, actor=self.author, now=timezone.now())
        (known,) = cases_known(audit, [case.pk])
        return Response(known.as_dict(), status=CREATED)


class Verdict(AuditView):
    @extend_schema(
        operation_id="verdict",
        summary="The cutover gate now, with its evidence, and what was signed",
        parameters=[NAME],
        responses=shape(VerdictAnswer),
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(asdict(VerdictAnswer.of(self.audit(name))))


class SignOffGiven(Given):
    seen = serializers.IntegerField(min_value=0, max_value=2**31 - 1, help_text="how many sign-offs you saw")
    kind = texts(20, help_text=", ".join(SignOffKind.values))
    words = texts(LONGEST_WORDS)
    override = texts(LONGEST_WORDS, required=False, default="", help_text="why an unmet gate is overridden")


class SignOffs(AuditView):
    writes = (Scope.DECIDE,)

    @extend_schema(
        operation_id="sign_off",
        summary="Sign, with one's name and words",
        description="A cutover needs every rule of the gate met, or words that say why it is overridden.",
        parameters=[NAME],
        request=SignOffGiven,
        responses={CREATED: shape(VerdictAnswer)},
        examples=[
            OpenApiExample(
                "approve what verdicts mean",
                {"seen": 0, "kind": "meaning changes", "words": "Refusals count as fail from now on."},
                request_only=True,
            )
        ],
    )
    @once
    def post(self, request: Request, name: str) -> Response:
        audit = self.audit(name)
        given = self.given(SignOffGiven, request)
        audit_sign_off(audit=audit, **given, actor=self.author, now=timezone.now())
        return Response(asdict(VerdictAnswer.of(audit)), status=CREATED)


class InventoryGiven(Given):
    seen = serializers.IntegerField(min_value=0, max_value=2**31 - 1, help_text="`n` of the inventory that you saw")
    consumers = texts(LONGEST_INVENTORY, required=False, default="", help_text="who reads the verdicts, one a line")
    thresholds = texts(LONGEST_INVENTORY, required=False, default="", help_text="what counts as enough from now on")
    rollback = texts(LONGEST_INVENTORY, required=False, default="", help_text="how the old verdicts come back")


class InventoryView(AuditView):
    writes = (Scope.DECIDE,)

    @extend_schema(
        operation_id="inventory",
        summary="State what the cutover touches outside",
        description="All of it anew: what is left out is blank from then on.",
        parameters=[NAME],
        request=InventoryGiven,
        responses={CREATED: shape(VerdictAnswer)},
        examples=[
            OpenApiExample(
                "one dashboard",
                {"seen": 0, "consumers": "the quality dashboard", "rollback": "prompt 7 and its parser are kept"},
                request_only=True,
            )
        ],
    )
    @once
    def post(self, request: Request, name: str) -> Response:
        audit = self.audit(name)
        given = self.given(InventoryGiven, request)
        inventory_state(audit=audit, **given, actor=self.author, now=timezone.now())
        return Response(asdict(VerdictAnswer.of(audit)), status=CREATED)


class OpeningGiven(Given):
    reason = texts(LONGEST_REASON)


class Holdout(AuditView):
    writes = (Scope.DECIDE,)

    @extend_schema(
        operation_id="holdout",
        summary="What the holdout is, and whether it is sealed",
        parameters=[NAME],
        responses={200: inline_serializer("Holdout", {"holdout": shape(HoldoutAnswer)(allow_null=True)})},
    )
    def get(self, request: Request, name: str) -> Response:
        holdout = holdout_of(self.audit(name).comparison)
        return Response({"holdout": holdout and holdout.as_dict()})

    @extend_schema(
        operation_id="holdout_open",
        summary="Open the holdout, once, for a reason: this retires it",
        parameters=[NAME],
        request=OpeningGiven,
        responses={CREATED: inline_serializer("OpenedHoldout", {"holdout": shape(HoldoutAnswer)(allow_null=True)})},
        examples=[OpenApiExample("a reason", {"reason": "the last cutover failed in production"}, request_only=True)],
    )
    @once
    def post(self, request: Request, name: str) -> Response:
        audit = self.audit(name)
        reason = self.given(OpeningGiven, request)["reason"]
        holdout_open(case_set=audit.comparison.case_set, reason=reason, actor=self.author, now=timezone.now())
        holdout = holdout_of(audit.comparison)
        return Response({"holdout": holdout and holdout.as_dict()}, status=CREATED)
