"""The pages about single pairs: found by state and by case, in pages; the cache audit; another reader."""

import csv
import html
import re
from pathlib import Path

import pytest
from django.test import Client

from audits.manifest import load_manifest
from audits.models import Audit
from audits.services.opening import audit_open
from audits.synthetic import CHANGED_AFTER, NO_VERDICT, NOT_JUDGED, UNMAPPED, synthetic_project
from core.models import Project
from core.services import operator_of
from judges.models import Reading
from tests.audits.views.conftest import NOW, Page

pytestmark = pytest.mark.django_db
CASES = 400
FAULTS = {
    "missing": NOT_JUDGED,
    "old invalid": NO_VERDICT,
    "unmappable": UNMAPPED,
    "artifact mismatch": CHANGED_AFTER,
}


@pytest.fixture
def audit(project: Project, tmp_path: Path) -> Audit:
    """The synthetic audit with one case of each fault; the replies of its candidate say where they came from."""
    path = synthetic_project(tmp_path, name="swap-1", project="alpha", seed="5", number=CASES)
    candidate = tmp_path / "candidate.csv"
    with candidate.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with candidate.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [*rows[0], "cache", "kept"])
        table.writeheader()
        table.writerows(
            row | {"cache": "cached" if n % 4 else "fresh", "kept": f"log:{n}"} for n, row in enumerate(rows)
        )
    text = path.read_text(encoding="utf-8")
    asked = "roles: {output: answer, raw: reply}"
    assert asked in text
    roles = "roles: {output: answer, raw: reply, provenance: {cache: cache, raw_reference: kept}}"
    path.write_text(text.replace(asked, roles, 1), encoding="utf-8")
    return audit_open(manifest=load_manifest(path), actor=operator_of(project), now=NOW).audit


def listed(page: str) -> list[str]:
    return re.findall(r'<th scope="rowgroup"[^>]*><a href="[^"]*">([^<]*)</a>', page)


@pytest.mark.parametrize(("state", "place"), FAULTS.items())
def test_pair_of_each_fault_is_found_by_its_state(audit: Audit, read: Page, state: str, place: int) -> None:
    page = read(f"audits/swap-1/pairs?state={state}")
    assert listed(page) == [f"q{place:04d}"]
    assert "1 found" in page


def test_all_pairs_come_in_pages_none_twice_and_none_left_out(audit: Audit, lead: Client) -> None:
    seen: list[str] = []
    for state, number in ((None, CASES), ("disagree", audit.comparison.summary.integrity["pairs"]["disagree"])):
        seen, after = [], "0"
        while after:
            answer = lead.get("/p/alpha/audits/swap-1/pairs", {"after": after} | ({"state": state} if state else {}))
            found = [pair.case_id for pair in answer.context["page"].pairs]
            assert len(found) <= 50
            seen, after = seen + found, answer.context["page"].after
        assert (len(seen), len(set(seen)), seen) == (number, number, sorted(seen))


def test_pair_of_one_case_shows_its_chain_and_responses(audit: Audit, read: Page) -> None:
    page = read(f"audits/swap-1/pairs?case=q{CHANGED_AFTER:04d}")
    assert f"Case <bdi>q{CHANGED_AFTER:04d}</bdi>: artifact mismatch" in page
    kept = CHANGED_AFTER - 1
    called = "yes" if kept % 4 == 0 else "no: answered from a cache"
    for row, old, new in (
        ("Execution", "answered", "answered"),
        ("Judge called", "not recorded", called),
        ("Provenance", "legacy", "contradicted"),
        ("Mapping", "grades@1", "words@1"),
        ("Parser", "final-score@1", "first-line-label@1"),
    ):
        assert re.search(rf'<th scope="row">{row}</th><td[^>]*>{old}</td><td[^>]*>{new}</td>', page), row
    assert f"log:{kept}" in page
    assert page.count("<strong>differs</strong>") == 1
    assert "Checked step by step." in page
    assert "Final score: " in page


def test_case_that_is_not_there_is_said_and_shown_as_the_characters_it_is(audit: Audit, read: Page) -> None:
    page = read("audits/swap-1/pairs?case=<script>")
    assert "There is no such pair." in page
    assert "<script>" not in page.partition('id="case"')[2].partition("</form>")[0]
    assert "There is no such pair." in read(f"audits/swap-1/pairs?case=q{NOT_JUDGED:04d}&state=agree")


def test_unknown_state_is_refused_with_those_there_are(audit: Audit, lead: Client) -> None:
    answer = lead.get("/p/alpha/audits/swap-1/pairs?state=odd")
    assert answer.status_code == 422
    assert "state: no such state (found 'odd'); allowed: agree, disagree" in html.unescape(answer.content.decode())


def test_cache_audit_counts_both_sides_and_lists_what_contradicts(audit: Audit, read: Page) -> None:
    page = read("audits/swap-1/pairs/caches")
    assert listed(page) == [f"q{CHANGED_AFTER:04d}"]
    contradicted = "cached" if (CHANGED_AFTER - 1) % 4 else "fresh"
    cached, fresh = CASES - CASES // 4, CASES // 4
    numbers = {"cached": cached, "fresh": fresh}
    numbers[contradicted] -= 1
    for cache, number in numbers.items():
        assert f'<th scope="row">{cache}</th><td>verified</td><td class="number">{number}</td>' in page
    assert f'<th scope="row">{contradicted}</th><td>contradicted</td><td class="number">1</td>' in page
    assert f'<th scope="row">unrecorded</th><td>legacy</td><td class="number">{CASES - 1}</td>' in page


def test_sound_caches_are_said_to_be_sound(draft: Audit, read: Page) -> None:
    assert "No record contradicts its artifact" in read("audits/swap-1/pairs/caches")


def test_another_reader_is_compared_and_nothing_is_stored(audit: Audit, read: Page) -> None:
    before = Reading.objects.count()
    page = read("audits/swap-1/pairs/readers")
    assert "mapping grades@1, approved by policy owner" in page
    assert "differ." not in page
    page = read("audits/swap-1/pairs/readers?side=baseline&parser=final-score-else-last-digit@1&mapping=")
    assert f"Of the first {CASES - 1} responses" in page
    assert f"{CASES - 1} agree, 0 differ. Unparsed by the stored reader 1, by the other 1, by both 1." in page
    page = read("audits/swap-1/pairs/readers?side=candidate&parser=regex@1&setting=%5Esupported|%5Eunsupported")
    assert f"{CASES - 1} agree, 1 differ." in page
    assert 'unmapped: partial</td><td dir="auto">unparsed: ' in page
    page = read("audits/swap-1/pairs/readers?side=candidate&parser=json-label@1&mapping=words@1")
    assert f"Of the first {CASES} responses" in page
    # The one that was judged by another answer is stale under every reader.
    other = CASES - 1
    assert f"1 agree, {other} differ. Unparsed by the stored reader 0, by the other {other}, by both 0." in page
    assert f"the first 20 of {other}" in page
    assert Reading.objects.count() == before


def test_page_reads_a_stated_number_of_responses(audit: Audit, read: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audits.pairs.REREAD", 30)
    page = read("audits/swap-1/pairs/readers?side=candidate&parser=first-line-label@1")
    assert "Of the first 30 responses (at most 30; <code>compare_readers</code> reads all): 30 agree, 0 differ." in page


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("side=third&parser=json-label@1", "side: no such side (found 'third'); allowed: baseline, candidate"),
        ("side=baseline&parser=guess@1", "parser: no such parser (found 'guess@1'); allowed: "),
        ("side=baseline&parser=json-field@1", "setting: missing; allowed: the field that json-field@1 reads by"),
        ("side=baseline&parser=regex@1&setting=(", "allowed: the pattern that regex@1 reads by"),
        (
            "side=baseline&parser=json-label@1&setting=x",
            "setting: json-label@1 needs none (found 'x'); allowed: nothing",
        ),
        ("side=baseline&parser=json-label@1&mapping=x@1", "mapping: no such mapping (found 'x@1'); allowed: grades@1"),
    ],
)
def test_reader_that_is_not_there_is_refused(audit: Audit, lead: Client, query: str, said: str) -> None:
    answer = lead.get(f"/p/alpha/audits/swap-1/pairs/readers?{query}")
    assert answer.status_code == 422
    assert said in html.unescape(answer.content.decode())


def test_audit_that_is_on_no_holdout_says_so(draft: Audit, read: Page) -> None:
    assert "This audit is on development cases" in read("audits/swap-1/holdout")
