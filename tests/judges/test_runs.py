"""Judgments and their readings: what was recorded marks provenance, and only a valid reading has a verdict."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from core.errors import InputError, Refused
from core.identity import sequence_hash, text_hash
from core.models import Project
from judges.models import Blob, Judgment, ProvenanceMark, Reading, ReadingState
from judges.services import runs
from judges.services.runs import readings_make
from tests import factories
from tests.factories import artifact_row, judgment_row

pytestmark = [pytest.mark.database, pytest.mark.django_db]

OUTPUT, EVIDENCE = "the answer", ("first source", "second source")
SEEN = {"seen_output_hash": text_hash(OUTPUT)}
SEEN_BOTH = SEEN | {"seen_evidence_hash": sequence_hash(map(text_hash, EVIDENCE))}
OTHER_EVIDENCE = {"seen_evidence_hash": sequence_hash(map(text_hash, EVIDENCE[::-1]))}


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _judgment(project: Project, evidence: tuple[str, ...], **row: Any) -> Judgment:
    case_set = factories.load_cases(project, ["a"])
    system = factories.load_artifacts(case_set, rows=[artifact_row("a", 1, OUTPUT, evidence)])
    return factories.load_run(system, [judgment_row("a", "Yes", **row)]).judgments.get()


@pytest.mark.parametrize(
    ("evidence", "row", "mark"),
    [
        ((), {}, "legacy"),
        ((), {"seen_output": OUTPUT}, "verified"),
        ((), {"provenance": SEEN}, "verified"),
        ((), {"seen_output": "another answer"}, "contradicted"),
        ((), {"seen_output": ""}, "contradicted"),
        ((), {"provenance": {"cache": "cached"}}, "unverified"),
        ((), {"provenance": {"cache": "fresh"}}, "legacy"),
        ((), {"provenance": SEEN | {"cache": "cached"}}, "verified"),
        (EVIDENCE, {"seen_output": OUTPUT}, "legacy"),
        (EVIDENCE, {"seen_output": OUTPUT, "seen_evidence": EVIDENCE}, "verified"),
        (EVIDENCE, {"provenance": SEEN_BOTH}, "verified"),
        (EVIDENCE, {"seen_output": OUTPUT, "seen_evidence": EVIDENCE[::-1]}, "contradicted"),
        (EVIDENCE, {"provenance": SEEN | OTHER_EVIDENCE}, "contradicted"),
        (EVIDENCE, {"provenance": SEEN | {"cache": "cached"}}, "unverified"),
        ((), {"seen_output": OUTPUT, "provenance": {"seen_output_hash": "0" * 64}}, "contradicted"),
    ],
)
def test_provenance_is_what_the_record_proves(
    project: Project, evidence: tuple[str, ...], row: dict[str, Any], mark: str
) -> None:
    assert _judgment(project, evidence, **row).provenance == mark


def test_recorded_provenance_is_kept_as_written(project: Project) -> None:
    recorded = {"cache": "fresh", "pipeline": "nightly-7", "created_at": "2026-01-02 03:04"}
    judgment = _judgment(project, (), provenance=recorded)
    assert (judgment.cache, judgment.pipeline, judgment.made_at) == ("fresh", "nightly-7", "2026-01-02 03:04")


@pytest.mark.parametrize(("text", "number"), [("0.85", 0.85), ("-1e-3", -0.001), ("3", 3.0), ("-0", 0.0), ("", None)])
def test_score_is_kept_as_a_number(project: Project, text: str, number: float | None) -> None:
    score = _judgment(project, (), score=text).score
    assert (score, str(score)) == (number, str(number))


@pytest.mark.parametrize("score", [float("inf"), float("-inf")])
def test_database_refuses_a_score_that_is_not_finite(project: Project, score: float) -> None:
    system = factories.load_artifacts(factories.load_cases(project, ["a"]))
    run = factories.load_run(system, [])
    judgment = Judgment(run=run, artifact=system.artifacts.get(), raw_hash="0" * 64, provenance="legacy", score=score)
    with pytest.raises(IntegrityError, match="a_score_is_a_finite_number"), transaction.atomic():
        judgment.save()


def test_unknown_cache_state_is_refused_with_row_and_choices(project: Project) -> None:
    with pytest.raises(InputError) as caught:
        _judgment(project, (), provenance={"cache": "warm"})
    (problem,) = caught.value.problems
    assert (problem.row, problem.value, problem.allowed) == (1, "warm", "fresh, cached, unrecorded")


READINGS = {
    "valid": ("Yes", {}, ("valid", "Yes", "pass")),
    "spaces": ("  No ", {}, ("valid", "No", "fail")),
    "blank label": ("", {"raw": "No opinion"}, ("unparsed", "", None)),
    "unmapped": ("Maybe", {}, ("unmapped", "Maybe", None)),
    "case matters": ("yes", {}, ("unmapped", "yes", None)),
    "stale": ("Yes", {"seen_output": "something else"}, ("stale", "Yes", None)),
    "stale and unparsed": ("", {"raw": "x", "seen_output": "something else"}, ("stale", "", None)),
    "stale and unmapped": ("Maybe", {"seen_output": "something else"}, ("stale", "Maybe", None)),
}


@pytest.mark.parametrize("name", READINGS)
def test_reading_has_a_verdict_exactly_when_valid(project: Project, name: str) -> None:
    label, row, expected = READINGS[name]
    judgment = _judgment_of(project, label, row)
    readings_make(run=judgment.run, reader=factories.make_reader(project))
    reading = judgment.readings.get()
    assert (reading.state, reading.raw_label, reading.verdict) == expected


def _judgment_of(project: Project, label: str | None, row: dict[str, Any]) -> Judgment:
    system = factories.load_artifacts(factories.load_cases(project, ["a"]))
    return factories.load_run(system, [judgment_row("a", label, **row)]).judgments.get()


@pytest.mark.parametrize(
    ("parser", "raw", "state"),
    [
        ("json-label@1", '{"label": "Yes"}', "valid"),
        ("json-label@1", '{"label": "a\\u0000b"}', "unparsed"),
        ("json-label@1", '{"label": "\\ud800"}', "unparsed"),
        ("json-label@1", '{"label": "\\ud83d\\ude42"}', "unmapped"),
        ("json-label@1", "not json \x00", "unparsed"),
        ("first-line-label@1", "a\x00b\nbecause", "unparsed"),
        ("first-line-label@1", "Yes\n" + "x" * 1_000_000, "valid"),
        ("final-score@1", "final score: " + "9" * 5000, "unparsed"),
        ("exact-label@1", "y" * 100_000, "unmapped"),
    ],
)
def test_odd_responses_are_read_and_stored(project: Project, parser: str, raw: str, state: str) -> None:
    judgment = _judgment_of(project, None, {"raw": raw})
    readings_make(run=judgment.run, reader=factories.make_reader(project, parser=parser))
    assert judgment.readings.get().state == state


def test_reader_with_another_pattern_is_another_reader_and_reads_otherwise(project: Project) -> None:
    judgment = _judgment_of(project, None, {"raw": "A: Yes, B: No"})
    readers = [factories.make_reader(project, parser="regex@1", setting=f"{key}: (\\w+)") for key in "AB"]
    again = factories.make_reader(project, parser="regex@1", setting="A: (\\w+)")
    assert (again == readers[0], readers[0] == readers[1]) == (True, False)
    for reader in readers:
        readings_make(run=judgment.run, reader=reader)
    assert [judgment.readings.get(reader=reader).verdict for reader in readers] == ["pass", "fail"]


def test_readings_are_made_once_in_chunks(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "CHUNK", 2)
    system = factories.load_artifacts(factories.load_cases(project, list("abcde")))
    run = factories.load_run(system, factories.judged(dict.fromkeys("abcde", "Yes")))
    reader, other = factories.make_reader(project), factories.make_reader(project, table={"Yes": "fail"}, name="other")
    assert readings_make(run=run, reader=reader) == 5
    assert readings_make(run=run, reader=reader) == 0
    assert readings_make(run=run, reader=other) == 5
    assert sorted(Reading.objects.values_list("reader", "verdict")) == sorted(
        [(reader.pk, "pass")] * 5 + [(other.pk, "fail")] * 5
    )


def test_reading_a_response_that_retention_dropped_is_refused_by_its_hash(project: Project) -> None:
    judgment = _judgment_of(project, None, {"raw": "Yes"})
    Blob.objects.filter(sha256=judgment.raw_hash).delete()
    with pytest.raises(Refused, match=judgment.raw_hash):
        readings_make(run=judgment.run, reader=factories.make_reader(project))
    assert Reading.objects.count() == 0


@pytest.mark.parametrize(
    ("state", "verdict"),
    [("valid", None), ("unparsed", "fail"), ("unmapped", "fail"), ("stale", "pass"), ("odd", None), ("odd", "pass")],
)
def test_database_refuses_a_verdict_that_the_state_denies(project: Project, state: str, verdict: str | None) -> None:
    judgment = _judgment_of(project, "Yes", {})
    with pytest.raises(IntegrityError, match="a_verdict_exactly_when_valid"), transaction.atomic():
        Reading.objects.create(judgment=judgment, reader=factories.make_reader(project), state=state, verdict=verdict)


def test_marks_and_states_are_those_of_the_house() -> None:
    assert ProvenanceMark.values == ["verified", "legacy", "unverified", "contradicted"]
    assert ReadingState.values == ["valid", "unparsed", "unmapped", "stale"]
