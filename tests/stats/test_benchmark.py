"""The coverage benchmark draws what it says, and goes on where it stopped."""

import json
import shutil

import numpy as np
import pytest

from benchmarks import coverage


@pytest.mark.parametrize("population", coverage.POPULATIONS, ids=lambda one: one.name)
def test_population_has_its_size_and_a_look_at_all_of_it_gives_its_truth(population):
    assert sum(population.sizes().values()) == coverage.SIZE
    orders = coverage.orders(population, np.random.default_rng(1))
    whole = coverage.looked_at(population, {name: coverage.Counter(order) for name, order in orders.items()})
    assert whole.point == pytest.approx(population.truth(), abs=1e-12)
    assert (whole.method, whole.limits(1.96).half_width) == ("census", pytest.approx(0.0, abs=1e-12))


def test_truths_are_those_of_the_report():
    truths = {one.name: one.truth() for one in coverage.POPULATIONS}
    assert truths["V6"] == pytest.approx(0.0, abs=1e-12)
    assert truths["ii 200"] == pytest.approx(0.0, abs=1e-12)
    assert (truths["A2"], truths["A3"]) == pytest.approx((0.942, 0.9555), abs=1e-12)


def _only_the_last_swap(monkeypatch):
    monkeypatch.setattr(coverage, "POPULATIONS", [one for one in coverage.POPULATIONS if one.name == "ii 60"])
    monkeypatch.setattr(coverage, "BLOCK", 2)


def test_run_that_was_stopped_goes_on_and_ends_with_the_same_figures(tmp_path, monkeypatch):
    _only_the_last_swap(monkeypatch)
    whole = coverage.run(4, 2, 50, tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "part.jsonl").write_text(lines[0] + "\n" + lines[1][:50], encoding="utf-8")
    assert coverage.run(4, 2, 50, tmp_path / "part.jsonl") == whole
    assert (tmp_path / "part.jsonl").read_text(encoding="utf-8").splitlines() == [lines[0], lines[1][:50], *lines[1:]]
    assert [json.loads(line)["block"] for line in lines] == [0, 1, 0]
    assert coverage.last_line(whole).startswith("coverage at n=400: ii 60=")


def test_draws_of_other_code_are_not_reused(tmp_path, monkeypatch):
    _only_the_last_swap(monkeypatch)
    results = tmp_path / "results.jsonl"
    whole = coverage.run(2, 2, 50, results)
    stale = results.read_text(encoding="utf-8").replace(coverage.code_identity(), "0" * 16)
    results.write_text(stale.replace('"inside 80": ', '"inside 80": 9'), encoding="utf-8")
    assert coverage.run(2, 2, 50, results) == whole
    assert len(results.read_text(encoding="utf-8").splitlines()) == 4


def test_identity_of_the_code_changes_with_the_statistics(tmp_path, monkeypatch):
    before = coverage.code_identity()
    copy = tmp_path / "audits" / "stats"
    shutil.copytree(coverage.ROOT / "audits" / "stats", copy)
    monkeypatch.setattr(coverage, "ROOT", tmp_path)
    assert coverage.code_identity() == before
    (copy / "groups.py").write_text("# changed", encoding="utf-8")
    assert coverage.code_identity() != before
