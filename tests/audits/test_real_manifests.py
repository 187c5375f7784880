"""The published examples, read from the real files: figures that a correct reading gives."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from audits.manifest import Manifest, load_manifest
from core.errors import InputError
from judges.intake.columns import read_artifacts, read_cases, read_judgments, read_labels
from judges.intake.readers import Table, read_rows
from judges.intake.rows import CaseIndex, JudgmentRow, Tally
from judges.intake.specs import SideName
from judges.parsing import PARSERS, Parsed, Unparsed

pytestmark = pytest.mark.real_data
EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.fixture(scope="module")
def swap(real_data: Path) -> Manifest:
    return load_manifest(EXAMPLES / "openqa-judge-swap.yaml", files=real_data / "openqa")


@pytest.fixture(scope="module")
def upgrade(real_data: Path) -> Manifest:
    return load_manifest(EXAMPLES / "openqa-version-upgrade.yaml", files=real_data / "openqa")


def index_of(manifest: Manifest) -> CaseIndex:
    index = CaseIndex()
    for _case in read_cases(manifest.path(manifest.case_source), manifest.case_source, index):
        pass
    return index


def judgments(manifest: Manifest, side: SideName, tally: Tally | None = None) -> Iterator[JudgmentRow]:
    (source,) = (source for source in manifest.sources if source.judgments_of == side)
    cases = (manifest.path(manifest.case_source), manifest.case_source)
    return read_judgments(manifest.path(source), source, index_of(manifest), cases=cases, tally=tally)


def answers(manifest: Manifest) -> dict[str, str]:
    source = manifest.case_source
    return {row.case_id: row.output for row in read_artifacts(manifest.path(source), source, index_of(manifest))}


def verdicts(manifest: Manifest, side: SideName) -> dict[str, str]:
    """Case id to canonical label, where there is one."""
    reader = manifest.sides[side].reader
    found = {}
    for row in judgments(manifest, side):
        result = PARSERS[reader.parser].read(label=row.label, raw=row.raw)
        if isinstance(result, Parsed):
            found[row.case_id] = manifest.mappings[reader.mapping].table[result.label]
    return found


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_swap_has_1490_judgments_on_each_side(swap: Manifest, side: SideName) -> None:
    tally = Tally()
    assert len(list(judgments(swap, side, tally))) == 1490
    assert tally == Tally(rows=1490, taken=1490)


def test_gpt4_is_unparsed_in_rows_68_and_498_only(swap: Manifest) -> None:
    reader = PARSERS[swap.sides["candidate"].reader.parser]
    unparsed = [
        row for row in judgments(swap, "candidate") if isinstance(reader.read(label=row.label, raw=row.raw), Unparsed)
    ]
    assert [(row.number, row.label) for row in unparsed] == [(68, ""), (498, "")]
    assert all(row.raw.startswith("I cannot determine if the candidate is correct") for row in unparsed)


def test_gpt4_saw_another_answer_in_row_150_only(swap: Manifest) -> None:
    judged = answers(swap)
    seen = {row.number: (judged[row.case_id], row.recorded.seen_output) for row in judgments(swap, "candidate")}
    other = [(number, shown, saw) for number, (shown, saw) in seen.items() if shown != saw]
    assert other == [(150, "558", "July 11 1901")]


def test_davinci_file_after_the_repair_shows_the_human_file_s_answer_in_every_row(swap: Manifest) -> None:
    judged = answers(swap)
    assert [row.number for row in judgments(swap, "baseline") if row.recorded.seen_output != judged[row.case_id]] == []


def test_davinci_file_reads_the_same_under_either_quoting(real_data: Path) -> None:
    """It holds no quote at the start of a cell: those were lost with the tab."""
    path = real_data / "openqa" / "NQ301_text-davinci-003.tsv"

    def cells(quoting: str) -> list[list[str]]:
        merged = Table(path, "tsv", "none" if quoting == "none" else "minimal")
        found: list[list[str]] = []

        def keep(_number: int, row: list[str]) -> list[str]:
            found.append(row)
            return [*row, ""]

        list(read_rows(merged, mend=keep))
        return found

    assert cells("minimal") == cells("none")
    assert {len(row) for row in cells("none")} == {4}


def test_davinci_file_without_the_repair_is_refused_by_row(real_data: Path) -> None:
    with pytest.raises(InputError) as caught:
        list(read_rows(Table(real_data / "openqa" / "NQ301_text-davinci-003.tsv", "tsv")))
    problems = caught.value.problems
    assert len(problems) == 21
    assert (problems[0].row, problems[0].what) == (1, "4 cells where the header names 5 columns")
    assert problems[-1].what == "and 1470 more problems"


def test_swap_transitions_over_the_1487_eligible_cases(swap: Manifest) -> None:
    old, new = verdicts(swap, "baseline"), verdicts(swap, "candidate")
    (review,) = swap.reviews
    people = {row.case_id: row for row in read_labels(swap.path(review), review, index_of(swap))}
    table = swap.mappings[review.mapping].table
    cells = Counter(
        (old[case] == table[row.adjudicated], new[case] == table[row.adjudicated])
        for case, row in people.items()
        if case in old and case in new and case != "150" and row.adjudicated is not None
    )
    assert cells == {(True, True): 1175, (True, False): 71, (False, True): 86, (False, False): 155}


def test_swap_has_the_labels_of_three_annotators(swap: Manifest) -> None:
    (review,) = swap.reviews
    labels = list(read_labels(swap.path(review), review, index_of(swap)))
    counts = Counter(author for row in labels for author in row.authors)
    assert counts == {"annotator1": 1490, "annotator2": 1483, "annotator3": 223}
    assert sum(row.adjudicated is not None for row in labels) == 1490


def test_upgrade_has_301_cases_and_299_pairs_of_verdicts(upgrade: Manifest) -> None:
    tallies = {"baseline": Tally(), "candidate": Tally()}
    old = {row.case_id for row in judgments(upgrade, "baseline", tallies["baseline"])}
    new = {row.case_id for row in judgments(upgrade, "candidate", tallies["candidate"])}
    assert len(index_of(upgrade)) == 301
    assert tallies == {"baseline": Tally(301, 299, missing=2), "candidate": Tally(301, 300, missing=1)}
    assert len(old & new) == 299
    assert new - old == {"nq-028"}


def test_upgrade_artifacts_have_one_evidence_and_their_own_outputs(upgrade: Manifest) -> None:
    index = index_of(upgrade)
    outputs = {}
    for source in upgrade.sources[:2]:
        rows = list(read_artifacts(upgrade.path(source), source, index))
        assert len(rows) == 301
        outputs[source.artifacts_of] = rows[28]
    old, new = outputs[("baseline",)], outputs[("candidate",)]
    assert (old.case_id, old.output, new.output) == ("nq-028", "558", "Virat Kohli ( India ) - 558 runs")
    assert old.evidence == new.evidence
    assert old.evidence[0].startswith("Question: india south africa test series 2018 highest runs\nGold answers: ")


def test_upgrade_human_labels_give_the_four_cells(upgrade: Manifest) -> None:
    (review,) = upgrade.reviews
    final: dict[str, dict[str, str]] = {"baseline": {}, "candidate": {}}
    for row in read_labels(upgrade.path(review), review, index_of(upgrade)):
        if row.adjudicated is not None:
            final[row.side][row.case_id] = row.adjudicated
    cells = Counter((label, final["candidate"][case]) for case, label in final["baseline"].items())
    assert cells == {("Yes", "Yes"): 163, ("Yes", "No"): 31, ("No", "Yes"): 63, ("No", "No"): 43}
