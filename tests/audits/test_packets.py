"""A handoff packet stands by itself: what it states is what its own tables give, and a changed one is found out."""

import csv
import hashlib
import html
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import DjangoDbBlocker

from adjudication.services.undo import review_undo
from audits.diagnoses import diagnosis_page
from audits.exports.wording import conclusion
from audits.models import Audit
from audits.packets import making
from audits.packets.archive import Archive
from audits.packets.checking import CHECKS, packet_check
from audits.packets.contents import FILES, SUMS, SettlementLine
from audits.packets.making import packet_write
from audits.services.diagnosing import case_diagnose
from audits.services.looks import looks_bring_up_to_date
from audits.services.registering import audit_extend, audit_register
from core.errors import InputError
from core.models import Project, Role
from judges.models import Case
from tests import factories
from tests.factories import NOW, answer, claim, submit

pytestmark = [pytest.mark.database, pytest.mark.django_db]

ODD = '=1+1, "q"\n🙂'


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _looked(audit: Audit) -> None:
    looks_bring_up_to_date(audit=audit, clock=lambda: NOW)


@pytest.fixture
def swap(project: Project) -> Audit:
    """Looked at while labels came; extended; one answer taken back and given again; one nobody could judge."""
    pairs = [("Yes", "Yes"), ("No", "No"), ("Yes", "No"), ("No", "Yes"), ("maybe", "Yes")]
    verdicts = {f"{ODD if n == 7 else 'q'}{n:03d}": pairs[n % 5] for n in range(200)}
    slices = {case: {"length": "short" if n % 3 else "long"} for n, case in enumerate(verdicts)}
    plan = {"allocation": {"disagree": 30, "agree": 30}, "half_width": 0.2}
    rules = {"fail_on_unmapped_label": False}
    comparison = factories.make_swap(project, verdicts, slices=slices, rules=rules, blocking=["length=long"])
    audit = factories.make_audit(comparison, plan=plan)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    ann, ben = (factories.make_person(project, name) for name in ("ann", "ben"))
    lease = claim(audit.queue, ann)
    submit(lease, "fail", rationale=ODD)
    submit(review_undo(lease=lease, actor=ann, now=NOW), "pass")
    for person in (ann, ben):
        submit(claim(audit.queue, person), None)
    for n in range(25):
        answer(audit.queue, ann, "pass" if n % 4 else "fail")
    _looked(audit)
    audit_extend(audit=audit, labels={"disagree": 34}, actor=factories.operator(audit), now=NOW)
    for n in range(audit.draws.exclude(item__state="settled").count() - 1):
        answer(audit.queue, ann, "pass" if n % 3 else "fail")
        if n % 20 == 0:
            _looked(audit)
    _looked(audit)
    _diagnosed(audit)
    return audit


def _diagnosed(audit: Audit) -> None:
    """The first cases that ask for it, and the first of them a second time."""
    lead = factories.make_person(audit.project, "lea", Role.LEAD)
    for row in (rows := diagnosis_page(audit, number=3).rows):
        again = row is rows[0]
        for revision in (0, 1) if again else (0,):
            case_diagnose(
                audit=audit,
                case=Case.objects.get(pk=row.pair.case_pk),
                revision=revision,
                code="judge error",
                kind="repair",
                words=ODD,
                actor=lead,
                now=NOW,
            )


@pytest.fixture
def upgrade(project: Project) -> Audit:
    verdicts = {f"q{n:03d}": (("Yes", "No"), ("No", "Yes"), ("Yes", "Yes"))[n % 3] for n in range(90)}
    audit = factories.make_audit(factories.make_upgrade(project, verdicts), plan={"policy": "planned"})
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    person = factories.make_person(project, "ann")
    for n in range(audit.draws.count()):
        answer(audit.queue, person, "pass" if n % 3 else "fail")
    _looked(audit)
    return audit


def _packet(audit: Audit, folder: Path) -> Path:
    path = folder / "packet.zip"
    packet_write(audit=audit, path=path, actor=factories.operator(audit), now=NOW)
    return path


def _contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _repacked(path: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """Changed by somebody who knows how to make the checksums right again."""
    contents = _contents(path)
    change(contents)
    sums = (f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in FILES if name in contents)
    contents[SUMS] = "".join(sums).encode()
    other = path.with_name("changed.zip")
    with zipfile.ZipFile(other, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return other


def _failed(path: Path) -> list[str]:
    return [check.name for check in packet_check(path) if not check.passed]


def test_packet_of_a_swap_is_computed_again_without_a_database(
    swap: Audit, tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    path, looks = _packet(swap, tmp_path), swap.looks.count()
    with django_db_blocker.block():
        checks = {check.name: check for check in packet_check(path)}
    assert [check.named for check in checks.values()] == [[]] * len(CHECKS)
    assert looks > 3
    assert checks["looks.jsonl"].compared > 100 * looks


def test_packet_of_an_upgrade_is_computed_again(upgrade: Audit, tmp_path: Path) -> None:
    assert [check.named for check in packet_check(_packet(upgrade, tmp_path))] == [[]] * len(CHECKS)
    assert upgrade.looks.get().secondary


def test_packet_before_any_label_is_computed_again(project: Project, tmp_path: Path) -> None:
    audit = factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No"), "b": ("Yes", "Yes")}))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    assert _failed(_packet(audit, tmp_path)) == []


def test_the_same_audit_gives_the_same_bytes(upgrade: Audit, tmp_path: Path) -> None:
    first = _packet(upgrade, tmp_path).read_bytes()
    assert _packet(upgrade, tmp_path).read_bytes() == first


def test_packet_of_a_draft_is_refused(project: Project, tmp_path: Path) -> None:
    audit = factories.make_audit(factories.make_swap(project, {"a": ("Yes", "No")}))
    with pytest.raises(InputError, match="is still a draft"):
        _packet(audit, tmp_path)


def _json(name: str, change: Callable[[Any], None]) -> Callable[[dict[str, bytes]], None]:
    def changed(contents: dict[str, bytes]) -> None:
        value = json.loads(contents[name])
        change(value)
        contents[name] = json.dumps(value).encode()

    return changed


def _line(name: str, place: int, change: Callable[[Any], None]) -> Callable[[dict[str, bytes]], None]:
    def changed(contents: dict[str, bytes]) -> None:
        lines = [json.loads(line) for line in contents[name].decode().splitlines()]
        change(lines[place])
        contents[name] = "".join(json.dumps(line) + "\n" for line in lines).encode()

    return changed


def _text(name: str, old: str, new: str, *, last: bool = False) -> Callable[[dict[str, bytes]], None]:
    def changed(contents: dict[str, bytes]) -> None:
        before, found, after = (contents[name].rpartition if last else contents[name].partition)(old.encode())
        assert found
        contents[name] = before + new.encode() + after

    return changed


def _higher(look: dict[str, Any]) -> None:
    look["result"]["interval"]["high"] += 1e-6


def _other_conclusion(contents: dict[str, bytes]) -> None:
    result = json.loads(contents["looks.jsonl"].splitlines()[-1])["result"]
    _text("report.html", html.escape(conclusion(result, half_width=0.2)), "All is well.")(contents)


def _undiagnosable(contents: dict[str, bytes]) -> None:
    """Another case takes the place of the one that was diagnosed last."""
    agreed = csv.DictReader(io.StringIO(contents["pairs.csv"].decode(), newline=""))
    settled = {row["case_id"] for row in csv.DictReader(io.StringIO(contents["settlements.csv"].decode(), newline=""))}
    other = next(row["case_id"] for row in agreed if row["pair_state"] == "agree" and row["case_id"] not in settled)
    head, _, line = contents["diagnoses.csv"].decode().removesuffix("\n").rpartition("\nq")
    contents["diagnoses.csv"] = f"{head}\n{other},{line.partition(',')[2]}\n".encode()


FORGERIES = {
    "a limit of a look": (_line("looks.jsonl", -1, _higher), {"looks.jsonl", "report"}),
    "a count of the integrity report": (
        _json("integrity.json", lambda report: report["pairs"].update(agree=1)),
        {"integrity", "report"},
    ),
    "a transition": (
        _json("transitions.json", lambda report: report["all"].update(changed=0)),
        {"transitions", "report"},
    ),
    "a blocking change left out": (
        _json("transitions.json", lambda report: report["blocking_changes"].pop()),
        {"transitions", "report"},
    ),
    "the seed": (_json("packet.json", lambda facts: facts["plan"].update(seed="other")), {"frame and order"}),
    "the prompt of a judge": (
        _json("packet.json", lambda facts: facts["sides"]["new"]["generator"].update(prompt_template="kinder")),
        {"identities"},
    ),
    "the guideline": (lambda contents: contents.update({"guideline.md": b"Be kind."}), {"identities"}),
    "the manifest": (lambda contents: contents.update({"manifest.yaml": b"{}"}), {"identities"}),
    "a decision": (
        _text("settlements.csv", "fail,fail\n", "pass,pass\n", last=True),
        {"looks.jsonl", "anchors", "people"},
    ),
    "how the report says that cases were settled": (
        _json("report.json", lambda report: report["settled_how"].update(single=1)),
        {"people"},
    ),
    "the report's known cells": (
        _json("report.json", lambda report: report["known_cells"].update(known=1)),
        {"people"},
    ),
    "the state of a pair": (_text("pairs.csv", ",unmappable,", ",old invalid,"), {"pairs", "integrity"}),
    "an anchor's label": (
        _line("anchors.jsonl", 0, lambda row: row.update(label="other")),
        {"anchors"},
    ),
    "a diagnosis of a case on which nobody differs": (_undiagnosable, {"diagnoses"}),
    "a diagnosis left out": (_text("diagnoses.csv", ",2,judge error", ",3,judge error"), {"diagnoses"}),
    "the report's undiagnosed cases": (
        _json("report.json", lambda report: report["diagnoses"].update(undiagnosed=0)),
        {"diagnoses"},
    ),
    "the report's point": (_json("report.json", lambda report: report["result"].update(point=0.5)), {"report"}),
    "the report's conclusion": (_other_conclusion, {"report"}),
}


def test_forged_number_is_found_where_it_stands(swap: Audit, tmp_path: Path) -> None:
    path = _packet(swap, tmp_path)
    found = {what: set(_failed(_repacked(path, change))) for what, (change, _) in FORGERIES.items()}
    assert found == {what: found_by for what, (_, found_by) in FORGERIES.items()}


def test_forged_answer_changes_the_agreement_that_the_report_states(project: Project, tmp_path: Path) -> None:
    comparison = factories.make_swap(project, {f"q{n}": ("Yes", "No") for n in range(6)})
    audit = factories.make_audit(comparison, review={"double_review_share": 1.0})
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    ann, ben = (factories.make_person(project, name) for name in ("ann", "ben"))
    for _ in range(6):
        lease = claim(audit.queue, ann)
        submit(lease, "fail" if lease.item.case.case_id == "q5" else "pass")
        submit(claim(audit.queue, ben), "pass")
    path = _packet(audit, tmp_path)
    assert _failed(path) == []
    change = _text("reviews.csv", ",label,fail,", ",label,pass,")
    assert set(_failed(_repacked(path, change))) == {"people"}


def test_changed_byte_fails_the_checksums(upgrade: Audit, tmp_path: Path) -> None:
    path = _packet(upgrade, tmp_path)
    contents = _contents(path) | {"guideline.md": b"Be kind."}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    assert _failed(path) == ["checksums", "identities"]


def test_table_of_another_shape_is_a_failed_check_and_no_error(upgrade: Audit, tmp_path: Path) -> None:
    broken = _repacked(_packet(upgrade, tmp_path), _text("frame.csv", "position", "place"))
    named = {check.name: check.named for check in packet_check(broken) if not check.passed}
    assert named == {
        name: ["cannot be computed: KeyError 'position'"]
        for name in ("frame and order", "looks.jsonl", "anchors", "people")
    }


def test_file_that_is_no_packet_is_refused_in_words(upgrade: Audit, tmp_path: Path) -> None:
    path = _packet(upgrade, tmp_path)
    short, strange = (tmp_path / name for name in ("short.zip", "strange.zip"))
    short.write_bytes(path.read_bytes()[:-40])
    with zipfile.ZipFile(strange, "w") as archive:
        for name, data in (_contents(path) | {"virus.exe": b""}).items():
            if name != "looks.jsonl":
                archive.writestr(name, data)
    with pytest.raises(InputError, match=r"short\.zip: not a packet"):
        list(packet_check(short))
    with pytest.raises(InputError) as refused:
        list(packet_check(strange))
    assert [(problem.what, problem.value) for problem in refused.value.problems] == [
        ("a file is missing", "looks.jsonl"),
        ("a file that belongs to no packet", "virus.exe"),
    ]


def test_archive_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audits.packets.archive.LARGEST", 1000)
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("packet.json", "0" * 1001)
    with pytest.raises(InputError, match="too large unpacked"):
        Archive(bomb)


def test_command_says_what_differs_and_exits_with_1(upgrade: Audit, tmp_path: Path) -> None:
    path, said = tmp_path / "packet.zip", io.StringIO()
    call_command("export_packet", upgrade.name, str(path), stdout=said)
    call_command("verify_packet", str(path), stdout=said)
    assert said.getvalue().endswith("every number is as computed again\n")
    forged = _repacked(path, _line("looks.jsonl", 0, _higher))
    said = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("verify_packet", str(forged), stdout=said)
    assert ended.value.code == 1
    assert "    looks[0].result.interval.high: stated " in said.getvalue()
    with pytest.raises(CommandError, match="there is no such file"):
        call_command("verify_packet", str(tmp_path / "none.zip"))


@pytest.mark.django_db(transaction=True)
def test_packet_is_of_one_moment_while_people_go_on_answering(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = factories.make_audit(factories.make_swap(project, {f"q{n}": ("Yes", "No") for n in range(20)}))
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    ann = factories.make_person(project, "ann")
    for _ in range(10):
        answer(audit.queue, ann)
    _looked(audit)

    def answer_meanwhile() -> None:
        answer(audit.queue, ann, "fail")
        _looked(audit)
        connection.close()

    def settlements(audit: Audit) -> Iterator[SettlementLine]:
        yield from written(audit)
        with ThreadPoolExecutor() as pool:
            pool.submit(answer_meanwhile).result(timeout=30)

    written = making._settlements
    monkeypatch.setattr(making, "_settlements", settlements)
    path = _packet(audit, tmp_path)
    assert (audit.looks.count(), len(_contents(path)["settlements.csv"].splitlines())) == (2, 11)
    assert [(check.name, check.named) for check in packet_check(path) if not check.passed] == []
