"""What befell the intake of neighbouring systems, from manifest to records."""

import time
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from audits.manifest import load_manifest
from audits.models import Audit
from audits.services.opening import Opened, audit_open
from audits.synthetic import synthetic_project
from core.errors import InputError, Refused
from core.models import Project, Role
from core.services import member_add, operator_of, project_ensure
from judges.models import Artifact, Blob, Case, Judgment, Reading
from judges.services.loads import BEING_LOADED
from judges.services.texts import texts_of
from tests.adjudication.test_concurrency import at_once
from tests.factories import NOW

pytestmark = pytest.mark.database

NUMBER = 40
ODD = [
    "\n".join(f"line {number}" for number in range(51)),
    'a "quoted" word, and a comma',
    "a\ttab",
    "a\u0085next line",
    "a\x00NUL",
    "\ufeffa byte-order mark",
    "x" * 1_000_000,
    "שלום 漢字 🙂",
]


def sent(folder: Path) -> Path:
    return synthetic_project(folder / "sent", name="swap", project="alpha", seed="5", number=NUMBER)


def opened(manifest: Path) -> Opened:
    project = project_ensure(name="alpha", now=NOW)
    return audit_open(manifest=load_manifest(manifest), actor=operator_of(project), now=timezone.now())


def counted(found: Opened) -> tuple[int, int, int]:
    """Rows made, and rows that were there already, of all files; and how many were in them."""
    made = sum(one.loaded.created for one in found.files)
    there = sum(one.loaded.duplicate for one in found.files)
    return made, there, sum(one.tally.taken for one in found.files)


def stored() -> list[int]:
    return [model.objects.count() for model in (Case, Artifact, Judgment, Reading, Blob, Audit)]


@pytest.mark.django_db
def test_same_batch_three_times_in_turn_is_taken_once_and_counted(tmp_path: Path) -> None:
    """BEHAVIOUR 24."""
    manifest = sent(tmp_path)
    made, there, rows = counted(opened(manifest))
    assert (made, there) == (rows, 0)
    before = stored()
    assert before[0] == NUMBER
    for _ in range(2):
        assert counted(opened(manifest)) == (0, rows, rows)
        assert stored() == before


@pytest.mark.django_db
def test_same_batch_with_other_content_is_a_conflict_that_names_both_hashes(tmp_path: Path) -> None:
    """BEHAVIOUR 24."""
    manifest = sent(tmp_path)
    opened(manifest)
    before = stored()
    cases = manifest.parent / "cases.tsv"
    cases.write_text(cases.read_text().replace("What is", "What really is", 1))
    with pytest.raises(InputError, match=r"with other content \(stored [0-9a-f]{12}, given [0-9a-f]{12}\)"):
        opened(manifest)
    assert stored() == before


def send_until_taken(manifest: Path) -> tuple[int, int, int]:
    """As a client does that is told to try again later."""
    for _ in range(600):
        try:
            return counted(opened(manifest))
        except Refused as error:
            if BEING_LOADED not in str(error):
                raise
            time.sleep(0.05)
    raise AssertionError("never taken")


@pytest.mark.django_db(transaction=True)
def test_same_batch_ten_times_in_parallel_is_taken_once_and_counted(tmp_path: Path) -> None:
    """BEHAVIOUR 24."""
    manifest = sent(tmp_path)
    project_ensure(name="alpha", now=NOW)
    counts = at_once(send_until_taken, [manifest] * 10)
    rows = counts[0][2]
    assert sorted(counts) == [*[(0, rows, rows)] * 9, (rows, 0, rows)]
    assert (Case.objects.count(), Audit.objects.count()) == (NUMBER, 1)


@pytest.mark.django_db
def test_odd_characters_make_one_case_each_and_come_back_as_written(tmp_path: Path) -> None:
    """BEHAVIOUR 26."""
    manifest = sent(tmp_path)
    (tmp_path / "sent" / "cases.tsv").write_text(
        "\ufeffcase_id\ttask\trisk\tquestion\tanswer\r\n"
        + "".join(f'o{n}\tadd\thigh\t"{text.replace(chr(34), chr(34) * 2)}"\tso\r\n' for n, text in enumerate(ODD)),
        newline="",
    )
    for name in ("baseline.csv", "candidate.csv", "candidate-again.csv"):
        path = tmp_path / "sent" / name
        header = path.read_text().splitlines()[0]
        blank = "," * (header.count(",") - 1)
        path.write_text(f"{header}\n" + "".join(f"o{n},{blank}supported\n" for n in range(len(ODD))))
    found = opened(manifest)
    assert found.files[0].tally.taken == len(ODD)
    hashes = dict(Case.objects.values_list("case_id", "input_hash"))
    texts = texts_of(project=found.audit.project, hashes=hashes.values())
    assert [texts[hashes[f"o{n}"]] for n in range(len(ODD))] == ODD


@pytest.mark.django_db
def test_new_cases_in_a_running_project_are_listed_and_the_next_step_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """BEHAVIOUR 28."""
    opened(sent(tmp_path))
    call_command("register", "alpha/swap")
    later = synthetic_project(tmp_path / "later", name="later", project="alpha", seed="6", number=NUMBER)
    capsys.readouterr()
    call_command("open_audit", later)
    assert capsys.readouterr().out.splitlines()[-1] == "alpha/later is a draft; next: manage.py register alpha/later"
    client = Client()
    client.force_login(member_add(project=Project.objects.get(name="alpha"), username="lea", role=Role.LEAD).user)
    page = client.get("/p/alpha/audits").content.decode()
    assert 'href="/p/alpha/audits/later/' in page
