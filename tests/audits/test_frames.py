"""The frame and the pool: the same from the same pairs in any order, and the labels of settled prefixes alone."""

import random
from collections import Counter
from itertools import product
from typing import Any

import pytest

from adjudication.models import Reference, Settlement
from adjudication.services.queues import NewItem, items_add
from adjudication.services.settlements import item_settle
from audits.frames import FrameRow, frame_bytes, frame_of, frame_rows, frame_sizes, pool_of, sizes_of
from audits.models import Audit
from audits.plans import frame_plan
from audits.services.registering import audit_extend, audit_register
from audits.stats.pool import Waiting
from core.models import Project
from judges.models import Case
from judges.selectors import pairs_of
from tests import factories
from tests.factories import NOW

pytestmark = [pytest.mark.database, pytest.mark.django_db]

WORDS = ("Yes", "No")


@pytest.fixture
def project(db: None) -> Project:
    return factories.make_project()


def _verdicts(number: int, seed: int = 1, faults: bool = False) -> dict[str, tuple[str | None, str | None]]:
    rng = random.Random(seed)
    choices: tuple[str | None, ...] = (*WORDS, "", None) if faults else WORDS
    return {f"q{n:03d}": (rng.choice(choices), rng.choice(choices)) for n in range(number)}


def _frame(audit: Audit) -> list[FrameRow]:
    return frame_rows(audit.comparison, pairs_of(audit.comparison), frame_plan(audit))


def test_frame_holds_every_eligible_case_once_with_places_from_1(project: Project) -> None:
    audit = factories.make_audit(factories.make_swap(project, _verdicts(60, faults=True)))
    rows = _frame(audit)
    eligible = {pair.case_id: pair.verdicts for pair in pairs_of(audit.comparison) if pair.eligible}
    assert {row.case_id: (row.old, row.new) for row in rows} == eligible
    for stratum in {row.stratum for row in rows}:
        places = [row.position for row in rows if row.stratum == stratum]
        assert places == list(range(1, len(places) + 1))
    assert {row.stratum for row in rows} == {"agree", "disagree"}
    assert all((row.stratum == "agree") == (row.old == row.new) for row in rows)


def test_plan_is_sized_by_the_very_frame_that_a_registration_freezes(project: Project) -> None:
    """Strata that were merged for being small included."""
    swap = factories.make_swap(project, _verdicts(60))
    audit = factories.make_audit(swap, plan={"strata_by": "transition", "merge_below": 50})
    plan = frame_plan(audit)
    sizes = frame_sizes(audit.comparison, pairs_of(audit.comparison), plan)
    assert sizes == sizes_of(_frame(audit), plan)
    assert any(" + " in stratum for stratum, *_ in sizes.cells)


def test_frame_depends_on_content_alone_and_on_no_row_order_or_key(project: Project) -> None:
    verdicts = _verdicts(40)
    audit = factories.make_audit(factories.make_swap(project, verdicts))
    pairs = list(pairs_of(audit.comparison))
    first = frame_bytes(frame_rows(audit.comparison, pairs, frame_plan(audit)))
    assert frame_bytes(frame_rows(audit.comparison, pairs[::-1], frame_plan(audit))) == first
    other = factories.make_project("other")
    shuffled = dict(random.Random(3).sample(list(verdicts.items()), len(verdicts)))
    again = factories.make_audit(factories.make_swap(other, shuffled))
    assert [pair.case_pk for pair in pairs_of(again.comparison)] != [pair.case_pk for pair in pairs]
    assert frame_bytes(_frame(again)) == first


@pytest.mark.parametrize("change", [{"seed": "8"}, {"strata_by": "transition"}])
def test_frame_changes_with_the_plan(project: Project, change: dict[str, Any]) -> None:
    audit = factories.make_audit(factories.make_swap(project, _verdicts(40)))
    before = frame_bytes(_frame(audit))[0]
    audit.plan |= change
    assert frame_bytes(_frame(audit))[0] != before


def test_stored_frame_reads_back_as_it_was_made(project: Project) -> None:
    labels = ['a "b"', "c→d", "שלום"]
    verdicts = {"=1+1": ("x", "y"), "é\u2028": ("y", "z"), "q": ("z", "z")}
    swap = factories.make_swap(project, verdicts, labels=labels, table=dict(zip("xyz", labels, strict=True)))
    audit = factories.make_audit(swap, labels=labels)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    assert frame_of(audit.frame) == _frame(audit)
    assert audit.frame.sha256 == frame_bytes(_frame(audit))[0]


def test_changed_decision_in_a_blocking_slice_is_a_forced_case(project: Project) -> None:
    swap = factories.make_swap(
        project,
        {"a": ("Yes", "No"), "b": ("Yes", "Yes"), "c": ("No", "Yes")},
        slices={"a": {"risk": "high"}, "b": {"risk": "high"}, "c": {"risk": "low"}},
        blocking=["risk=high"],
    )
    audit = factories.make_audit(swap)
    assert {row.case_id: row.stratum for row in _frame(audit)} == {"a": "forced", "b": "agree", "c": "disagree"}
    audit.review["adjudicate_all_blocking_transitions"] = False
    assert {row.case_id: row.stratum for row in _frame(audit)} == {"a": "disagree", "b": "agree", "c": "disagree"}


def test_strata_names_fit_their_column_however_long_the_slices_are(project: Project) -> None:
    verdicts = {f"q{n}": ("Yes", "No") for n in range(6)}
    slices = {case: {"team": f"{n} " + "x" * 190, "locale": "y" * 200} for n, case in enumerate(verdicts)}
    plan = {"strata_slices": ["team", "locale"], "merge_below": 2}
    audit = factories.make_audit(factories.make_swap(project, verdicts, slices=slices), plan=plan)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    sizes = dict(audit.strata.values_list("name", "size"))
    assert sorted(sizes.values()) == [2, 2, 2]
    assert all(len(name) <= 200 for name in sizes)
    assert audit.draws.count() == 6


def _settle(audit: Audit, rng: random.Random, share: float) -> None:
    """Settle a random part of the drawn items, some without a label."""
    drawn = list(audit.draws.select_related("item").order_by("pk"))
    for draw in rng.sample(drawn, int(share * len(drawn))):
        shown = list(draw.item.shown.values_list("artifact", flat=True))
        decision = {artifact: rng.choice(["pass", "fail", "pass", None]) for artifact in shown}
        item_settle(item=draw.item, how="single", decision=decision, actor=factories.operator(audit), now=NOW)


def _naive(
    audit: Audit, settled: dict[int, tuple[int, Any]], watermark: int, registration: int
) -> tuple[dict[Any, Any], Any]:
    """Per cell (size, labels, undecided), and what waits, by the plainest loops there are."""
    cells: dict[Any, Any] = {}
    places: dict[str, dict[int, Any]] = {}
    for row in frame_of(audit.frame):
        cells.setdefault((row.stratum, row.old, row.new, row.same_content), [0, Counter(), 0])[0] += 1
    for draw in audit.draws.filter(registration__n__lte=registration).select_related("stratum"):
        number, key = settled.get(draw.item_id, (10**9, None))
        cell = (draw.stratum.name, draw.old, draw.new, draw.same_content)
        places.setdefault(draw.stratum.name, {})[draw.position] = (number <= watermark, cell, key)
    waiting = {}
    for stratum, by_place in places.items():
        prefix = 0
        while by_place.get(prefix + 1, (False,))[0]:
            prefix += 1
            _, cell, key = by_place[prefix]
            if key is None:
                cells[cell][2] += 1
            else:
                cells[cell][1][key] += 1
        early = [place for place, (done, *_) in by_place.items() if done and place > prefix]
        if early:
            gaps = sum(not by_place[place][0] for place in range(1, max(early)))
            waiting[stratum] = Waiting(settled=len(early), gaps=gaps)
    return {cell: tuple(found) for cell, found in cells.items()}, waiting


def _settled(audit: Audit) -> dict[int, tuple[int, Any]]:
    """By item: the number of its settlement, and the labels as the pool keys them."""
    systems = [audit.comparison.old_run.system_version_id, audit.comparison.new_run.system_version_id]
    found = {}
    for one in Settlement.objects.all():
        by_system = dict(Reference.objects.filter(settlement=one).values_list("artifact__system_version", "label"))
        both = tuple(by_system.get(system) for system in systems)
        found[one.item_id] = (one.number, both[1] if audit.comparison.is_swap else None if None in both else both)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_pool_equals_a_plain_count_at_every_watermark(project: Project, seed: int) -> None:
    rng = random.Random(seed)
    verdicts = _verdicts(rng.randint(60, 90), seed)
    if seed % 2:
        comparison = factories.make_upgrade(project, verdicts, same=[case for case in verdicts if rng.random() < 0.3])
    else:
        comparison = factories.make_swap(project, verdicts)
    by = ["agreement", "transition"][seed // 2 % 2]
    plan = {"strata_by": by, "half_width": 0.9, "allocation": {}, "agree_minimum": 5}
    audit = factories.make_audit(comparison, plan=plan)
    first = audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    _settle(audit, rng, share=0.7)
    sizes = dict(audit.strata.values_list("name", "size"))
    assert first.registration.labels != sizes
    audit_extend(audit=audit, labels=sizes, actor=factories.operator(audit), now=NOW)
    _settle_open(audit, rng)
    audit.queue.refresh_from_db()
    settled, last = _settled(audit), audit.queue.settled
    assert last == len(settled) > 20
    for watermark, registration in product({*range(0, last, 7), last}, (1, 2)):
        pool = pool_of(audit, watermark=watermark, registration=registration)
        found = {
            (cell.stratum, cell.old, cell.new, cell.structural_zero): (cell.size, Counter(cell.labels), cell.undecided)
            for cell in pool.cells
        }
        assert (found, pool.waiting) == _naive(audit, settled, watermark, registration)


def _settle_open(audit: Audit, rng: random.Random) -> None:
    for draw in audit.draws.filter(item__state="open").select_related("item"):
        if rng.random() < 0.5:
            decision = dict.fromkeys(draw.item.shown.values_list("artifact", flat=True), rng.choice(["pass", "fail"]))
            item_settle(item=draw.item, how="single", decision=decision, actor=factories.operator(audit), now=NOW)


def test_labels_outside_the_sample_enter_no_pool(project: Project) -> None:
    plan = {"half_width": 0.9, "allocation": {}, "agree_minimum": 1}
    audit = factories.make_audit(factories.make_swap(project, _verdicts(60)), plan=plan)
    audit_register(audit=audit, actor=factories.operator(audit), now=NOW)
    case = Case.objects.exclude(draws__isnull=False).first()
    assert case is not None
    artifact = case.artifacts.get()
    item = items_add(queue=audit.queue, items=[NewItem(case.pk, (artifact.pk,), None)])[case.pk]
    item_settle(item=item, how="imported", decision={artifact.pk: "pass"}, actor=factories.operator(audit), now=NOW)
    pool = pool_of(audit, watermark=1, registration=1)
    assert (sum(cell.settled for cell in pool.cells), pool.waiting) == (0, {})
