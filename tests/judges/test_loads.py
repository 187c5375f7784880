"""Loads: the same again adds nothing, other content is refused by both hashes, a failed load leaves nothing."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from core.errors import InputError, Problem, Refused
from core.identity import text_hash
from core.models import Project
from judges.intake.rows import CaseIndex, CaseRow
from judges.models import Artifact, Blob, Case, CaseSet, Judgment, LoadState, Reader, Reading, Run, SystemVersion
from judges.services import cases, loads, texts
from judges.services.cases import artifacts_load, case_set_load
from judges.services.loads import LoadCounts
from judges.services.publishing import generator_ensure
from judges.services.rows import TOGETHER, found, ids_taken, rows_write
from judges.services.runs import readings_make, run_load
from judges.services.writing import Writer
from tests import factories
from tests.factories import NOW, artifact_row, case_row, judgment_row

pytestmark = [pytest.mark.database, pytest.mark.django_db]

CASES = [case_row("a", 1, slices={"risk": "high"}), case_row("b", 2)]


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _cases(project: Project, rows: Any) -> tuple[CaseSet, LoadCounts]:
    return case_set_load(
        project=project, name="cases", version="1", rows=rows, partition="development", file="cases.csv", now=NOW
    )


def _artifacts(project: Project, rows: Any) -> tuple[SystemVersion, LoadCounts]:
    case_set = factories.load_cases(project, CASES)
    return artifacts_load(case_set=case_set, system_version="v1", rows=rows, file="answers.csv", now=NOW)


def _run(project: Project, rows: Any, **spec: Any) -> tuple[Run, LoadCounts]:
    system = factories.load_artifacts(factories.load_cases(project, CASES))
    side = factories.side_spec(**spec)
    generator = generator_ensure(project=project, spec=side.generator)
    return run_load(generator=generator, system=system, spec=side, rows=rows, file="labels.csv", now=NOW)


LOADS: dict[str, tuple[Callable[..., Any], list[Any], type[Any], type[Any]]] = {
    "cases": (_cases, CASES, CaseSet, Case),
    "artifacts": (_artifacts, [artifact_row("a", 1), artifact_row("b", 2)], SystemVersion, Artifact),
    "judgments": (_run, [judgment_row("a", "Yes", 1), judgment_row("b", "No", 2)], Run, Judgment),
}
each_load = pytest.mark.parametrize("load", LOADS)


@each_load
def test_same_load_again_adds_nothing_and_counts_duplicates(project: Project, load: str) -> None:
    loaded, rows, owner, row = LOADS[load]
    first, made = loaded(project, rows)
    again, found = loaded(project, iter(rows))
    assert (made, found) == (LoadCounts(created=2), LoadCounts(duplicate=2))
    assert first == again
    assert (owner.objects.count(), row.objects.count()) == (1, 2)


@each_load
def test_load_in_another_row_order_is_the_same(project: Project, load: str) -> None:
    loaded, rows, _, _ = LOADS[load]
    loaded(project, rows)
    assert loaded(project, rows[::-1])[1] == LoadCounts(duplicate=2)


CHANGED = {
    "cases": [case_row("a", 1, input="another question", slices={"risk": "high"}), CASES[1]],
    "artifacts": [artifact_row("a", 1), artifact_row("b", 2, evidence=("a source",))],
    "judgments": [judgment_row("a", "Yes", 1), judgment_row("b", "No", 2, raw="No, because")],
}


@each_load
def test_other_content_is_refused_with_row_and_both_hashes(project: Project, load: str) -> None:
    loaded, rows, _, _ = LOADS[load]
    loaded(project, rows)
    with pytest.raises(InputError) as caught:
        loaded(project, CHANGED[load])
    (problem,) = caught.value.problems
    assert problem.row == (1 if load == "cases" else 2)
    stored, given = problem.what.partition("(stored ")[2].rstrip(")").split(", given ")
    assert len(stored) == len(given) == 12
    assert stored != given


@pytest.mark.parametrize("change", [{"cluster": "family"}, {"partition": "holdout"}, {"slices": {}}])
def test_case_with_another_field_is_a_conflict(project: Project, change: dict[str, Any]) -> None:
    _cases(project, CASES)
    with pytest.raises(InputError, match="with other content"):
        _cases(project, [case_row("a", 1, **({"slices": {"risk": "high"}} | change)), CASES[1]])


def test_judgment_with_another_score_is_a_conflict(project: Project) -> None:
    _run(project, [judgment_row("a", "Yes", score="0.5"), judgment_row("b", "No", 2)])
    assert _run(project, [judgment_row("a", "Yes", score="0.50"), judgment_row("b", "No", 2)])[1].duplicate == 2
    with pytest.raises(InputError, match="with other content"):
        _run(project, [judgment_row("a", "Yes", score="0.6"), judgment_row("b", "No", 2)])


@each_load
def test_one_row_less_than_stored_is_refused(project: Project, load: str) -> None:
    loaded, rows, _, _ = LOADS[load]
    loaded(project, rows)
    with pytest.raises(InputError, match="frozen with 2 rows, 1 given"):
        loaded(project, rows[:1])


@each_load
def test_one_row_more_than_stored_is_refused(project: Project, load: str) -> None:
    loaded, rows, _, row = LOADS[load]
    loaded(project, rows[:1]) if load != "cases" else loaded(project, rows)
    more = rows if load != "cases" else [*rows, case_row("c", 3)]
    with pytest.raises(InputError) as caught:
        loaded(project, more)
    assert caught.value.problems[0].row == (3 if load == "cases" else 2)
    assert row.objects.count() == (2 if load == "cases" else 1)


def test_run_in_another_presentation_order_is_another_run(project: Project) -> None:
    rows = LOADS["judgments"][1]
    _run(project, rows)
    with pytest.raises(InputError, match="presentation order"):
        _run(project, rows, presentation_order="reversed")
    assert _run(project, rows, run=2, presentation_order="reversed")[1] == LoadCounts(created=2)


def _failing(rows: list[Any], after: int) -> Iterator[Any]:
    yield from rows[:after]
    raise ConnectionResetError("the source broke off")


@each_load
@pytest.mark.parametrize("after", [0, 1, 2])
def test_source_that_breaks_off_leaves_nothing(
    project: Project, load: str, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loads, "CHUNK", 1)
    loaded, rows, owner, row = LOADS[load]
    with pytest.raises(ConnectionResetError):
        loaded(project, _failing(rows, after))
    assert (owner.objects.count(), row.objects.count()) == (0, 0)
    assert loaded(project, rows)[1] == LoadCounts(created=2)


@each_load
def test_source_that_breaks_off_leaves_what_is_stored(project: Project, load: str) -> None:
    loaded, rows, owner, row = LOADS[load]
    loaded(project, rows)
    with pytest.raises(ConnectionResetError):
        loaded(project, _failing(rows, 1))
    assert (owner.objects.count(), row.objects.count()) == (1, 2)


def test_judgment_of_a_case_without_artifact_is_refused_by_row(project: Project) -> None:
    case_set = factories.load_cases(project, CASES)
    system = factories.load_artifacts(case_set, rows=[artifact_row("a", 1)])
    with pytest.raises(InputError) as caught:
        factories.load_run(system, [judgment_row("a", "Yes", 1), judgment_row("b", "No", 2)])
    (problem,) = caught.value.problems
    assert (problem.file, problem.row, problem.value) == ("labels.csv", 2, "b")
    assert Run.objects.count() == 0


def _left_behind(project: Project, minutes: float) -> CaseSet:
    """What a killed load leaves: some rows under a set in state loading."""
    touched = timezone.now() - timedelta(minutes=minutes)
    case_set = loads.load_begin(CaseSet, now=touched, project=project, name="cases", version="1")
    Case.objects.create(case_set=case_set, case_id="x", input_hash="0" * 64, partition="smoke")
    return case_set


def test_abandoned_load_is_removed_by_the_next_one(project: Project) -> None:
    left = _left_behind(project, minutes=1.1)
    case_set, loaded = case_set_load(
        project=project,
        name="cases",
        version="1",
        rows=CASES,
        partition="development",
        file="f",
        now=timezone.now(),
    )
    assert loaded == LoadCounts(created=2)
    assert case_set.pk != left.pk
    assert list(Case.objects.values_list("case_id", flat=True)) == ["a", "b"]


def test_readings_of_an_abandoned_reader_go_and_those_of_another_stay(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loads, "CHUNK", 1)
    run, _ = _run(project, LOADS["judgments"][1])
    kept = factories.make_reader(project)
    given = {"identity": "0" * 64, "parser": kept.parser, "mapping": kept.mapping}
    left = loads.load_begin(Reader, now=NOW, project=project, **given)
    for reader in (kept, left):
        readings_make(run=run, reader=reader)
    assert loads.loads_abandoned_remove(now=timezone.now()) == 1
    assert list(Reading.objects.values_list("reader", flat=True)) == [kept.pk, kept.pk]


def test_live_load_is_left_alone(project: Project) -> None:
    _left_behind(project, minutes=0.9)
    with pytest.raises(Refused, match="being loaded by another process"):
        case_set_load(
            project=project, name="cases", version="1", rows=CASES, partition="smoke", file="f", now=timezone.now()
        )
    assert list(Case.objects.values_list("case_id", flat=True)) == ["x"]


def test_load_that_was_taken_over_does_not_complete_the_other(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loads, "CHUNK", 1)

    def rows() -> Iterator[CaseRow]:
        yield CASES[0]
        slow = CaseSet.objects.get()
        CaseSet.objects.update(touched_at=timezone.now() - timedelta(hours=1))
        loads.load_begin(CaseSet, now=timezone.now(), project=project, name="cases", version="1")
        assert CaseSet.objects.get().pk != slow.pk
        yield CASES[1]

    with pytest.raises(Refused, match="taken over or removed"):
        _cases(project, rows())
    assert [(one.state, one.cases.count()) for one in CaseSet.objects.all()] == [(LoadState.LOADING, 0)]


def _die_in_the_middle(project: Project) -> None:
    connection.close()
    loads.CHUNK = 1

    def rows() -> Iterator[CaseRow]:
        yield CASES[0]
        yield CASES[1]
        os._exit(9)

    _cases(project, rows())


@pytest.mark.django_db(transaction=True)
def test_load_whose_process_was_killed_shows_nothing_and_can_be_done_again(project: Project) -> None:
    connection.close()
    pid = os.fork()
    if not pid:
        _die_in_the_middle(project)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert CaseSet.objects.filter(state=LoadState.COMPLETE).count() == 0
    CaseSet.objects.update(touched_at=timezone.now() - timedelta(minutes=6))
    assert _later(project)[1] == LoadCounts(created=2)
    assert CaseSet.objects.get().cases.count() == 2


def _later(project: Project) -> tuple[CaseSet, LoadCounts]:
    return case_set_load(
        project=project,
        name="cases",
        version="1",
        rows=CASES,
        partition="development",
        file="f",
        now=timezone.now(),
    )


@pytest.mark.parametrize("number", [TOGETHER - 1, TOGETHER, 2 * TOGETHER + 1])
def test_every_row_is_written_once_however_many_go_into_a_statement(project: Project, number: int) -> None:
    ids = [f"case {n}" for n in range(number)]
    case_set, counts = _cases(project, [case_row(case_id, n) for n, case_id in enumerate(ids, 1)])
    assert counts.created == number
    assert list(case_set.cases.order_by("pk").values_list("case_id", flat=True)) == ids
    assert Blob.objects.count() == number  # each has a question of its own


def test_case_with_an_odd_id_is_found_again_by_it(project: Project) -> None:
    ids = ['a "quoted" one', "a \\ backslash", "{a, b}", "it's", "שלום", "🙂", "100%"]
    case_set = factories.load_cases(project, [case_row(case_id, n) for n, case_id in enumerate(ids, 1)])
    system = factories.load_artifacts(case_set)
    assert sorted(system.artifacts.values_list("case__case_id", flat=True)) == sorted(ids)


def test_interpreter_is_as_before_after_a_load_that_failed(project: Project) -> None:
    threshold, interval, during = gc.get_threshold(), sys.getswitchinterval(), []

    def rows() -> Iterator[CaseRow]:
        yield CASES[0]
        during.append((gc.get_threshold(), sys.getswitchinterval()))
        raise Refused(Problem("no more"))

    with pytest.raises(Refused, match="no more"):
        _cases(project, rows())
    assert during == [((loads.SELDOM, *threshold[1:]), pytest.approx(loads.SOON))]
    assert (gc.get_threshold(), sys.getswitchinterval()) == (threshold, interval)


def test_texts_with_odd_characters_come_back_byte_for_byte(project: Project) -> None:
    """BEHAVIOUR 26."""
    odd = [
        "",
        "\x00",
        "a\x00b",
        "\ud800",
        "\r\n",
        "\u0085",
        "\u202eabc",
        "\u00e9",
        "e\u0301",
        "x" * 1_000_000,
        "שלום 漢字 🙂",
    ]
    for _ in range(2):  # the second time all are there
        hashes = _stored_texts(project, [*odd, *odd])
    assert texts.texts_of(project=project, hashes=hashes) == dict(zip(hashes, odd, strict=False))
    assert Blob.objects.count() == len(odd)


def test_text_that_is_there_is_found_among_many_new_ones(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a chunk of new texts the next is written without a question."""
    monkeypatch.setattr(texts, "CHUNK", 2)
    many = sorted((f"text {number}" for number in range(40)), key=text_hash)
    _stored_texts(project, [many[20]])
    hashes = _stored_texts(project, many)
    assert texts.texts_of(project=project, hashes=hashes) == {text_hash(text): text for text in many}
    assert Blob.objects.count() == len(many)


def _stored_texts(project: Project, given: list[str]) -> list[str]:
    with closing(Writer()) as writer, closing(texts.IncomingTexts(project, writer)) as incoming:
        hashes = [incoming.add(text) for text in given]
        assert len(list(incoming.store())) == len(set(given))
    return hashes


def test_keys_of_what_a_load_wrote_are_kept_and_those_of_a_set_that_was_there_asked_for(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(cases, "found", lambda *question: asked.append(question[1]) or found(*question))
    index = CaseIndex()
    for number, case_id in enumerate(["b", "a"], 1):
        index.add(case_id, number)
    rows = [artifact_row("a", 1), artifact_row("b", 2)]

    def loaded(version: str) -> dict[str, str]:
        with loads.loading(project=project, now=NOW, index=index) as load:
            given: dict[str, Any] = {"file": "f", "now": NOW, "load": load}
            case_set, _ = case_set_load(
                project=project, name="cases", version="1", rows=CASES[::-1], partition="development", **given
            )
            system, _ = artifacts_load(case_set=case_set, system_version=version, rows=rows, **given)
            load.store_texts()
            load.complete()
        return dict(system.artifacts.values_list("case__case_id", "output_hash"))

    answers = {case_id: text_hash(f"answer {case_id}") for case_id in "ab"}
    assert (loaded("v1"), asked) == (answers, [])
    assert (loaded("v2"), asked) == (answers, [["a", "b"]])


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite writes one chunk after the other")
def test_keys_follow_the_file_though_a_later_chunk_is_stored_first(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [case_row(case_id, number) for number, case_id in enumerate("dacb", 1)]
    stored, later = [], Event()

    def write(model: type[Case], columns: Any, rows: list[Any]) -> None:
        if rows[0][2] == "d":
            assert later.wait(10)
        rows_write(model, columns, rows)
        stored.append(rows[0][2])
        later.set()

    monkeypatch.setattr(loads, "CHUNK", 1)
    monkeypatch.setattr(cases, "rows_write", write)
    case_set, _ = _cases(project, given)
    assert stored[0] == "a"
    assert list(case_set.cases.order_by("pk").values_list("case_id", flat=True)) == list("dacb")


def test_keys_that_were_taken_are_nobody_elses_even_before_the_first_row(project: Project) -> None:
    first, second = list(ids_taken(Blob, 3)), list(ids_taken(Blob, 2))
    blob = Blob.objects.create(project=project, sha256="0" * 64, content=b"")
    keys = [*first, *second, blob.pk]
    assert (len(keys), keys) == (6, sorted(set(keys)))
