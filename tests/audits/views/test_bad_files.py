"""Files that nobody means to send, by every door: each is told by its name, and none breaks a page, a worker or a
command.
"""

import gzip
import io
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from django.utils.html import escape
from pyarrow import parquet

from audits.models import Audit, Job, JobState
from audits.services.registering import audit_register
from audits.services.working import job_run
from core.models import Project, Role
from core.services import member_add, operator_of
from tests.audits.sample_manifest import SWAP
from tests.audits.views.conftest import client_of

pytestmark = pytest.mark.django_db

ROWS = [
    {"id": case, "answer": "it is", "risk": "low", "old": old, "new": new, "ann": old, "bob": old, "final": old}
    for case, old, new in (("a", "Yes", "No"), ("b", "No", "No"), ("c", "Yes", "Yes"))
]
TABLE = "\n".join([",".join(ROWS[0]), *(",".join(row.values()) for row in ROWS)]).encode()
MANIFEST = SWAP.replace("risk=high", "risk=low").replace("project: demo", "project: alpha")


def records(**changes: Any) -> bytes:
    return json.dumps([ROWS[0] | changes, *ROWS[1:]]).encode()


def columns(**changes: Any) -> bytes:
    content = io.BytesIO()
    parquet.write_table(pa.table({name: [row[name] for row in ROWS] for name in ROWS[0]} | changes), content)
    return content.getvalue()


HALF, NOT_A_LIST = "\ud800", "a record is a mapping of names to values"
REFUSED: dict[str, tuple[str, bytes]] = {
    "cut off.csv.gz": ("damaged or cut off", gzip.compress(TABLE)[:-5]),
    "packed twice.csv.gz": ("the name of column 1 is not UTF-8 text", gzip.compress(gzip.compress(TABLE))),
    "no bytes.csv": ("the file is empty", b""),
    "no row.csv": ("there is no data row", TABLE.split(b"\n")[0]),
    "no record.jsonl": ("there is no row with a field", b""),
    "utf-16.csv": ("the name of column 1 is not UTF-8 text", TABLE.decode().encode("utf-16")),
    "latin.csv": ("not UTF-8 text", TABLE.replace(b"it is", b"\xe9")),
    "nul.csv": ("a label with a NUL character", TABLE.replace(b"Yes,No", b"Y\0,No")),
    "nul in an id.csv": ("a character that cannot be seen", TABLE.replace(b"\na,", b"\na\0,")),
    "two of a name.csv": ("columns 1 and 5 have the same name", TABLE.replace(b",new,", b",id,", 1)),
    "transcript first.csv": ("longer than 1,000 characters", b"x" * 100_000 + b",y\nz,z\n"),
    "a text.json": (NOT_A_LIST, b'["\\ud800"]'),
    "half in an id.json": ("a character that cannot be seen", records(id=HALF)),
    "half in a label.json": ("a label with half of a character", records(old=HALF)),
    "half in a name.json": ("names a column that is not in the file", json.dumps([{HALF: "x"}]).encode()),
    "deep.json": ("nested too deeply", b"[" * 100_000),
    "many digits.json": ("a number with too many digits", b'[{"id": ' + b"9" * 5000 + b"}]"),
    "magic.parquet": ("not a readable Parquet file", b"PAR1" * 5),
    "bytes.parquet": ("a bytes, which is no text", columns(answer=[b"\xff", b"a", b"b"])),
    "far day.parquet": ("not a readable Parquet file", columns(answer=pa.array([2**30, 1, 2], pa.date32()))),
}

TAKEN: dict[str, bytes] = {
    "mark.csv": b"\xef\xbb\xbf" + TABLE,
    "packed.csv": gzip.compress(TABLE),
    "half in a text.json": records(answer=f"so {HALF} it"),
    "nul in a text.json": records(answer="so \0 it"),
    "long.json": records(answer="x" * 2_000_000),
    "number.json": records(answer=10**400),
    "nan.json": records(answer=float("nan")),
    "names.parquet": columns(answer=pa.array(["x", "y", "x"]).dictionary_encode()),
    "decimals.parquet": columns(answer=pa.array([Decimal("1.50"), None, Decimal(2)], pa.decimal128(9, 2))),
    "times.parquet": columns(answer=pa.array([1, 2, 3], pa.timestamp("ns"))),
    "nested.parquet": columns(answer=[{"a": {"b": [1, 2]}}, {"a": None}, None]),
}


def sent(name: str, content: bytes) -> dict[str, Any]:
    return {
        "manifest": SimpleUploadedFile("audit.yaml", MANIFEST.replace("cases.csv", name).encode()),
        "files": [SimpleUploadedFile(name, content), SimpleUploadedFile("guideline.md", b"Is it right?")],
    }


def said_by_page(lead: Client, name: str, content: bytes) -> tuple[Job, str]:
    answer = lead.post("/p/alpha/audits/new", sent(name, content))
    job = ran(Job.objects.latest("pk"))
    return job, lead.get(answer["Location"], follow=True).content.decode()


def said_by_api(lead: Client, name: str, content: bytes, **more: str) -> tuple[Job, str]:
    answer = lead.post("/api/v1/projects/alpha/intakes", sent(name, content) | more)
    job = ran(Job.objects.latest("pk"))
    return job, lead.get(answer["Location"]).content.decode()


def said_by_preview(lead: Client, name: str, content: bytes, *others: SimpleUploadedFile) -> str:
    files = [SimpleUploadedFile(name, content), SimpleUploadedFile("guideline.md", b"Is it right?"), *others]
    answer = lead.get(lead.post("/p/alpha/previews", {"files": files})["Location"])
    assert answer.status_code == 200
    return answer.content.decode()


def ran(job: Job) -> Job:
    job_run(job=job.pk, clock=timezone.now)
    job.refresh_from_db()
    return job


def said_by_command(folder: Path, name: str, content: bytes) -> str:
    (folder / name).write_bytes(content)
    (folder / "guideline.md").write_text("Is it right?")
    (folder / "audit.yaml").write_text(MANIFEST.replace("cases.csv", name))
    with pytest.raises(CommandError) as caught:
        call_command("open_audit", str(folder / "audit.yaml"))
    return str(caught.value)


@pytest.mark.database
@pytest.mark.parametrize("name", REFUSED)
def test_bad_file_is_refused_by_its_name_and_fault_by_page_api_and_command(
    lead: Client, project: Project, tmp_path: Path, name: str
) -> None:
    what, content = REFUSED[name]
    for job, answer in (said_by_page(lead, name, content), said_by_api(lead, name, content)):
        assert job.state == JobState.REFUSED
        assert (job.problems[0]["file"], what in job.problems[0]["what"]) == (name, True)
        assert name in answer
        assert what in answer
        assert len(answer) < 100_000
    said = said_by_command(tmp_path, name, content)
    assert said.startswith(name)
    assert what in said
    assert not Audit.objects.exists()
    assert said_by_api(lead, name, content, good_rows="true")[0].state != JobState.BROKEN


@pytest.mark.parametrize("name", [*REFUSED, *TAKEN])
def test_preview_of_a_bad_file_is_a_page(lead: Client, project: Project, name: str) -> None:
    content = REFUSED[name][1] if name in REFUSED else TAKEN[name]
    manifest = SimpleUploadedFile("audit.yaml", MANIFEST.replace("cases.csv", name).encode())
    for page in (said_by_preview(lead, name, content), said_by_preview(lead, name, content, manifest)):
        assert name in page
        assert len(page) < 300_000


@pytest.mark.parametrize("name", TAKEN)
def test_odd_file_is_taken_in_and_every_page_about_it_can_be_read(lead: Client, project: Project, name: str) -> None:
    job, _ = said_by_page(lead, name, TAKEN[name])
    assert job.state == JobState.DONE, job.problems
    audit_register(audit=job.audit, actor=operator_of(project), now=timezone.now())
    reviewer = client_of(member_add(project=project, username="rae", role=Role.REVIEWER))
    for client, path in (
        (lead, "audits/swap-1/"),
        (lead, "audits/swap-1/pairs?case=a"),
        (lead, "audits/swap-1/pairs/readers?side=candidate&parser=first-line-label@1"),
        (reviewer, "review"),
    ):
        assert client.get(f"/p/alpha/{path}").status_code == 200


@pytest.mark.parametrize(
    ("content", "why"), [(b"\xff\xfe", "not UTF-8 text at byte 0"), (b"x" * 1_000_001, "larger than")]
)
def test_manifest_that_is_no_text_is_told_by_the_preview(
    lead: Client, project: Project, content: bytes, why: str
) -> None:
    assert why in said_by_preview(lead, "cases.csv", TABLE, SimpleUploadedFile("audit.yaml", content))


def words(number: int) -> Iterator[str]:
    return (f"{n} may well be so, {'as was said, ' * 100}" for n in range(number))


def test_responses_taken_for_labels_fill_no_page(lead: Client, project: Project) -> None:
    rows = [ROWS[0] | {"id": f"c{n}", "old": text} for n, text in enumerate(words(1200))]
    job, _ = said_by_page(lead, "prose.json", json.dumps(rows).encode())
    assert job.audit.comparison.summary.integrity["old"]["labels_seen"] == 1200
    page = lead.get("/p/alpha/audits/swap-1/").content.decode()
    assert "and 1,180 more" in page
    assert len(page) < 100_000
    assert len(json.dumps(job.audit.comparison.summary.integrity)) < 50_000
    preview = said_by_preview(lead, "prose.json", json.dumps(rows).encode(), sent("prose.json", b"")["manifest"])
    assert "1,200 more, or longer than a label is, are not listed." in preview
    assert len(preview) < 100_000


@pytest.mark.parametrize("name", ["a b'\"<c>.csv", "-rf.csv", "ü\u0308.csv", ".csv", f"{'é' * 125}.csv"])
def test_odd_name_of_a_file_is_only_a_name(lead: Client, project: Project, name: str) -> None:
    assert escape(name) in said_by_preview(lead, name, TABLE)


def test_name_that_no_disk_keeps_is_refused_by_every_door(lead: Client, project: Project) -> None:
    name = f"{'é' * 126}.csv"
    for address, sent_there in (
        ("/p/alpha/previews", {"files": [SimpleUploadedFile(name, TABLE)]}),
        ("/p/alpha/audits/new", sent(name, TABLE)),
        ("/api/v1/projects/alpha/intakes", sent(name, TABLE)),
    ):
        answer = lead.post(address, sent_there)
        assert answer.status_code == 422
        assert "a file name longer than 255 bytes" in answer.content.decode()
    only_named = sent("cases.csv", TABLE) | {"manifest": sent(name, TABLE)["manifest"]}
    lead.post("/p/alpha/audits/new", only_named)
    assert ran(Job.objects.get()).state == JobState.REFUSED
