"""A small project made from nothing but a seed: questions of arithmetic, answers, and two judges of them.

It carries the faults of real material: a judge that did not run on a case, a reply that gives no verdict,
a label nobody mapped, an answer that changed after it was judged, errors that both judges share, and a judge that
does not always say the same when it is run again.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from audits.services.simulating import unit_hash

CASES = 800
WRONG_ANSWERS = 0.30
HARD_CASES = 0.15  # on which both judges tend to err together
BASELINE_ERROR, CANDIDATE_ERROR = 0.16, 0.08
HARD_ERROR = 0.30
CHANGES_ITS_MIND = 0.03
NOT_JUDGED, NO_VERDICT, UNMAPPED, CHANGED_AFTER = 17, 101, 230, 333  # one case each

GUIDELINE = """# Is the answer right?

Work the question out yourself, then grade the answer.

- **pass**: the number is exactly right.
- **fail**: it is not, however close.

Wording and spacing do not matter.
"""

MANIFEST = """\
migration_id: {name}
project: {project}
case_set: {{name: arithmetic, version: "{version}"}}
partition: development
kind: judge_swap

rubric:
  name: right-answer
  version: "1"
  guideline: guideline.md
  scale:
    - {{label: fail, value: "0"}}
    - {{label: pass, value: "1"}}

judges:
  baseline:
    system_version: pocket-calculator-2
    generator: {{model: grader-small, prompt_version: "3", rubric_version: "1", settings: {{temperature: "0"}}}}
    reader: {{parser: final-score@1, mapping: grades@1}}
  candidate:
    system_version: pocket-calculator-2
    generator: {{model: grader-large, prompt_version: "4", rubric_version: "1", settings: {{temperature: "0"}}}}
    reader: {{parser: first-line-label@1, mapping: words@1}}
mappings:
  grades@1: {{approved_by: policy owner, table: {{"3": pass, "2": pass, "1": fail, "0": fail}}}}
  words@1: {{approved_by: policy owner, table: {{"supported": pass, "unsupported": fail}}}}

sources:
  - file: cases.tsv
    format: tsv
    roles: {{case_id: case_id, input: question, output: answer, slices: {{task: task, risk: risk}}}}
  - file: baseline.csv
    format: csv
    judgments_of: baseline
    join: case_id
    roles: {{raw: reply}}
  - file: candidate.csv
    format: csv
    judgments_of: candidate
    join: case_id
    roles: {{output: answer, raw: reply}}
  - file: candidate-again.csv
    format: csv
    judgments_of: candidate
    run: "2"
    join: case_id
    roles: {{output: answer, raw: reply}}

integrity:
  require_equal_output_hash: true
  require_equal_evidence_hash: true
  fail_on_missing_pair: false
  fail_on_unmapped_label: false
  accept_unverified_provenance: false

slices: [task, risk]
blocking_slices: ["risk=high"]

review:
  double_review_share: "0.25"
  adjudicate_all_blocking_transitions: true
  preserve_original_results: true
  reuse_references: false
repeats: {{summary: majority, selective: leave_out}}
plan:
  estimand: accuracy_difference
  target: pool
  level: "0.95"
  half_width: "0.02"
  policy: monitored
  strata: {{by: agreement, merge_below: "10"}}
  allocation: {{disagree: optimal, agree_minimum: "30"}}
  seed: "{seed}"
"""


@dataclass(frozen=True)
class SyntheticCase:
    case_id: str
    task: str
    risk: str
    question: str
    answer: str
    truth: str  # pass or fail


def synthetic_cases(seed: str, number: int = CASES) -> list[SyntheticCase]:
    return [_case(seed, f"q{place:04d}") for place in range(1, number + 1)]


def synthetic_project(folder: Path, *, name: str, project: str, seed: str, number: int = CASES) -> Path:
    """Write a project's files and its manifest into a folder; the manifest's path comes back."""
    folder.mkdir(parents=True, exist_ok=True)
    cases = synthetic_cases(seed, number)
    columns = ["case_id", "task", "risk", "question", "answer"]
    _write(folder / "cases.tsv", columns, [[c.case_id, c.task, c.risk, c.question, c.answer] for c in cases], "\t")
    _write(folder / "baseline.csv", ["case_id", "reply"], [_baseline(seed, case) for case in cases], ",")
    candidate = [_candidate(seed, case) for case in cases]
    _write(folder / "candidate.csv", ["case_id", "answer", "reply"], candidate, ",")
    again = [_candidate(seed, case, run=2) for case in cases]
    _write(folder / "candidate-again.csv", ["case_id", "answer", "reply"], again, ",")
    (folder / "guideline.md").write_text(GUIDELINE, encoding="utf-8")
    manifest = folder / "manifest.yaml"
    text = MANIFEST.format(name=name, project=project, seed=seed, version=f"{seed}-{number}")
    manifest.write_text(text, encoding="utf-8")
    return manifest


def _case(seed: str, case_id: str) -> SyntheticCase:
    def chance(what: str) -> float:
        return unit_hash(seed, case_id, what)

    one, other = 12 + int(chance("one") * 88), 3 + int(chance("other") * 58)
    questions = {
        "add": (f"What is {one} + {other}?", one + other),
        "subtract": (f"What is {one + other} \N{MINUS SIGN} {other}?", one),
        "multiply": (f"A crate holds {one} jars. How many jars are in {other} crates?", one * other),
    }
    task = list(questions)[int(chance("task") * len(questions))]
    question, right = questions[task]
    wrong = chance("wrong") < WRONG_ANSWERS
    slips = [right + 10, right - 1, right + 100, right - 10]
    shown = slips[int(chance("slip") * len(slips))] if wrong else right
    return SyntheticCase(
        case_id=case_id,
        task=task,
        risk="high" if chance("risk") < 0.06 else "low",
        question=question,
        answer=f"The answer is {shown:,}.",
        truth="fail" if wrong else "pass",
    )


def _says_pass(seed: str, case: SyntheticCase, judge: str, error: float) -> bool:
    hard = unit_hash(seed, case.case_id, "hard") < HARD_CASES
    # On a hard case both judges fall for the same thing: one draw decides for both.
    errs = (
        unit_hash(seed, case.case_id, "hard error") < HARD_ERROR
        if hard
        else unit_hash(seed, case.case_id, judge) < error
    )
    return (case.truth == "pass") != errs


def _baseline(seed: str, case: SyntheticCase) -> list[str]:
    if case.case_id == _id(NOT_JUDGED):
        return [case.case_id, ""]
    if case.case_id == _id(NO_VERDICT):
        return [case.case_id, "The question can be read in two ways, so no score is given."]
    passes = _says_pass(seed, case, "baseline", BASELINE_ERROR)
    score = (3 if passes else 0) + (-1 if passes else 1) * (unit_hash(seed, case.case_id, "hedge") < 0.3)
    return [case.case_id, f"I worked it out and compared.\nFinal score: {score}"]


def _candidate(seed: str, case: SyntheticCase, run: int = 1) -> list[str]:
    if case.case_id == _id(UNMAPPED):
        return [case.case_id, case.answer, "partial\nThe number is close."]
    answer = "The answer is unknown." if case.case_id == _id(CHANGED_AFTER) else case.answer
    passes = _says_pass(seed, case, "candidate", CANDIDATE_ERROR)
    if run > 1 and unit_hash(seed, case.case_id, f"run {run}") < CHANGES_ITS_MIND:
        passes = not passes
    return [case.case_id, answer, f"{'supported' if passes else 'unsupported'}\nChecked step by step."]


def _id(place: int) -> str:
    return f"q{place:04d}"


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]], delimiter: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        table.writerow(columns)
        table.writerows(rows)
