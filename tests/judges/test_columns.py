"""Roles, joins and repetitions, on small files of our own."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import InputError
from judges.intake.columns import read_artifacts, read_cases, read_judgments, read_labels
from judges.intake.problems import Problems
from judges.intake.rows import ArtifactRow, CaseIndex, CaseRow, JudgmentRow, LabelRow, Recorded, Tally, length_band
from judges.intake.specs import Join, Layout, Repair, ReviewColumns, ReviewSource, Source

BY_ROW = Join()
BY_ID = Join("id")
CASES = Source(
    file="cases.csv",
    format="csv",
    quoting="minimal",
    join=BY_ID,
    judgments_of=None,
    artifacts_of=("baseline", "candidate"),
    defines_cases=True,
    input="question",
    output="answer",
    evidence=("doc1", "doc2"),
    slices={"risk": "risk"},
    partition="part",
    cluster="group",
)
CASE_FILE = (
    "id,question,answer,doc1,doc2,risk,part,group\n"
    "a,who,me,d1,d2,high,holdout,g1\n"
    "b,when,now,,d2,,,\n"
    "c,what,NA,,,low,development,g1\n"
)
JUDGMENTS = Source(
    file="verdicts.csv",
    format="csv",
    quoting="minimal",
    join=BY_ID,
    judgments_of="candidate",
    artifacts_of=(),
    defines_cases=False,
    output="answer",
    label="label",
    raw="reply",
    provenance={"cache": "cache"},
)
Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8", newline="")
        return path

    return written


def index_of(*ids: str) -> CaseIndex:
    index = CaseIndex()
    for number, case_id in enumerate(ids, start=1):
        index.add(case_id, number)
    return index


def words(error: InputError) -> list[str]:
    return [str(problem) for problem in error.problems]


def test_cases_come_in_order_with_slices_partition_and_length_band(write: Write) -> None:
    index, tally = CaseIndex(), Tally()
    cases = list(read_cases(write("cases.csv", CASE_FILE), CASES, index, tally=tally))
    assert cases == [
        CaseRow(1, "a", "who", {"risk": "high", "length_band": "short"}, "holdout", "g1"),
        CaseRow(2, "b", "when", {"length_band": "short"}, "", ""),
        CaseRow(3, "c", "what", {"risk": "low", "length_band": "short"}, "development", "g1"),
    ]
    assert [index.at(number) for number in (0, 1, 2, 3, 4)] == [None, "a", "b", "c", None]
    assert tally == Tally(rows=3, taken=3)


def test_case_source_by_row_number_counts_rows(write: Write) -> None:
    source = replace(CASES, join=BY_ROW)
    assert [case.case_id for case in read_cases(write("cases.csv", CASE_FILE), source, CaseIndex())] == ["1", "2", "3"]


def test_second_row_with_the_same_case_id_names_both_rows(write: Write) -> None:
    path = write("cases.csv", CASE_FILE + "a,again,,,,,,\n")
    with pytest.raises(InputError) as caught:
        list(read_cases(path, CASES, CaseIndex()))
    assert words(caught.value) == [
        "cases.csv, row 4, column id: the case id stands in row 1 already (found 'a'); allowed: one row per id"
    ]


def test_every_bad_name_of_a_case_is_reported_at_once(write: Write) -> None:
    path = write("cases.csv", CASE_FILE + " ,x,,,,,,\nd ,x,,,,,,\ne\u200b,x,,,,,,\nf,x,,,,,elsewhere,\n")
    with pytest.raises(InputError) as caught:
        list(read_cases(path, CASES, CaseIndex()))
    assert [(problem.row, problem.column, problem.what) for problem in caught.value.problems] == [
        (4, "id", "blank"),
        (5, "id", "spaces at an end"),
        (6, "id", "a character that cannot be seen"),
        (7, "part", "no such partition"),
    ]


def test_case_source_without_a_data_row_is_refused(write: Write) -> None:
    with pytest.raises(InputError, match=r"cases\.csv: there is no data row"):
        list(read_cases(write("cases.csv", CASE_FILE.splitlines(keepends=True)[0]), CASES, CaseIndex()))


def test_role_on_an_absent_column_names_the_columns_there_are(write: Write) -> None:
    path = write("verdicts.csv", "id,Label,reply,answer,cache\n")
    with pytest.raises(InputError) as caught:
        list(read_judgments(path, JUDGMENTS, index_of("a")))
    assert words(caught.value) == [
        "verdicts.csv: the role label names a column that is not in the file; did you mean 'Label'? "
        "(found 'label'); allowed: id, Label, reply, answer, cache"
    ]


def test_artifact_keeps_the_order_and_the_blanks_of_its_evidence(write: Write) -> None:
    index = index_of("a", "b", "c")
    assert list(read_artifacts(write("cases.csv", CASE_FILE), CASES, index)) == [
        ArtifactRow(1, "a", "me", ("d1", "d2")),
        ArtifactRow(2, "b", "now", ("", "d2")),
        ArtifactRow(3, "c", "NA", ("", "")),
    ]


def test_judgments_are_missing_unlabelled_repeated_or_absent(write: Write) -> None:
    path = write(
        "verdicts.csv",
        "id,label,reply,answer,cache\n"
        "c,Yes,Yes it is,NA,fresh\n"
        "a,,I cannot tell,me,\n"
        "b,, ,now,\n"
        "c,Yes,Yes it is,NA,fresh\n",
    )
    tally = Tally()
    assert list(read_judgments(path, JUDGMENTS, index_of("a", "b", "c", "d"), tally=tally)) == [
        JudgmentRow(1, "c", "Yes", "Yes it is", Recorded("NA", None, {"cache": "fresh"})),
        JudgmentRow(2, "a", "", "I cannot tell", Recorded("me", None, {})),
    ]
    assert tally == Tally(rows=4, taken=2, missing=1, duplicates=1, absent=1)


def test_judgment_of_a_source_without_label_column_has_no_label(write: Write) -> None:
    source = replace(JUDGMENTS, label=None, output=None, provenance={}, evidence=("doc",))
    path = write("verdicts.csv", "id,reply,doc\na,Final score: 2,d\n")
    assert list(read_judgments(path, source, index_of("a"))) == [
        JudgmentRow(1, "a", None, "Final score: 2", Recorded(None, ("d",), {}))
    ]


def test_unknown_case_blank_id_and_contradicting_judgment_are_refused_together(write: Write) -> None:
    path = write(
        "verdicts.csv",
        "id,label,reply,answer,cache\na,Yes,y,me,\nz,Yes,y,me,\n,No,n,me,\na,No,n,me,\n",
    )
    with pytest.raises(InputError) as caught:
        list(read_judgments(path, JUDGMENTS, index_of("a")))
    assert words(caught.value) == [
        "verdicts.csv, row 2, column id: no case has this id (found 'z'); allowed: an id of the case source",
        "verdicts.csv, row 3, column id: the case id is blank (found ''); allowed: an id of the case source",
        "verdicts.csv, row 4: a second judgment for this case, other than the one in row 1 (found 'a'); "
        "allowed: one judgment per case; repeats are told apart by where or occurrence",
    ]


def test_every_bad_provenance_cell_and_label_is_reported_at_once(write: Write) -> None:
    roles = {"seen_output_hash": "hash", "cache": "cache", "pipeline": "pipe", "created_at": "at"}
    source = replace(JUDGMENTS, output=None, provenance=roles)
    path = write(
        "verdicts.csv",
        "id,label,reply,hash,cache,pipe,at\n"
        f"a,Yes,y,{'0a' * 32},cached,p1,2026-11-30\n"
        f"b,Y\x00,y,{'0A' * 32},hit,p\u200b1,{'9' * 41}\n",
    )
    with pytest.raises(InputError) as caught:
        list(read_judgments(path, source, index_of("a", "b")))
    assert [(problem.row, problem.column, problem.what) for problem in caught.value.problems] == [
        (2, "label", "a label with a NUL character"),
        (2, "hash", "not a SHA-256 hash"),
        (2, "cache", "no such cache state"),
        (2, "pipe", "a character that cannot be seen"),
        (2, "at", "longer than 40 characters"),
    ]


def test_score_is_a_finite_number_as_written_or_nothing(write: Write) -> None:
    source = replace(JUDGMENTS, output=None, provenance={}, score="sure")
    path = write("verdicts.csv", "id,label,reply,sure\na,Yes,y, 0.85 \nb,Yes,y,-1e-3\nc,No,n,\n")
    assert [row.recorded.score for row in read_judgments(path, source, index_of("a", "b", "c"))] == [
        "0.85",
        "-1e-3",
        "",
    ]


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "1_000", "0,85", "high", "0x1", "٣", "1e", "."])
def test_score_that_is_no_finite_number_is_refused_by_row_column_and_value(write: Write, text: str) -> None:
    source = replace(JUDGMENTS, output=None, provenance={}, score="sure")
    path = write("verdicts.csv", f'id,label,reply,sure\na,Yes,y,1\nb,Yes,y,"{text}"\n')
    with pytest.raises(InputError) as caught:
        list(read_judgments(path, source, index_of("a", "b")))
    assert words(caught.value) == [
        f"verdicts.csv, row 2, column sure: a score that is no finite number (found {text!r}); "
        "allowed: a number such as 0.85, or nothing"
    ]


def test_same_judgment_with_another_score_is_another_judgment(write: Write) -> None:
    source = replace(JUDGMENTS, output=None, provenance={}, score="sure")
    path = write("verdicts.csv", "id,label,reply,sure\na,Yes,y,0.5\na,Yes,y,0.6\n")
    with pytest.raises(InputError, match="a second judgment for this case, other than the one in row 1"):
        list(read_judgments(path, source, index_of("a")))


@pytest.mark.parametrize("rows", [1, 3])
def test_join_by_row_needs_as_many_rows_as_there_are_cases(write: Write, rows: int) -> None:
    source = replace(JUDGMENTS, join=BY_ROW)
    path = write("verdicts.csv", "id,label,reply,answer,cache\n" + "x,Yes,y,me,\n" * rows)
    with pytest.raises(InputError) as caught:
        list(read_judgments(path, source, index_of("a", "b")))
    assert words(caught.value) == [
        f"verdicts.csv: {rows} data rows where the cases have 2, so they cannot be joined by row; "
        "allowed: the same rows in the same order, or a join by a column"
    ]


def test_problems_of_several_files_are_gathered_in_one_list(write: Write) -> None:
    problems = Problems()
    path = write("verdicts.csv", "id,label,reply,answer,cache\nz,Yes,y,me,\n")
    assert list(read_judgments(path, JUDGMENTS, index_of("a"), problems=problems)) == []
    assert list(read_judgments(path, replace(JUDGMENTS, raw="gone"), index_of("a"), problems=problems)) == []
    assert problems.total == 2


PAIRED = Join(("query", "doc"))
GRADES = Source(
    file="grades.jsonl",
    format="jsonl",
    quoting="minimal",
    join=PAIRED,
    judgments_of="candidate",
    artifacts_of=(),
    defines_cases=False,
    raw="judge.reply",
)


def test_id_of_several_columns_is_their_values_with_a_bar_between(write: Write) -> None:
    index = CaseIndex()
    source = replace(CASES, join=PAIRED, input=None, output=None, slices={}, partition=None, cluster=None)
    path = write("cases.csv", "query,doc\nq1,d1\nq1,d2\n")
    assert [case.case_id for case in read_cases(path, source, index)] == ["q1|d1", "q1|d2"]
    grades = write("grades.jsonl", '{"query": "q1", "doc": "d2", "judge": {"reply": "2"}}\n')
    assert [(row.case_id, row.raw) for row in read_judgments(grades, GRADES, index)] == [("q1|d2", "2")]


@pytest.mark.parametrize(
    ("doc", "what"), [("", "a part of the case id is blank"), ("d|2", "a part of the case id holds '|'")]
)
def test_part_of_an_id_that_is_blank_or_holds_the_bar_is_refused_by_row(write: Write, doc: str, what: str) -> None:
    path = write("grades.jsonl", f'{{"query": "q1", "doc": "{doc}", "judge": {{"reply": "2"}}}}\n')
    with pytest.raises(InputError) as caught:
        list(read_judgments(path, GRADES, index_of("q1|d")))
    assert [(problem.row, problem.column, problem.what) for problem in caught.value.problems] == [(1, "doc", what)]


def test_rows_about_no_case_are_left_out_and_counted_where_the_manifest_says_so(write: Write) -> None:
    source = replace(JUDGMENTS, layout=Layout(unknown_cases="leave_out"))
    path = write("verdicts.csv", "id,label,reply,answer,cache\na,Yes,y,me,\nz,Yes,y,me,\n,No,n,me,\n")
    tally = Tally()
    with pytest.raises(InputError) as caught:
        list(read_judgments(path, source, index_of("a"), tally=tally))
    assert [problem.what for problem in caught.value.problems] == ["the case id is blank"]
    assert tally == Tally(rows=3, taken=1, unknown=1)


def test_values_that_no_row_has_are_refused_and_not_taken_for_missing_judgments(write: Write) -> None:
    source = replace(JUDGMENTS, layout=Layout(where={"reply": "yes"}))
    path = write("verdicts.csv", "id,label,reply,answer,cache\na,Yes,y,me,\n")
    with pytest.raises(InputError) as caught:
        list(read_judgments(path, source, index_of("a")))
    assert words(caught.value) == ["verdicts.csv, where: no row has these values (found 'reply: yes')"]


@pytest.mark.parametrize(("occurrence", "labels"), [(1, ["Yes", "No"]), (2, ["No"]), (3, [])])
def test_repeats_without_a_name_are_told_apart_by_their_order(write: Write, occurrence: int, labels: list[str]) -> None:
    source = replace(JUDGMENTS, layout=Layout(occurrence=occurrence))
    path = write("verdicts.csv", "id,label,reply,answer,cache\na,Yes,y,me,\nb,No,n,me,\na,No,n,me,\n")
    found = list(read_judgments(path, source, index_of("a", "b")))
    assert [row.label for row in found] == labels


def test_several_files_are_one_source_whose_rows_are_counted_through(write: Write) -> None:
    head = "id,label,reply,answer,cache\n"
    paths = (write("one.csv", head + "x,Yes,y,me,\n"), write("two.csv", head + "x,No,n,me,\nx,,,,\n"))
    source = replace(JUDGMENTS, join=BY_ROW, layout=Layout(files=("one.csv", "two.csv")))
    found = list(read_judgments(paths, source, index_of("a", "b", "c")))
    assert [(row.number, row.case_id, row.label) for row in found] == [(1, "a", "Yes"), (2, "b", "No")]


def test_problem_in_one_of_several_files_names_that_file_and_its_own_row(write: Write) -> None:
    head = "id,label,reply,answer,cache\n"
    paths = (write("one.csv", head + "a,Yes,y,me,\n"), write("two.csv", head + "a,No,n,me,warm\nz,No,n,me,\n"))
    source = replace(JUDGMENTS, layout=Layout(files=("one.csv", "two.csv")))
    with pytest.raises(InputError) as caught:
        list(read_judgments(paths, source, index_of("a", "b")))
    assert [(problem.file, problem.row, problem.what) for problem in caught.value.problems] == [
        ("two.csv", 1, "no such cache state"),
        ("two.csv", 2, "no case has this id"),
    ]


LOST_TAB = "id\tquestion\tanswer\tlabel\nb\twhennow\tNo\na\twhome\tYes\nc\twhatNA\tYes\n"


@pytest.mark.parametrize(("join", "order"), [(BY_ID, "bac"), (BY_ROW, "abc")])
def test_repair_finds_the_case_text_by_the_same_join(write: Write, join: Join, order: str) -> None:
    lines = {line[0]: line for line in LOST_TAB.splitlines(keepends=True)[1:]}
    path = write("v.tsv", LOST_TAB.splitlines(keepends=True)[0] + "".join(lines[case] for case in order))
    source = replace(
        JUDGMENTS, file="v.tsv", format="tsv", join=join, raw=None, provenance={}, repair=Repair("question")
    )
    cases = (write("cases.csv", CASE_FILE), CASES)
    found = list(read_judgments(path, source, index_of("a", "b", "c"), cases=cases))
    assert {row.case_id: (row.recorded.seen_output, row.label) for row in found} == {
        "a": ("me", "Yes"),
        "b": ("now", "No"),
        "c": ("NA", "Yes"),
    }


def test_repair_by_a_column_that_the_case_source_lacks_is_refused(write: Write) -> None:
    source = replace(JUDGMENTS, file="v.tsv", format="tsv", raw=None, provenance={}, repair=Repair("label"))
    with pytest.raises(InputError) as caught:
        list(
            read_judgments(
                write("v.tsv", LOST_TAB),
                source,
                index_of("a", "b", "c"),
                cases=(write("cases.csv", CASE_FILE), CASES),
            )
        )
    assert words(caught.value) == [
        "cases.csv: the repair split_first_column_by names a column that is not in the file (found 'label'); "
        "allowed: id, question, answer, doc1, doc2, risk, part, group"
    ]


def test_labels_come_per_side_and_blank_ones_are_no_labels(write: Write) -> None:
    source = ReviewSource(
        "people.csv",
        "csv",
        "minimal",
        BY_ID,
        "yes-no@1",
        {
            "baseline": ReviewColumns({"ann": "old1", "bob": "old2"}, "old"),
            "candidate": ReviewColumns({"ann": "new1"}, None),
        },
    )
    path = write("people.csv", "id,old1,old2,old,new1\na,Yes, ,No,\nb,,,,No\nc,,,,\n")
    tally = Tally()
    assert list(read_labels(path, source, index_of("a", "b", "c", "d"), tally=tally)) == [
        LabelRow(1, "a", "baseline", {"ann": "Yes"}, "No"),
        LabelRow(2, "b", "candidate", {"ann": "No"}, None),
    ]
    assert tally == Tally(rows=3, taken=2, missing=4, absent=1)


@pytest.mark.parametrize(
    ("length", "band"), [(0, "short"), (79, "short"), (80, "medium"), (399, "medium"), (400, "long")]
)
def test_length_band_changes_at_80_and_400_characters(length: int, band: str) -> None:
    assert length_band("x" * length) == band
