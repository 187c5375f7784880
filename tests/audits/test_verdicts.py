"""A cutover is held to the gate that its manifest states, and signed by people who answer for it."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client

from audits.exports.report import report_data, report_html
from audits.exports.wording import official_words
from audits.gate import NO_GATE, Evidence, cutover_written, gate_of
from audits.models import Audit, Inventory, SignOff
from audits.packets.archive import Archive
from audits.packets.checking import packet_check
from audits.packets.making import packet_write
from audits.services.diagnosing import case_diagnose
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_register
from audits.services.signing import audit_sign_off, inventory_state
from audits.verdicts import gate_now, inventory_dict, official_change
from core.errors import InputError, Refused
from core.identity import text_hash
from core.models import Author, Event, Role
from tests import factories
from tests.audits.test_packets import _json, _repacked, _text
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]

GATE = """
cutover:
  gate:
    - {rule: interval_excludes_below, value: "-0.5"}
    - {rule: no_blocking_regression}
    - {rule: unparsed_rate_at_most, value: "0.02"}
  release_owner: Rita
"""
CASES = [f"c{n:02d}" for n in range(40)]


@pytest.fixture
def audit(db: None) -> Audit:
    """Forty cases, of which c00 changed in a blocking slice and c01 elsewhere; nothing is settled yet."""
    verdicts = {case: ("Yes", "No" if case in ("c00", "c01") else "Yes") for case in CASES}
    slices = {case: {"risk": "high" if case in ("c00", "c02") else "low"} for case in CASES}
    comparison = factories.make_swap(factories.make_project(), verdicts, slices=slices, blocking=["risk=high"])
    audit = factories.make_audit(comparison)
    audit.manifest, audit.manifest_hash = GATE, text_hash(GATE)
    audit.save()
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    return audit


@pytest.fixture
def lead(audit: Audit) -> Author:
    return factories.make_person(audit.project, "lea", Role.LEAD)


def settle(audit: Audit, *, changed: str | None = "fail") -> None:
    """Everything, the two changed cases with this label, and one look."""
    for case in CASES:
        factories.settle(audit.queue, case, changed if case in ("c00", "c01") else "pass")
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)


def sign(audit: Audit, actor: Author, kind: str = "cutover", **changes: Any) -> SignOff:
    said: dict[str, Any] = {"seen": audit.sign_offs.count(), "words": "read and agreed", "override": ""}
    return audit_sign_off(audit=audit, kind=kind, actor=actor, now=NOW, **(said | changes))


def states(audit: Audit) -> list[str]:
    return [one.state.value for one in gate_now(audit)]


def test_no_rule_is_met_before_its_evidence_is_there(audit: Audit) -> None:
    assert [(one.words, one.state.value, one.evidence) for one in gate_now(audit)] == [
        ("interval_excludes_below -0.5", "not yet", "No look yet: nothing has been settled."),
        ("no_blocking_regression", "not yet", "1 decision changed in the blocking slices: 1 unsettled."),
        (
            "unparsed_rate_at_most 0.02",
            "met",
            "Unparsed: old side 0 %, 0 of 40 judgments; new side 0 %, 0 of 40 judgments; at most 2 % is allowed.",
        ),
    ]


def test_look_that_is_no_stop_meets_nothing(audit: Audit) -> None:
    settle(audit)
    result = audit.looks.get().result | {"final": False}
    evidence = Evidence(audit.plan | {"policy": "monitored"}, 40, result, True, {}, audit.comparison.summary.integrity)
    first = gate_of(cutover_written(GATE).gate, evidence)[0]
    assert first.state.value == "not yet"
    assert first.evidence.endswith("; this is no look to stop at.")
    without_end = {"policy": "anytime", "half_width": None, "detectable_difference": None}
    evidence = Evidence(audit.plan | without_end, 40, result, True, {}, audit.comparison.summary.integrity)
    assert gate_of(cutover_written(GATE).gate, evidence)[0].state.value == "met"


def test_rules_are_met_with_interval_n_level_policy_and_stop_in_their_evidence(audit: Audit) -> None:
    settle(audit)
    interval, blocking, unparsed = gate_now(audit)
    assert [interval.state.value, blocking.state.value, unparsed.state.value] == ["met", "met", "met"]
    assert interval.evidence == (
        "+5.0 points (+5.0 to +5.0), 95 % level, n = 2 labels for 40 cases, planned, "
        f"{audit.looks.get().result['method']}; this look may be stopped at, "
        "and all of it lies at −50.0 points or above."
    )
    assert blocking.evidence == "1 decision changed in the blocking slices: 1 improvement."


@pytest.mark.parametrize(
    ("label", "state", "evidence"),
    [
        ("pass", "not met", "1 decision changed in the blocking slices: 1 regression."),
        (
            None,
            "not met",
            "1 decision changed in the blocking slices: 1 undecided. What nobody could judge may be a regression.",
        ),
    ],
)
def test_blocking_regression_or_doubt_of_one_is_not_met(
    audit: Audit, label: str | None, state: str, evidence: str
) -> None:
    settle(audit, changed=label)
    blocking = gate_now(audit)[1]
    assert (blocking.state.value, blocking.evidence) == (state, evidence)


def test_unparsed_rate_above_the_rule_is_not_met_and_shows_both_sides(db: None) -> None:
    comparison = factories.make_swap(factories.make_project(), dict.fromkeys(CASES[:10], ("Yes", "Yes")))
    audit, integrity = factories.make_audit(comparison), comparison.summary.integrity
    integrity["new"]["states"]["unparsed"] = 1
    evidence = Evidence(audit.plan, 0, None, False, {}, integrity)
    _, blocking, unparsed = gate_of(cutover_written(GATE).gate, evidence)
    assert (blocking.state.value, blocking.evidence) == (
        "not met",
        "The manifest names no blocking slice, so that nothing can show it.",
    )
    assert (unparsed.state.value, unparsed.evidence) == (
        "not met",
        "Unparsed: old side 0 %, 0 of 10 judgments; new side 10 %, 1 of 10 judgments; at most 2 % is allowed.",
    )


def test_cutover_against_an_unmet_rule_is_refused_unless_overridden_and_stays_so_for_ever(
    audit: Audit, lead: Author
) -> None:
    with pytest.raises(Refused) as refused:
        sign(audit, lead)
    assert [problem.what.partition(":")[0] for problem in refused.value.problems] == ["not yet", "not yet"]
    assert not SignOff.objects.exists()
    given = sign(audit, lead, override="the old judge is switched off today")
    assert (given.overridden, [rule["state"] for rule in given.gate]) == (True, ["not yet", "not yet", "met"])
    settle(audit)
    assert states(audit) == ["met", "met", "met"]
    assert "against its gate" in official_words(official_change(audit))
    page = report_html(audit, NOW, chart="")
    assert "Cutover authorised, the gate overridden" in page
    assert "<code>no_blocking_regression</code> was not yet: " in page


def test_baseline_is_official_until_the_cutover_and_again_after_a_rollback(audit: Audit, lead: Author) -> None:
    settle(audit)
    said = [official_words(official_change(audit))]
    for kind in ("cutover", "rollback"):
        sign(audit, lead, kind)
        said.append(official_words(official_change(audit)))
    assert said == [
        "The baseline is official, the candidate in shadow.",
        "Cut over 2026-03-01 09:00 UTC by p-lea: the candidate is official from then on.",
        "Rolled back 2026-03-01 09:00 UTC by p-lea: the baseline is official again.",
    ]
    event = Event.objects.filter(name="audits.signed-off").earliest("pk")
    assert (event.actor, event.payload["kind"], event.payload["overridden"]) == (lead, "cutover", False)


def test_cutover_waits_for_the_approval_of_intended_transitions(audit: Audit, lead: Author) -> None:
    settle(audit, changed="pass")
    case = audit.comparison.case_set.cases.get(case_id="c01")
    said = {"code": "policy change", "kind": "intended", "words": "be strict"}
    case_diagnose(audit=audit, case=case, revision=0, actor=lead, now=NOW, **said)
    with pytest.raises(Refused, match="1 intended transition waits for the policy owner's approval"):
        sign(audit, lead, override="we know")
    sign(audit, lead, "meaning changes")
    assert sign(audit, lead, override="we know").n == 2


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        ("cutover", {"words": " "}, "words: missing; allowed: what is signed, and on which grounds"),
        ("both", {}, "kind: not a sign-off"),
        ("rollback", {}, "the baseline is official: there is nothing to roll back"),
        ("cutover", {"override": "just in case"}, "override: nothing is overridden here"),
        ("meaning changes", {"override": "just in case"}, "override: nothing is overridden here"),
        ("cutover", {"seen": 1}, "somebody else has signed meanwhile"),
    ],
)
def test_what_cannot_be_signed_is_refused_in_words(
    audit: Audit, lead: Author, kind: str, changes: dict[str, Any], words: str
) -> None:
    settle(audit)
    with pytest.raises(InputError, match=words):
        sign(audit, lead, kind, **changes)
    assert not SignOff.objects.exists()


def test_reviewer_signs_nothing_and_no_signature_is_altered(audit: Audit, lead: Author) -> None:
    with pytest.raises(Refused, match="may not do this"):
        sign(audit, factories.make_person(audit.project, "ann"), "meaning changes")
    given = sign(audit, lead, "meaning changes")
    for statement in ("UPDATE audits_signoff SET words = 'other'", "DELETE FROM audits_signoff"):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    row = {"audit": audit, "kind": "cutover", "words": "so", "gate": [], "actor": lead, "at": NOW}
    for n, changes, constraint in (
        (given.n, {}, "sign_offs_are_numbered|audits_signoff.audit_id, audits_signoff.n"),
        (2, {"words": ""}, "a_sign_off_says_what_is_signed"),
        (2, {"kind": "other"}, "sign_off_kind_is_known"),
        (2, {"overridden": True}, "a_gate_is_overridden_for_a_reason"),
        (2, {"override": "so"}, "a_gate_is_overridden_for_a_reason"),
    ):
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            SignOff.objects.create(**(row | {"n": n} | changes))


def test_command_shows_rules_and_signatures_and_exits_1_while_one_is_unmet(audit: Audit, lead: Author) -> None:
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("verdict", audit.name, stdout=out)
    assert ended.value.code == 1
    assert out.getvalue().splitlines()[1:] == [
        "no_blocking_regression: not yet. 1 decision changed in the blocking slices: 1 unsettled.",
        "unparsed_rate_at_most 0.02: met. Unparsed: old side 0 %, 0 of 40 judgments; new side 0 %, 0 of 40 judgments; "
        "at most 2 % is allowed.",
        "The baseline is official, the candidate in shadow.",
    ]
    settle(audit)
    sign(audit, lead)
    out = StringIO()
    call_command("verdict", audit.name, "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert [rule["state"] for rule in answer["gate"]] == ["met", "met", "met"]
    assert [(one["kind"], one["by"], one["overridden"]) for one in answer["sign_offs"]] == [("cutover", "p-lea", False)]


def test_manifest_without_a_gate_is_said_to_have_none(audit: Audit) -> None:
    Audit.objects.filter(pk=audit.pk).update(manifest="kind: judge_swap")
    out = StringIO()
    with pytest.raises(SystemExit) as ended:  # where nobody said when it may take over, no script takes it for a yes
        call_command("verdict", audit.name, stdout=out)
    assert (ended.value.code, out.getvalue().splitlines()[0]) == (1, NO_GATE)


def test_packet_computes_the_gate_again_and_finds_a_forged_one(audit: Audit, lead: Author, tmp_path: Path) -> None:
    sign(audit, lead, override="in a hurry")
    settle(audit)
    path = tmp_path / "packet.zip"
    packet_write(audit=audit, path=path, actor=factories.operator(audit), now=NOW)
    assert [check.named for check in packet_check(path) if not check.passed] == []
    forged = {
        "a rule": _json("packet.json", lambda facts: facts["gate"][1].update(state="not met")),
        "an override": _json("packet.json", lambda facts: facts["sign_offs"][0].update(overridden=False)),
        "the report's rule": _json("report.json", lambda report: report["gate"].pop()),
        "a blocking case": _text("settlements.csv", "fail,fail\n", "pass,pass\n"),
    }
    found = {
        what: "gate" in {check.name for check in packet_check(_repacked(path, change)) if not check.passed}
        for what, change in forged.items()
    }
    assert found == dict.fromkeys(forged, True)
    assert report_data(audit, NOW)["official"].startswith("Cut over 2026-03-01 09:00 UTC by p-lea, against its gate")


def state_inventory(audit: Audit, actor: Author, **changes: Any) -> Inventory:
    said: dict[str, Any] = {"seen": audit.inventories.count(), "consumers": "", "thresholds": "", "rollback": ""}
    return inventory_state(audit=audit, actor=actor, now=NOW, **(said | changes))


def test_inventory_is_stated_anew_and_the_last_one_stands_in_report_and_packet(
    audit: Audit, lead: Author, tmp_path: Path
) -> None:
    audit.manifest = GATE + '  rollback_to: baseline\n  downstream: ["the dashboard", "release gate"]\n'
    audit.manifest_hash = text_hash(audit.manifest)
    audit.save()
    assert inventory_dict(audit) == {
        "n": 0,
        "consumers": "the dashboard\nrelease gate",
        "thresholds": "",
        "rollback_to": "baseline",
        "rollback": "",
        "by": "",
        "at": "",
    }
    assert [check.named for check in packet_check(_packed(audit, tmp_path)) if not check.passed] == []
    state_inventory(audit, lead, consumers="the dashboard")
    state_inventory(audit, lead, consumers="=the dashboard", thresholds="4 of 5 is now pass", rollback="old prompt")
    said = {"n": 2, "consumers": "=the dashboard", "thresholds": "4 of 5 is now pass", "rollback": "old prompt"}
    now = said | {"rollback_to": "baseline", "by": "p-lea", "at": NOW.isoformat()}
    assert report_data(audit, NOW)["inventory"] == now
    page = " ".join(report_html(audit, NOW, chart="").split())
    assert '<dt>Threshold changes</dt><dd class="words" dir="auto">4 of 5 is now pass</dd>' in page
    path = _packed(audit, tmp_path)
    assert Archive(path).text("packet.json").count("4 of 5 is now pass") == 1
    assert [check.named for check in packet_check(path) if not check.passed] == []
    forged = _repacked(path, _json("packet.json", lambda facts: facts["inventory"].update(rollback_to="candidate")))
    assert "gate" in {check.name for check in packet_check(forged) if not check.passed}
    assert audit.inventories.count() == 2


def _packed(audit: Audit, folder: Path) -> Path:
    path = folder / "packet.zip"
    packet_write(audit=audit, path=path, actor=factories.operator(audit), now=NOW)
    return path


def test_inventory_that_says_nothing_or_was_stated_meanwhile_is_refused(audit: Audit, lead: Author) -> None:
    with pytest.raises(InputError, match="consumers of the verdicts, changes of thresholds, or the way back"):
        state_inventory(audit, lead, consumers=" ")
    state_inventory(audit, lead, consumers="the dashboard")
    with pytest.raises(Refused, match="somebody else has stated it anew meanwhile"):
        state_inventory(audit, lead, seen=0, consumers="another")
    reviewer = factories.make_person(audit.project, "ann")
    with pytest.raises(Refused):
        state_inventory(audit, reviewer, consumers="mine")
    assert Event.objects.filter(name="audits.inventory-stated").count() == Inventory.objects.count() == 1


def test_page_takes_what_the_cutover_touches_outside(audit: Audit, client: Client) -> None:
    assert "From the manifest; no lead has stated more." in text(client, "audits/swap-1/verdict")
    url, said = "/p/p/audits/swap-1/inventory", {"seen": 0, "consumers": "alerts\n<b>reports</b>", "thresholds": ""}
    assert client.post(url, {"consumers": "x"}).status_code == 422
    assert client.post(url, said)["Location"] == "/p/p/audits/swap-1/verdict"
    page = text(client, "audits/swap-1/verdict")
    assert "alerts<br>&lt;b&gt;reports&lt;/b&gt;</dd>" in page
    assert "Stated by <bdi>p-lea</bdi>, 2026-" in page
    answer = client.post(url, said | {"thresholds": "kept in the form"})
    assert (answer.status_code, ">kept in the form</textarea>" in answer.content.decode()) == (409, True)


@pytest.fixture
def client(lead: Author) -> Client:
    found = Client()
    found.force_login(lead.user)
    return found


def text(client: Client, path: str) -> str:
    answer = client.get(f"/p/p/{path}")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_page_shows_gate_evidence_and_what_is_known_and_takes_a_signature(audit: Audit, client: Client) -> None:
    page = text(client, "audits/swap-1/verdict")
    assert '<code>no_blocking_regression</code></th><td class="time"><strong>not yet</strong></td>' in page
    assert "2 rules of the gate are not met." in page
    assert "The baseline is official, the candidate in shadow." in page
    assert "No further run was given: neither a rerun floor nor order sensitivity is known." in page
    assert "(the manifest names <bdi>Rita</bdi> for the release)" in page
    url, said = "/p/p/audits/swap-1/verdict", {"seen": 0, "kind": "cutover", "words": "all read"}
    answer = client.post(url, said)
    assert answer.status_code == 409
    assert "That was not signed:" in answer.content.decode()
    assert ">all read</textarea>" in answer.content.decode()
    assert client.post(url, {"kind": "cutover"}).status_code == 422
    settle(audit)
    page = text(client, "audits/swap-1/verdict")
    assert "Why the gate is overridden" not in page
    assert "independence ratio" in page
    assert "Changed decisions in blocking slices, by what people said of them: 1 improvement." in page
    assert client.post(url, said).status_code == 302
    page = text(client, "audits/swap-1/verdict")
    assert "1. Cutover authorised</h3>" in page
    assert "Release owner: I authorise the rollback to the baseline" in page


def test_list_and_every_page_say_which_side_is_official_and_mark_the_boundary(
    audit: Audit, lead: Author, client: Client
) -> None:
    assert "The baseline is official, the candidate in shadow." in text(client, "audits")
    settle(audit)
    sign(audit, lead)
    said = "the candidate is official from then on."
    for path in ("", "transitions", "plan", "monitor", "results", "verdict", "diagnose"):
        assert said in text(client, f"audits/swap-1/{path}"), path
    assert (
        f"{said} Boundary: official verdicts before and after it are by different pipelines, and are two series, "
        "never one line." in text(client, "audits")
    )
