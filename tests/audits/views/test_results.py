"""What a lead takes away: the report as one file, and the anchors."""

import base64
import csv
import hashlib
import io
import json
import re
from pathlib import Path

import pytest
from django.test import Client

from audits.exports.anchors import anchors_write
from audits.models import Audit, LookChart
from tests.audits.views.conftest import Page

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("kind", "content_type"), [("csv", "text/csv"), ("jsonl", "application/jsonl")])
def test_anchors_are_streamed_as_the_command_writes_them(
    watched: Audit, lead: Client, tmp_path: Path, kind: str, content_type: str
) -> None:
    answer = lead.get(f"/p/alpha/audits/swap-1/anchors.{kind}")
    counts = anchors_write(watched, tmp_path / "anchors", kind)
    assert answer.streaming
    assert answer.getvalue() == (tmp_path / "anchors").read_bytes()
    assert answer["Content-Type"] == f"{content_type}; charset=utf-8"
    assert answer["Content-Disposition"] == f'attachment; filename="swap-1-anchors.{kind}"'
    assert counts["anchors"] == watched.draws.count() - 1


def test_every_anchor_says_how_it_was_sampled_and_settled(watched: Audit, lead: Client) -> None:
    text = lead.get("/p/alpha/audits/swap-1/anchors.csv").getvalue().decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["how_sampled"] for row in rows} == {"drawn"}
    assert {row["how_settled"] for row in rows} == {"single"}
    assert {row["stratum"] for row in rows} == {"agree", "disagree", "forced"}
    assert all(0 < float(row["inclusion_probability"]) <= 1 for row in rows)


def test_anchors_of_a_draft_are_refused_in_words(draft: Audit, lead: Client) -> None:
    answer = lead.get("/p/alpha/audits/swap-1/anchors.csv")
    assert answer.status_code == 409
    assert "the plan of swap-1 is still a draft; allowed: register swap-1 first" in answer.content.decode()


def test_report_lets_through_its_own_style_and_nothing_else(watched: Audit, lead: Client) -> None:
    answer = lead.get("/p/alpha/audits/swap-1/report.html")
    text = answer.content.decode()
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = answer["Content-Security-Policy"]
    assert policy.endswith(f"style-src 'sha256-{digest}'")
    assert policy.startswith("default-src 'none'")
    assert LookChart.objects.get().svg in text


def test_report_has_the_same_content_as_json(watched: Audit, lead: Client) -> None:
    answer = lead.get("/p/alpha/audits/swap-1/report.json")
    data = json.loads(answer.content)
    assert data["integrity"] == watched.comparison.summary.integrity
    assert data["transitions"] == watched.comparison.summary.transitions
    assert data["result"] == watched.looks.get().result
    assert answer["Content-Disposition"] == 'attachment; filename="swap-1-report.json"'


@pytest.mark.parametrize("path", ["report.pdf", "anchors.xlsx", "reviews.html"])
def test_other_formats_are_not_there(watched: Audit, lead: Client, path: str) -> None:
    assert lead.get(f"/p/alpha/audits/swap-1/{path}").status_code == 404


def test_results_page_counts_what_the_files_hold(watched: Audit, read: Page) -> None:
    text = read("audits/swap-1/results")
    assert f"Settled: {watched.draws.count() - 1} single." in text
    for path in ("report.html", "report.json", "anchors.csv", "anchors.jsonl", "reviews.csv", "reviews.jsonl"):
        assert f'href="/p/alpha/audits/swap-1/{path}"' in text
