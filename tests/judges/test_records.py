"""Rows of every format come out alike, and whatever is damaged, endless or ambiguous is refused in words."""

import csv
import gzip
import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from core.errors import InputError
from judges.intake import records, streams
from judges.intake.problems import Problems
from judges.intake.readers import Format, Row, Table, absent_fields, read_header, read_rows

ROWS = [
    {"id": "001", "reply": "two\nlines", "label": "NA"},
    {"id": "2", "reply": 'a "quote", a tab\t and \u0085', "label": ""},
    {"id": "3", "reply": "שלום 漢字 🙂", "label": "nan"},
]


def _delimited(delimiter: str) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(ROWS[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(ROWS)
    return text.getvalue().encode()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    content = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), content)
    return content.getvalue()


def _lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _archive(members: dict[str, Any], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", packing) as archive:
        for name, member in members.items():
            archive.writestr(name, member if isinstance(member, bytes) else json.dumps(member))
    return content.getvalue()


WRITTEN: dict[Format, bytes] = {
    "csv": _delimited(","),
    "tsv": _delimited("\t"),
    "json": json.dumps(ROWS).encode(),
    "jsonl": _lines(ROWS),
    "parquet": _parquet(ROWS),
}
Written = Callable[..., Table]


@pytest.fixture
def table(tmp_path: Path) -> Written:
    def written(content: bytes, kind: Format, **how: Any) -> Table:
        path = tmp_path / f"rows.{kind}"
        path.write_bytes(content)
        return Table(path, kind, **how)

    return written


def refusal(source: Table) -> list[str]:
    with pytest.raises(InputError) as caught:
        list(read_rows(source))
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", WRITTEN)
def test_same_rows_come_out_of_every_format_gzipped_or_not(table: Written, kind: Format, packed: bool) -> None:
    content = gzip.compress(WRITTEN[kind]) if packed else WRITTEN[kind]
    source = table(content, kind, fields=("id", "reply", "label"))
    assert [row.cells for row in read_rows(source)] == ROWS
    assert [row.number for row in read_rows(source)] == [1, 2, 3]
    assert read_header(source) == ("id", "reply", "label")


def test_first_bytes_say_that_a_file_is_gzipped_not_its_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(WRITTEN["jsonl"])
    assert [row.cells["id"] for row in read_rows(Table(path, "jsonl", fields=("id",)))] == ["001", "2", "3"]


def test_records_may_lack_fields_hold_other_types_and_a_bare_nan(table: Written) -> None:
    content = b'\xef\xbb\xbf{"at": 2, "n": NaN}\n{"at": "NA"}\n{"at": [1, 2], "n": null}\r\n\n'
    source = table(content, "jsonl", fields=("at", "n"))
    assert list(read_rows(source)) == [
        Row(1, 1, {"at": "2", "n": "NaN"}),
        Row(2, 2, {"at": "NA", "n": ""}),
        Row(3, 3, {"at": "[1,2]", "n": ""}),
    ]


def test_parquet_types_become_texts_by_the_same_rule(table: Written) -> None:
    rows = [{"n": 1, "x": {"y": [0.5, None]}, "ok": True}, {"n": None, "x": None, "ok": None}]
    source = table(_parquet(rows), "parquet", fields=("n", "x", "x.y[0]", "ok"))
    assert [tuple(row.cells.values()) for row in read_rows(source)] == [
        ("1", '{"y":[0.5,null]}', "0.5", "true"),
        ("", "", "", ""),
    ]


NESTED = [
    {"topic": "a", "found": [{"id": 1, "label": "FULL"}, {"id": 2, "label": "NO"}]},
    {"topic": "b", "found": []},
    {"topic": "c"},
    {"topic": "d", "found": [{"id": 1, "label": "NO"}]},
]


def test_elements_of_a_list_are_rows_and_know_their_record(table: Written) -> None:
    source = table(_lines(NESTED), "jsonl", rows="found", fields=("topic", "[].id", "[].label"))
    assert [(row.number, row.line, *row.cells.values()) for row in read_rows(source)] == [
        (1, 1, "a", "1", "FULL"),
        (2, 1, "a", "2", "NO"),
        (3, 4, "d", "1", "NO"),
    ]


def test_rows_that_no_record_has_or_that_are_no_list_are_refused(table: Written) -> None:
    assert refusal(table(_lines(NESTED), "jsonl", rows="fuond")) == [
        "rows.jsonl, rows: no record has this list (found 'fuond')"
    ]
    assert refusal(table(_lines([*NESTED[:1], {"found": "x"}]), "jsonl", rows="found")) == [
        "rows.jsonl, row 2, column found: not a list (found 'x'); allowed: a list of rows"
    ]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_where_reads_the_rows_with_these_values_and_keeps_their_numbers(table: Written, kind: Format) -> None:
    source = table(WRITTEN[kind], kind, fields=("id",), where={"label": "nan"})
    assert [(row.number, row.cells["id"]) for row in read_rows(source)] == [(3, "3")]


def test_file_without_header_has_the_columns_that_are_named(table: Written) -> None:
    content = b"q1 0  d1\t3\r\n q1 0 d2 0\n"
    source = table(content, "spaces", columns=("topic", "iteration", "document", "grade"))
    assert [(row.number, tuple(row.cells.values())) for row in read_rows(source)] == [
        (1, ("q1", "0", "d1", "3")),
        (2, ("q1", "0", "d2", "0")),
    ]
    assert refusal(table(b"q1 0 d1 3\nq1 0 d2\n", "spaces", columns=("a", "b", "c", "d"))) == [
        "rows.spaces, row 2: 3 cells where the header names 4 columns (found 'q1'); allowed: 4 cells"
    ]


def test_field_that_no_row_has_is_absent_and_one_that_some_lack_is_not(table: Written) -> None:
    source = table(_lines([{"a": 1}, {"b": {"c": None}}]), "jsonl")
    assert absent_fields(source, ["a", "b.c", "b.d", "[x"], Problems()) == ["b.d", "[x"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'{"a": 1}\n{"a": \n', "row 2: not JSON: Expecting value at character 8; allowed: one JSON object per line"),
        (b'{"a": 1, "a": 2}\n', "row 1: the key 'a' stands twice; allowed: one JSON object per line"),
        (b'{"a": {"b": 1, "b": 1}}\n', "row 1: the key 'b' stands twice; allowed: one JSON object per line"),
        (b'{"a": 1e999}\n', "row 1: the number 1e999 is too large; allowed: one JSON object per line"),
        (b'{"a": "\xe9"}\n', "row 1: not UTF-8 text (byte 0xE9); allowed: one JSON object per line"),
        (b'[1, 2]\n', "row 1: a record is a mapping of names to values (found '[1, 2]'); "
         "allowed: one JSON object per record"),
        (b'{"a": 1}\n\n{"a": 2}\n', "line 2 is blank; allowed: one record per line"),
        (b'{"a": 1} {"b": 2}\n', "row 1: not JSON: Extra data at character 10; allowed: one JSON object per line"),
        (b"[" * 100_000, "row 1: not JSON: nested too deeply, or a number with too many digits; "
         "allowed: one JSON object per line"),
    ],
)  # fmt: skip
def test_line_that_is_no_record_is_refused_by_row(table: Written, content: bytes, what: str) -> None:
    (said,) = refusal(table(content, "jsonl"))
    assert said.removeprefix("rows.jsonl, ").removeprefix("rows.jsonl: ") == what


def test_every_bad_line_is_named_and_the_sound_ones_are_read(table: Written) -> None:
    problems = Problems()
    source = table(b'{"a": 1}\nno\n{"a": 2}\nno\n', "jsonl", fields=("a",))
    assert [row.cells["a"] for row in read_rows(source, problems=problems)] == ["1", "2"]
    assert [problem.row for problem in problems.kept] == [2, 4]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b'[{"a": 1}, {"a": ', "row 2: not JSON: Expecting value at character 18"),
        (b'[{"a": 1} {"a": 2}]', "row 2: not JSON: no comma or end of the list at character 11"),
        (b'[{"a": 1}', "row 2: not JSON: no comma or end of the list at character 10"),
        (b'[{"a": 1}] x', "row 2: not JSON: more text after its end at character 12"),
        (b"", "row 1: not JSON: Expecting value at character 1"),
        (b'[{"a": "\xe9"}]', "row 1: not UTF-8 text (byte 0xE9)"),
        (b'[{"a": 1, "a": 2}]', "row 1: the key 'a' stands twice"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_json_that_breaks_off_or_is_none_is_refused_by_row_and_character(
    table: Written, content: bytes, what: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "CHUNK", chunk)
    (said,) = refusal(table(content, "json"))
    assert said == f"rows.json, {what}; allowed: JSON: a list of records, or one record"


def test_json_object_is_one_record(table: Written) -> None:
    source = table(b' {"eval": {"model": "m"}, "samples": [{"id": 1}, {"id": 2}]}\n', "json", rows="samples",
                   fields=("eval.model", "[].id"))  # fmt: skip
    assert [tuple(row.cells.values()) for row in read_rows(source)] == [("m", "1"), ("m", "2")]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(rows=st.lists(st.fixed_dictionaries({"v": values}), min_size=1, max_size=4), chunk=st.integers(1, 40),
       indent=st.sampled_from([None, 2]))  # fmt: skip
def test_list_is_read_as_it_was_written_wherever_the_window_ends(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], chunk: int, indent: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "window.json"
    path.write_text(json.dumps(rows, indent=indent), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "CHUNK", chunk)
        found = [cells.record for _, _, cells in records.record_cells(Table(path, "json"), Problems())]
    assert found == rows


@pytest.mark.parametrize("kind", ["json", "jsonl", "parquet"])
def test_memory_is_bounded_by_a_record_and_not_by_the_file(table: Written, kind: Format) -> None:
    rows = [{"id": n, "text": str(n) * 2000} for n in range(3000)]
    content = {"json": json.dumps(rows).encode(), "jsonl": _lines(rows), "parquet": _parquet(rows)}[kind]
    source = table(gzip.compress(content, 1), kind, fields=("id", "text"))
    del rows, content
    sum(1 for _ in read_rows(source))  # what is imported once does not count
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_rows(source)) == 3000
        assert tracemalloc.get_traced_memory()[1] < 9_000_000  # the file has 21 million bytes
    finally:
        tracemalloc.stop()


LOG = {
    "header.json": {"eval": {"model": "m"}, "status": "success"},
    "samples/2_epoch_1.json": {"id": 2, "scores": {"match": {"value": "C"}}},
    "samples/1_epoch_1.json": {"id": 1, "scores": {"match": {"value": "I"}}},
    "_journal/start.json": {"version": 2},
}
LOG_FIELDS = ("eval.model", "[].id", "[].scores.*.value")


@pytest.mark.parametrize("packed", [False, True])
def test_eval_archive_is_read_as_the_log_it_stands_for(table: Written, packed: bool) -> None:
    content = gzip.compress(_archive(LOG)) if packed else _archive(LOG)
    archive = table(content, "eval", rows="samples", fields=LOG_FIELDS)
    log = LOG["header.json"] | {"samples": [LOG["samples/2_epoch_1.json"], LOG["samples/1_epoch_1.json"]]}
    whole = table(json.dumps(log).encode(), "json", rows="samples", fields=LOG_FIELDS)
    assert [row.cells for row in read_rows(archive)] == [row.cells for row in read_rows(whole)]
    assert [tuple(row.cells.values()) for row in read_rows(archive)] == [("m", "2", "C"), ("m", "1", "I")]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"PK\x03\x04 no archive", "not a readable .eval archive: File is not a zip file"),
        (_archive({"samples/1.json": {}}), "\"There is no item named 'header.json' in the archive\""),
        (_archive({"header.json": []}), "header.json is no mapping of names to values"),
        (_archive({"header.json": {}, "samples/1.json": b"{"}), "not JSON: Expecting property name"),
        (_archive(LOG)[:300], "not a readable .eval archive"),
        (_archive(LOG, zipfile.ZIP_LZMA).replace(b"\x5d", b"\xff"), "not a readable .eval archive"),
        (_archive(LOG, zipfile.ZIP_BZIP2).replace(b"1AY", b"1BY"), "not a readable .eval archive: Invalid data stream"),
        (_archive(LOG | {"samples/é.json": {}}).replace("é".encode(), b"\xff\xff"), "not a readable .eval archive"),
    ],
    ids=["none", "no header", "odd header", "odd sample", "cut off", "odd lzma", "odd bzip2", "other name"],
)
def test_damaged_archive_is_refused_in_words(table: Written, content: bytes, what: str) -> None:
    (said,) = refusal(table(content, "eval", rows="samples"))
    assert what in said


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**30], pa.date32()),
        pa.array([2**62], pa.timestamp("us")),
        pa.array([1], pa.timestamp("us", "Nowhere/Land")),
        pa.array([2**62], pa.duration("s")),
    ],
    ids=lambda column: str(column.type),
)
def test_parquet_value_beyond_the_calendar_is_refused_in_words(table: Written, column: Any) -> None:
    content = io.BytesIO()
    parquet.write_table(pa.table({"at": column}), content)
    (said,) = refusal(table(content.getvalue(), "parquet", fields=("at",)))
    assert said.startswith("rows.parquet: not a readable Parquet file: ")
    assert said.endswith("; allowed: a whole Parquet file")


def test_ambiguous_field_is_refused_by_row_and_path(table: Written) -> None:
    two = {"id": 3, "scores": {"match": {"value": "C"}, "includes": {"value": "I"}}}
    source = table(_archive(LOG | {"samples/3_epoch_1.json": two}), "eval", rows="samples", fields=LOG_FIELDS)
    assert refusal(source) == [
        "rows.eval, row 3, column [].scores.*.value: '[].scores.*.value' is the only entry, and there are 2: "
        "match, includes; name one"
    ]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "parquet", "eval"])
def test_file_that_unpacks_to_too_much_is_refused_with_the_limit(
    table: Written, kind: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "UNPACKED_LIMIT", 5000)
    monkeypatch.setattr(records, "UNPACKED_LIMIT", 5000)
    rows = [{"id": str(n), "text": "x" * 100} for n in range(100)]
    samples = {f"samples/{n}.json": row for n, row in enumerate(rows)}
    content = {
        "csv": b"id,text\n" + b"".join(f"{row['id']},{row['text']}\n".encode() for row in rows),
        "jsonl": _lines(rows),
        "json": json.dumps(rows).encode(),
        "parquet": _parquet([{"text": str(n) * 50} for n in range(100, 999)]),
        "eval": _archive({"header.json": {}} | samples),
    }[kind]
    packed = content if kind in ("eval", "parquet") else gzip.compress(content)
    assert refusal(table(packed, kind, rows="" if kind != "eval" else "samples")) == [
        f"rows.{kind}: unpacks to too much; allowed: at most 5000 bytes unpacked"
    ]


@pytest.mark.parametrize("kind", WRITTEN)
def test_gzipped_file_that_is_cut_off_is_refused(table: Written, kind: Format) -> None:
    (said,) = refusal(table(gzip.compress(WRITTEN[kind])[:-9], kind))
    assert said.startswith(f"rows.{kind}: the gzipped file is damaged or cut off: ")


def test_text_that_stands_once_and_is_meant_in_every_row_is_held_a_few_times(table: Written) -> None:
    content, text = io.BytesIO(), "x" * 10_000_000
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 60, pa.int32()), pa.array([text]))
    parquet.write_table(pa.table({"reply": column}), content, store_schema=False)
    rows = read_rows(table(content.getvalue(), "parquet", fields=("reply",)))
    assert next(rows).cells["reply"] == text
    assert len(content.getvalue()) < 1_000_000
    assert pa.total_allocated_bytes() < 400_000_000  # all at once they would be 600
    assert len(list(rows)) == 59


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_endless_blank_lines_are_refused(table: Written, kind: Format) -> None:
    (said,) = refusal(table(gzip.compress(WRITTEN[kind] + b"\n" * 1_000_000), kind))
    assert said.startswith(f"rows.{kind}: more than 100,000 blank lines; allowed: one ")


def test_parquet_that_is_none_is_refused(table: Written) -> None:
    (said,) = refusal(table(b"id,label\n1,Yes\n", "parquet"))
    assert said.startswith("rows.parquet: not a readable Parquet file: ")


def test_record_beyond_the_limit_is_refused(table: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LINE_LIMIT", 1000)
    monkeypatch.setattr(records, "CHUNK", 100)
    long = {"a": "x" * 3000}
    for kind, content in (("jsonl", _lines([long])), ("json", json.dumps([long]).encode())):
        (said,) = refusal(table(content, kind))
        assert "a record longer than" in said


RECORDS_OF_TEXTS = st.dictionaries(st.text(), st.text(), max_size=4)


@settings(max_examples=200)
@given(RECORDS_OF_TEXTS, st.booleans(), st.sampled_from(["", "\n", "\r\n", " "]))
def test_short_way_reads_texts_as_the_standard_module_does(record: dict[str, str], ascii_only: bool, end: str) -> None:
    content = (json.dumps(record, ensure_ascii=ascii_only) + end).encode("utf-8", "surrogatepass")
    short = records._of_texts(content)
    assert short in (None, record)
    assert short is not None or any(mark in content for mark in (b'\\"', b"\\u", b"\xed"))


@pytest.mark.parametrize(
    "content",
    [
        b'{"a": "x", "a": "y"}',
        b'{"a": 1, "a": "y"}',
        b'{"a": {"b": "c"}, "a": "y"}',
        b'{"a": "x", "b": 1}',
        b'{"a": null}',
        b'{"a": NaN}',
        b'{"a": ["x"]}',
        b'["a", "b"]',
        b'"a"',
        b'{"a": "\\""}',
        b'{"a": "x"} {"a": "x"}',
        b'{"a": "\xff"}',
        b'{"a": "\\ud800"}',
        b"",
    ],
)
def test_what_is_more_than_texts_under_names_of_their_own_goes_the_long_way(content: bytes) -> None:
    assert records._of_texts(content) is None
