"""Golden vectors: what each published parser version reads. A line here is never altered, only added to."""

import json
import re

import pytest

from judges.parsing import PARSERS, Parsed, Unparsed, parser_of

PROSE = "The answer names the wrong year, so it does not pass."
STRICT = ("final-score@1", "first-line-label@1", "json-label@1")

# parser, text, label or None
GOLDEN = [
    ("exact-label@1", "Yes", "Yes"),
    ("exact-label@1", "  Yes\n", "Yes"),
    ("exact-label@1", "yes", "yes"),
    ("exact-label@1", PROSE, PROSE),
    ("exact-label@1", "NA", "NA"),
    ("exact-label@1", "nan", "nan"),
    ("exact-label@1", "1: 2", "1: 2"),
    ("exact-label@1", "", None),
    ("exact-label@1", " \n\t", None),
    ("final-score@1", "Final score: 2 (out of 3)", "2"),
    ("final-score@1", "##final score: 3", "3"),
    ("final-score@1", "**Final Score:** 0", "0"),
    ("final-score@1", "Final score: **1**", "1"),
    ("final-score@1", "**Final score**: 2", "2"),
    ("final-score@1", "Final score:\n\n3", "3"),
    ("final-score@1", "Final score: 2\n- 3 facts agree", "2"),
    ("final-score@1", "The final score is 2", None),
    ("final-score@1", "The final score: 2.", "2"),
    ("final-score@1", "Final score: 2/3", "2"),
    ("final-score@1", "Final score: 2\nTo repeat, final score 2", "2"),
    ("final-score@1", "Final score: 2\n...\nFinal score: 3", None),
    ("final-score@1", "Final score: 2 or 3", None),
    ("final-score@1", "Final score: 0-3", None),
    ("final-score@1", "Final score: 10", None),
    ("final-score@1", "Final score: 2.5", None),
    ("final-score@1", "Final score: -1", None),
    ("final-score@1", "Final score: 2/10", None),
    ("final-score@1", "Final score: {relevance_score}", None),
    ("final-score@1", "Final score: {relevance_score}\nFinal score: 1", "1"),
    ("final-score@1", "1", None),
    ("final-score@1", "1: 2", None),
    ("final-score@1", "", None),
    ("last-digit@1", "1", "1"),
    ("last-digit@1", "1: 2", "2"),
    ("last-digit@1", "Final score: 2 (out of 3)", "3"),
    ("last-digit@1", "Final score: {relevance_score}", None),
    ("last-digit@1", "10 of 25", None),
    ("last-digit@1", PROSE, None),
    ("last-digit@1", "", None),
    ("final-score-else-last-digit@1", "1", "1"),
    ("final-score-else-last-digit@1", "1: 2", "2"),
    ("final-score-else-last-digit@1", "Final score: 2 (out of 3)", "2"),
    ("final-score-else-last-digit@1", "Final score: 2\nFinal score: 3", "2"),
    ("final-score-else-last-digit@1", "Final score: {relevance_score}", None),
    ("final-score-else-last-digit@1", "FINAL SCORE **3**", "3"),
    ("final-score-else-last-digit@1", "Final score: 10", "1"),
    ("final-score-else-last-digit@1", PROSE, None),
    ("first-line-label@1", "Yes\nBecause the date is right.", "Yes"),
    ("first-line-label@1", "\r\n  partially supported \r\nmore", "partially supported"),
    ("first-line-label@1", "two\u0085words", "two\u0085words"),
    ("first-line-label@1", "Yes, the candidate is correct.", None),
    ("first-line-label@1", "x" * 41, None),
    ("first-line-label@1", "1: 2", "1: 2"),
    ("first-line-label@1", "", None),
    ("json-label@1", '{"label": "pass", "why": "the dates agree"}', "pass"),
    ("json-label@1", '{"result": {"label": "pass"}}', None),
    ("json-label@1", '{"label": "pass", "label": "fail"}', None),
    ("json-label@1", '{"label": 1}', None),
    ("json-label@1", '{"label": " "}', None),
    ("json-label@1", '["pass"]', None),
    ("json-label@1", 'Here it is: {"label": "pass"}', None),
    ("json-label@1", "[" * 100_000, None),
    ("json-label@1", "", None),
]


# parser, its setting, text, label or None
SET = [
    ("json-field@1", "result.label", '{"result": {"label": " pass "}}', "pass"),
    ("json-field@1", "score", '{"score": 2}', "2"),
    ("json-field@1", "score", '{"score": 0.5}', "0.5"),
    ("json-field@1", "passed", '{"passed": false}', "false"),
    ("json-field@1", "verdicts[1]", '{"verdicts": ["no", "yes"]}', "yes"),
    ("json-field@1", "label | verdict", '{"label": null, "verdict": "yes"}', "yes"),
    ("json-field@1", "label", '{"result": {"label": "pass"}}', None),
    ("json-field@1", "label", '{"label": "pass", "label": "fail"}', None),
    ("json-field@1", "label", '{"label": ["pass"]}', None),
    ("json-field@1", "label", '{"label": []}', None),
    ("json-field@1", "label", '{"label": " "}', None),
    ("json-field@1", "*.label", '{"a": {"label": "x"}, "b": {"label": "y"}}', None),
    ("json-field@1", "label", '[{"label": "pass"}]', None),
    ("json-field@1", "label", f"{{}} {PROSE}", None),
    ("json-field@1", "label", "[" * 100_000, None),
    ("regex@1", r"VERDICT:\s*(\w+)", "Long reasons.\nVERDICT: pass", "pass"),
    ("regex@1", r"VERDICT:\s*(\w+)", "VERDICT: pass\nAgain: VERDICT:  pass", "pass"),
    ("regex@1", r"VERDICT:\s*(\w+)", "VERDICT: pass\nVERDICT: fail", None),
    ("regex@1", r"VERDICT:\s*(\w+)", PROSE, None),
    ("regex@1", r"VERDICT:\s*(\w+)", "VERDICT: {label}", None),
    ("regex@1", r"(?i)\b(?:pass|fail)\b", "It did Pass.", "Pass"),
    ("regex@1", r"(?s)<v>(.*)</v>", "<v>\n</v>", None),
    ("regex@1", r"GRADE: ([A-Z])?", "GRADE: ", None),
    ("regex@1", r"(\w+)$", "half a \ud83d pass", "pass"),
]


@pytest.mark.parametrize(("key", "setting", "text", "label"), SET)
def test_parser_with_a_setting_reads_its_golden_vectors(key: str, setting: str, text: str, label: str | None) -> None:
    result = parser_of(key, setting).read(label="recorded", raw=text)
    if label is None:
        assert isinstance(result, Unparsed)
        assert 0 < len(result.reason) <= 200
    else:
        assert result == Parsed(label)


@pytest.mark.parametrize(
    ("key", "setting", "fault"),
    [
        ("json-field@1", "result.label", ""),
        ("json-field@1", "a..b", "'a..b' is no path at '..b'"),
        ("json-field@1", "[].label", "a response has no rows"),
        ("regex@1", r"(\w+)", ""),
        ("regex@1", "(", "no pattern of RE2: missing ): ("),
        ("regex@1", r"(a)\1", "no pattern of RE2: invalid escape sequence: \\1"),
    ],
)
def test_setting_that_cannot_be_used_is_named(key: str, setting: str, fault: str) -> None:
    check = PARSERS[key].fault
    assert check is not None
    assert check(setting) == fault


@pytest.mark.parametrize(("key", "text", "label"), GOLDEN)
def test_parser_reads_its_golden_vectors(key: str, text: str, label: str | None) -> None:
    result = PARSERS[key].parse(text)
    if label is None:
        assert isinstance(result, Unparsed)
        assert result.reason
    else:
        assert result == Parsed(label)


@pytest.mark.parametrize("key", STRICT)
@pytest.mark.parametrize("text", [PROSE, f"Verdict below.\n{PROSE}\npass or fail?", json.dumps({"why": PROSE})])
def test_strict_parser_never_finds_a_label_in_prose(key: str, text: str) -> None:
    result = PARSERS[key].parse(text)
    assert isinstance(result, Unparsed) or "pass" not in result.label


@pytest.mark.parametrize("key", sorted(PARSERS))
def test_registry_key_is_the_id_and_version_of_its_parser(key: str) -> None:
    assert re.fullmatch(r"[a-z0-9-]+@[0-9]+", key)
    assert PARSERS[key].key == key


def test_published_reading_keeps_the_first_score_that_the_strict_one_calls_a_contradiction() -> None:
    text = "Final score: 1\nFinal score: 3"
    assert PARSERS["final-score@1"].parse(text) == Unparsed("final scores contradict each other: 1, 3")
    assert PARSERS["final-score-else-last-digit@1"].parse(text) == Parsed("1")


def test_published_reading_equals_the_published_pattern() -> None:
    """The two expressions printed with the study, beside our reading of them."""
    texts = [text for key, text, _ in GOLDEN if "json" not in key]
    for text in texts:
        score = re.search(r"final\s*score:?\s*[*]*([0-3])[*]*", text, re.I)
        digits = re.findall(r"\b([0-3])\b", text)
        expected = score.group(1) if score else digits[-1] if digits else None
        result = PARSERS["final-score-else-last-digit@1"].parse(text)
        assert (result.label if isinstance(result, Parsed) else None) == expected


def test_label_reader_takes_the_recorded_label_even_where_the_reply_says_more() -> None:
    parser = PARSERS["exact-label@1"]
    assert parser.read(label="Yes", raw="Yes, the candidate is correct.") == Parsed("Yes")
    assert parser.read(label="", raw="I cannot determine it.") == Unparsed("the label is blank")
    assert parser.read(label=None, raw="Yes") == Parsed("Yes")


def test_label_with_a_nul_character_is_unparsed_and_a_response_with_one_is_not() -> None:
    assert PARSERS["exact-label@1"].read(label="Y\x00", raw="") == Unparsed("the label holds a NUL character")
    assert PARSERS["json-label@1"].read(label=None, raw='{"label": "a\\u0000"}') == Unparsed(
        "the label holds a NUL character"
    )
    assert PARSERS["final-score@1"].read(label=None, raw="\x00 final score: 1") == Parsed("1")


@pytest.mark.parametrize("key", sorted(PARSERS))
@pytest.mark.parametrize(
    "unit", ["final score:", "final", " ", "*", "1", "1 or ", "final score" + " " * 1000, "{", '"']
)
def test_parser_reads_a_megabyte_of_anything_in_linear_time(key: str, unit: str) -> None:
    """A backtracking pattern would take minutes here."""
    parser = parser_of(key, {"regex@1": r"(?:a*|b+|.)*final(.*)*score", "json-field@1": "label"}.get(key, ""))
    parser.parse(unit * (1_000_000 // len(unit)))
    parser.parse("final score" + unit * (1_000_000 // len(unit)))


def test_reason_stays_short_however_long_the_response() -> None:
    result = PARSERS["final-score@1"].parse("final score: " + "9" * 100_000)
    assert isinstance(result, Unparsed)
    assert len(result.reason) < 200


def test_raw_reader_ignores_a_recorded_label() -> None:
    assert PARSERS["final-score@1"].read(label="3", raw="Final score: 1") == Parsed("1")
