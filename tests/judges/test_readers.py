"""Rows come out exactly as written, or the file is refused by row and column. The files here are small and ours."""

import csv
import io
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError, Problem
from judges.intake.problems import Problems
from judges.intake.readers import CELL_LIMIT, Format, Quoting, Row, Table, read_header, read_rows
from judges.intake.repairs import split_column


def table(folder: Path, content: str | bytes, kind: Format = "csv", quoting: Quoting = "minimal") -> Table:
    path = folder / f"answers.{kind}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Table(path, kind, quoting)


def refused(source: Table) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as caught:
        list(read_rows(source))
    return caught.value.problems


def test_rows_carry_number_line_and_cells_as_written(tmp_path: Path) -> None:
    source = table(tmp_path, "id,answer\na, NA \nb,\nc,nan\n")
    assert list(read_rows(source)) == [
        Row(1, 2, {"id": "a", "answer": " NA "}),
        Row(2, 3, {"id": "b", "answer": ""}),
        Row(3, 4, {"id": "c", "answer": "nan"}),
    ]


def test_cell_with_fifty_newlines_is_one_row_and_later_rows_know_their_line(tmp_path: Path) -> None:
    """BEHAVIOUR 26."""
    long = "\n".join(f"line {n}" for n in range(51))
    source = table(tmp_path, f'id,answer\na,"{long}"\nb,x\n')
    assert list(read_rows(source)) == [
        Row(1, 2, {"id": "a", "answer": long}),
        Row(2, 53, {"id": "b", "answer": "x"}),
    ]


@pytest.mark.parametrize(
    "text", ["next\u0085line", "line\u2028separator", "a\x00b", "form\x0cfeed", "tab\there", "é 漢字"]
)
def test_odd_characters_are_data(tmp_path: Path, text: str) -> None:
    """BEHAVIOUR 26."""
    assert [row.cells["answer"] for row in read_rows(table(tmp_path, f"id,answer\na,{text}\nb,x\n"))] == [text, "x"]


def test_quoted_tabs_quotes_and_crlf_are_kept_in_tsv(tmp_path: Path) -> None:
    source = table(tmp_path, 'id\tanswer\r\na\t"one\ttwo ""three""\r\nfour"\r\nb\t5" pipe\r\n', "tsv")
    assert [row.cells["answer"] for row in read_rows(source)] == ['one\ttwo "three"\r\nfour', '5" pipe']


def test_quoting_none_keeps_quotes_and_minimal_takes_them_off(tmp_path: Path) -> None:
    content = 'id\tanswer\na\t"The Longest Night" (episode 15)\n'
    assert [row.cells["answer"] for row in read_rows(table(tmp_path, content, "tsv", "none"))] == [
        '"The Longest Night" (episode 15)'
    ]
    assert [row.cells["answer"] for row in read_rows(table(tmp_path, content, "tsv"))] == [
        "The Longest Night (episode 15)"
    ]


def test_byte_order_mark_is_no_part_of_the_first_column_name(tmp_path: Path) -> None:
    """BEHAVIOUR 26."""
    assert read_header(table(tmp_path, b"\xef\xbb\xbfid,answer\na,b\n")) == ("id", "answer")


def test_cell_of_two_megabytes_is_read_whole(tmp_path: Path) -> None:
    text = "x" * 2_000_000
    assert [row.cells["answer"] for row in read_rows(table(tmp_path, f"id,answer\na,{text}\n"))] == [text]


def test_cell_beyond_the_limit_is_refused_by_line(tmp_path: Path) -> None:
    (problem,) = refused(table(tmp_path, f"id,answer\na,b\nc,{'x' * (CELL_LIMIT + 1)}\n"))
    what, allowed = f"line 3 cannot be read: field larger than field limit ({CELL_LIMIT})", "16,777,216 characters"
    assert problem == Problem(what, "answers.csv", row=2, allowed=f"cells of at most {allowed}, lines of 67,108,864")


def test_every_ragged_row_is_named_with_found_and_expected_cells(tmp_path: Path) -> None:
    source = table(tmp_path, "id,answer,label\na,b,c\nshort,b\nx,y,z\nlong,b,c,d\n")
    assert refused(source) == (
        Problem("2 cells where the header names 3 columns", "answers.csv", 2, value="short", allowed="3 cells"),
        Problem("4 cells where the header names 3 columns", "answers.csv", 4, value="long", allowed="3 cells"),
    )


def test_sound_rows_stream_before_a_bad_one_is_raised(tmp_path: Path) -> None:
    problems = Problems()
    source = table(tmp_path, "id,answer\na,b\nbad\nc,d\n")
    assert [row.number for row in read_rows(source, problems=problems)] == [1, 3]
    assert [problem.row for problem in problems.kept] == [2]


def test_many_problems_are_counted_beyond_the_first_twenty(tmp_path: Path) -> None:
    problems = refused(table(tmp_path, "id,answer\n" + "lost\n" * 1490))
    assert len(problems) == 21
    assert str(problems[-1]) == "and 1470 more problems"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("id,,label\na,b,c\n", "column 2 has no name"),
        ("id,label,id\na,b,c\n", "columns 1 and 3 have the same name"),
        (f"id,{'x' * 1001}\na,b\n", "the name of column 2 is longer than 1,000 characters"),
        (b"id,caf\xe9\na,b\n", "the name of column 2 is not UTF-8 text"),
        ("id,answer\na,b\n\nc,d\n", "line 3 is blank"),
        ('id,answer\na,b\nc,"open\nd,e\n', "a quote opened on line 3 is never closed"),
    ],
)
def test_unusable_file_is_refused_in_words(tmp_path: Path, content: str | bytes, what: str) -> None:
    assert [problem.what for problem in refused(table(tmp_path, content))] == [what]


def test_very_many_columns_are_told_apart_in_no_time(tmp_path: Path) -> None:
    source = table(tmp_path, ",".join([*(f"c{n}" for n in range(50_000)), "c7"]) + "\n")
    before = time.process_time()
    assert [problem.what for problem in refused(source)] == ["columns 8 and 50001 have the same name"]
    assert time.process_time() - before < 3  # to compare each name with each took 15


def test_stray_quote_that_swallows_rows_is_refused_although_the_cells_count_right(tmp_path: Path) -> None:
    content = 'id,answer,label\na,"open,Yes\nb,x,No\nc,"quoted",Yes\nd,y,No\n'
    (problem,) = refused(table(tmp_path, content))
    assert problem.row == 1
    assert problem.what == "a quote opened on line 2 runs on to line 4: the rows between are lost in one cell"


def test_byte_that_is_not_utf8_is_named_by_row_column_and_value(tmp_path: Path) -> None:
    assert refused(table(tmp_path, b"id,answer\na,b\nb,caf\xe9\n")) == (
        Problem("not UTF-8 text", "answers.csv", 2, "answer", value="byte 0xE9", allowed="UTF-8"),
    )


def test_file_cut_off_inside_a_character_is_refused(tmp_path: Path) -> None:
    (problem,) = refused(table(tmp_path, "id,answer\na,é".encode()[:-1]))
    assert (problem.row, problem.column, problem.value) == (1, "answer", "byte 0xC3")


def test_absent_file_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    assert refused(Table(tmp_path / "gone.csv", "csv")) == (
        Problem("cannot be opened: No such file or directory", "gone.csv"),
    )


def test_blank_lines_at_the_end_are_nothing(tmp_path: Path) -> None:
    assert [row.number for row in read_rows(table(tmp_path, "id,answer\na,b\n\n\n"))] == [1]


# Lone surrogates cannot stand in a UTF-8 file. A lone CR is left out: csv's own writer forgets to quote it.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")) | st.sampled_from(
    ["", "NA", '"', 'a"b', "\t", ",", "\n\n", "\u0085", "\x00", "\ufeff", "\x1c", "\u2029"]
)


@settings(deadline=None)  # a busy machine is no fault
@given(rows=st.lists(st.tuples(texts, texts), min_size=1, max_size=5), kind=st.sampled_from(["csv", "tsv"]))
def test_whatever_was_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], kind: Format
) -> None:
    content = io.StringIO(newline="")
    writer = csv.writer(content, delimiter="," if kind == "csv" else "\t")
    writer.writerows([("id", "answer"), *rows])
    source = table(tmp_path_factory.getbasetemp(), content.getvalue(), kind)
    assert [tuple(row.cells.values()) for row in read_rows(source)] == rows


HEADER = ("id", "question", "answer", "label")
QUESTIONS = {1: "who won", 2: "who lost", 3: "when"}


def mended(folder: Path, content: str) -> list[Row]:
    mend = split_column(HEADER, "question", lambda number, _cells: QUESTIONS.get(number), "answers.tsv")
    return list(read_rows(table(folder, content, "tsv"), mend=mend))


def test_lost_tab_is_cut_after_the_known_question(tmp_path: Path) -> None:
    rows = mended(tmp_path, "id\tquestion\tanswer\tlabel\n1\twho wonnobody\tYes\n2\twho lost\tall\tNo\n3\twhen\tYes\n")
    assert [row.cells["answer"] for row in rows] == ["nobody", "all", ""]
    assert {row.cells["question"] for row in rows} == set(QUESTIONS.values())


def test_lost_tab_without_a_repair_is_refused_by_row(tmp_path: Path) -> None:
    (problem,) = refused(table(tmp_path, "id\tquestion\tanswer\tlabel\n1\twho wonnobody\tYes\n", "tsv"))
    assert str(problem) == (
        "answers.tsv, row 1: 3 cells where the header names 4 columns (found '1'); allowed: 4 cells"
    )


def test_repair_refuses_a_row_that_is_about_another_question(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        mended(tmp_path, "id\tquestion\tanswer\tlabel\n1\twho lostall\tNo\n2\twho won\tall\tNo\n3\tx\n4\twhenx\tNo\n")
    assert [(problem.row, problem.what) for problem in caught.value.problems] == [
        (1, "the cell does not begin with the case's text"),
        (2, "the cell does not hold the case's text"),
        (3, "2 cells where the header names 4 columns"),
        (4, "no case is known for this row, so there is nothing to cut by"),
    ]
