"""What the judgments of each side took: from the columns of the files to the report, the page and the packet."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from audits.exports.comparison import spent_rows
from audits.management.lines import integrity_lines
from audits.manifest import load_manifest
from audits.models import Audit
from audits.packets.checking import packet_check
from audits.packets.contents import PAIRS
from audits.packets.making import packet_write
from audits.services.opening import audit_open
from audits.services.registering import audit_register
from core.errors import InputError
from core.services import operator_at, operator_of
from judges.models import Judgment
from tests.audits.sample_manifest import SWAP
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]

HEADER = "id,answer,risk,old,new,ann,bob,final,old tokens,new tokens,new cost\n"
ROWS = [
    "a,one,high,Yes,Yes,,,,100,300,0.002",
    "b,two,low,Yes,No,,,,200,500,0.004",
    "c,three,low,No,No,,,,,,0",
    "d,four,low,No,Yes,,,,300,,",
]
Opened = Callable[[list[str]], Audit]


@pytest.fixture
def opened(db: None, tmp_path: Path) -> Opened:
    def open_it(rows: list[str]) -> Audit:
        document = yaml.load(SWAP, Loader=yaml.BaseLoader)
        del document["reviews"]
        document["sources"][1]["roles"]["tokens"] = "old tokens"
        document["sources"][2]["roles"] |= {"tokens": "new tokens", "cost": "new cost"}
        (tmp_path / "audit.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
        (tmp_path / "guideline.md").write_text("Is it right?")
        (tmp_path / "cases.csv").write_text(HEADER + "\n".join(rows) + "\n")
        actor = operator_at(project="demo", now=NOW)
        return audit_open(manifest=load_manifest(tmp_path / "audit.yaml"), actor=actor, now=NOW).audit

    return open_it


def test_sides_are_set_against_each_other_by_judgment(opened: Opened) -> None:
    integrity = opened(ROWS).comparison.summary.integrity
    assert integrity["old"]["spent"] == {"tokens": {"judgments": 3, "total": 600}}
    assert integrity["new"]["spent"] == {
        "tokens": {"judgments": 2, "total": 800},
        "cost": {"judgments": 3, "total": pytest.approx(0.006)},
    }
    tokens, cost = spent_rows(integrity)
    assert (tokens.old_each, tokens.new_each, tokens.words) == (200, 400, "2.00 times the old side's")
    assert (cost.old_each, cost.new_each, cost.words) == (None, pytest.approx(0.002), "one side does not say")
    said = "  tokens for each judgment: 200 old, 400 new; the new side takes 2.00 times the old side's"
    assert said in integrity_lines(integrity)
    stored = Judgment.objects.filter(run__generator__model="new").order_by("artifact__case__case_id")
    assert list(stored.values_list("tokens", "cost")) == [(300, 0.002), (500, 0.004), (None, 0.0), (None, None)]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a,one,high,Yes,Yes,,,,1.5,300,0.002", "row 1, column old tokens: not a number of tokens (found '1.5')"),
        ("a,one,high,Yes,Yes,,,,-1,300,0.002", "row 1, column old tokens: not a number of tokens (found '-1')"),
        ("a,one,high,Yes,Yes,,,,1,300,-0.1", "row 1, column new cost: a cost that is no number from 0 (found '-0.1')"),
        ("a,one,high,Yes,Yes,,,,1,300,nan", "row 1, column new cost: a cost that is no number from 0 (found 'nan')"),
    ],
)
def test_what_is_no_amount_is_refused_by_row_and_column(opened: Opened, row: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        opened([row, *ROWS[1:]])
    assert [said in str(problem) for problem in caught.value.problems] == [True], caught.value.problems
    assert not Judgment.objects.exists()


def test_packet_holds_every_amount_and_an_altered_one_is_found(opened: Opened, tmp_path: Path) -> None:
    audit = opened(ROWS)
    audit_register(audit=audit, actor=operator_of(audit.project), now=NOW)
    path, altered = tmp_path / "packet.zip", tmp_path / "altered.zip"
    packet_write(audit=audit, path=path, actor=operator_of(audit.project), now=NOW)
    assert [check.name for check in packet_check(path) if not check.passed] == []
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(altered, "w") as other:
        for name in whole.namelist():
            content = whole.read(name)
            other.writestr(
                name, content.replace(b",unrecorded,300,", b",unrecorded,301,") if name == PAIRS else content
            )
    found = {check.name: check.named for check in packet_check(altered) if not check.passed}
    assert set(found) == {"checksums", "integrity"}
    assert "spent.tokens.total" in found["integrity"][0]
