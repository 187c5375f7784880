"""Who holds a slot now."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet

from adjudication.calibration import known_cases_left
from adjudication.in_hand import leases_held, slot_with_case
from adjudication.models import Bookmark, Calibration, Lease, LeaseEnd, Queue, Slot, SlotKind, SlotState
from adjudication.services.calibrating import slot_beside, slot_for_one_more
from adjudication.services.presentations import presentation_ensure
from adjudication.serving import Place, kinds_for, places_onward, queues_waiting
from core.access import require_role
from core.errors import Problem, Refused
from core.models import Author, Project, Role
from core.rows import one_value, stored

SERVED = (Role.REVIEWER, Role.ADJUDICATOR)
LEASE = timedelta(minutes=30)
MOST_TRIES = 100  # a try is lost only to somebody else's success
BOOKMARK_EVERY = 25  # ranks: a search passes no more of one's own answers than this


class LeaseLost(Refused):
    """The slot went to somebody else, or is not needed any more."""

    def __init__(self) -> None:
        super().__init__(Problem("the lease has ended; the item may be with somebody else now"))


@dataclass(frozen=True)
class Work:
    """The case that a person has in hand, and the one that will follow it, taken ahead so that it can be loaded.
    `queues` are those with something open."""

    lease: Lease | None
    ahead: Lease | None
    queues: Sequence[Queue]


def work_claim(*, project: Project, actor: Author, now: datetime, passed_on: bool = False) -> Work:
    """What this person works on next, whatever queue it is in: what they took last, or else the next open slot.

    What they have passed on comes back only when they ask for it: it is there for their colleagues first.
    """
    leases_expire(now=now)
    # Practice of one's own choice is gone on with on its own page.
    held = [lease for lease in leases_held(actor) if lease.slot.kind != SlotKind.PRACTICE]
    search = _Search(queues_waiting(project, actor), actor, require_role(actor, *SERVED))
    if held:
        # One transaction for all that an answer brings: on SQLite each one waits for all the others.
        with transaction.atomic():
            _one_window_at_a_time(actor)
            if lease := _resume(held, actor, now):
                return _with_what_follows(lease, held, search, now)
    return _with_what_follows(_take(search, lambda: search.whole(passed_on), now), (), search, now)


def _with_what_follows(lease: Lease | None, held: Iterable[Lease], search: "_Search", now: datetime) -> Work:
    if lease is None or lease.slot.kind == SlotKind.PRACTICE:  # after a practice case comes what was right
        return Work(lease, None, search.queues)
    ahead = next((other for other in held if other.pk != lease.pk and not other.ended_at), None)
    ahead = ahead or _take(search, search.onward, now, ahead=True)
    for one in (lease, ahead):
        if one is not None:
            presentation_ensure(item=one.item, author=search.actor, now=now)
    return Work(lease, ahead, search.queues)


def slot_claim(*, queue: Queue, actor: Author, now: datetime, passed_on: bool = True) -> Lease | None:
    """The slot this person works on next: the one they hold, or the first open one in serving order.

    Adjudicators are served conflicts first, and reviews only where another adjudicator is left to settle
    what may become a conflict. Reviewers are served the practice that the queue asks for before anything else, and
    now and then a hidden anchor instead of the next slot. None: nothing is waiting for this person. Expired leases
    are ended here, so that no worker has to run for an abandoned item to be served again.
    """
    role = require_role(actor, *SERVED)
    if queue.project_id != actor.project_id:
        raise Refused(Problem(f"{actor} is no member of the project of this queue"))
    leases_expire(now=now)
    waiting = [one for one in queues_waiting(queue.project, actor) if one.pk == queue.pk]
    search = _Search(waiting, actor, role)
    return _take(search, lambda: search.whole(passed_on), now)


def practice_claim(*, practice: Queue, actor: Author, now: datetime) -> Lease | None:
    """The case of a practice set that this person goes on with; None when they have answered all of it."""
    require_role(actor, *SERVED)
    if practice.project_id != actor.project_id:
        raise Refused(Problem(f"{actor} is no member of the project of this set"))
    leases_expire(now=now)
    for _ in range(MOST_TRIES):
        try:
            with transaction.atomic():
                _one_window_at_a_time(actor)
                if lease := _resume(_held_in({practice.pk}, actor), actor, now):
                    return lease
                item = next(known_cases_left(practice, actor), None)
                if item is None:
                    return None
                slot = slot_for_one_more(item, SlotKind.PRACTICE)
                return Lease.objects.create(slot=slot, item=item, author=actor, taken_at=now, expires_at=now + LEASE)
        except IntegrityError:  # one_live_lease_per_slot, or one_slot_per_number: somebody was faster
            continue
    raise Refused(Problem("too many people claim at this moment; try again"))


_ANY_EXPIRED = "SELECT 1 FROM adjudication_lease WHERE ended_at IS NULL AND expires_at <= %(expires_at)s LIMIT 1"


def leases_expire(*, now: datetime) -> int:
    """End what has run out. A slot that was abandoned is served before what nobody has begun."""
    expired = Lease.objects.filter(ended_at__isnull=True, expires_at__lte=now)
    # Asked first: on SQLite a transaction waits for the one writer even where it finds nothing.
    if one_value(_ANY_EXPIRED, stored(Lease, expires_at=now)) is None:
        return 0
    with transaction.atomic():
        # Nobody is waited for: whoever has one of the two locked may wait for the other. The next claim comes by again.
        locked = expired.select_related("slot").select_for_update(skip_locked=True, no_key=True, of=("self", "slot"))
        found = {lease.pk: lease.slot_id for lease in locked.order_by("pk")}
        Slot.objects.filter(pk__in=found.values()).update(urgent=True)
        return Lease.objects.filter(pk__in=found).update(ended_at=now, end=LeaseEnd.EXPIRED)


def lease_renew(*, lease: Lease, actor: Author, now: datetime) -> Lease:
    """The holder's own heartbeat: never refused while nobody else holds the slot."""
    change = {"expires_at": now + LEASE} | ({"ahead": False, "taken_at": now} if lease.ahead else {})
    _change_live(Lease.objects.filter(pk=lease.pk, author=actor), now, **change)
    lease.ended_at, lease.end = None, ""
    for field, value in change.items():
        setattr(lease, field, value)
    return lease


def lease_end(*, lease: Lease, end: LeaseEnd, now: datetime) -> None:
    _change_live(Lease.objects.filter(pk=lease.pk), now, ended_at=now, end=end)
    lease.ended_at, lease.end = now, end


def _held_in(queues: Container[int | None], actor: Author) -> list[Lease]:
    return [lease for lease in leases_held(actor) if lease.item.queue_id in queues]


def _resume(held: Iterable[Lease], actor: Author, now: datetime) -> Lease | None:
    """The first of these leases, in front of its holder from now on; what was loaded ahead may be lost by now."""
    for lease in held:
        try:
            return lease_renew(lease=lease, actor=actor, now=now)
        except LeaseLost:
            lease.ended_at = now
    return None


def _change_live(lease: QuerySet[Lease], now: datetime, **change: Any) -> None:
    """Change a live lease, or one that has expired, if its slot waits for an answer that nobody else is giving."""
    live = lease.filter(ended_at__isnull=True)
    if live.update(**change) or (_take_back(lease, now) and live.update(**change)):
        return
    raise LeaseLost


def _take_back(lease: QuerySet[Lease], now: datetime) -> bool:
    expired = lease.filter(end=LeaseEnd.EXPIRED, slot__state=SlotState.OPEN)
    try:
        with transaction.atomic():
            # The slot first, as a claim locks it: whoever claims it now would else wait for this lease, and the answer
            # that this lease is for would wait for the slot.
            list(Slot.objects.select_for_update(no_key=True).filter(pk__in=expired.values("slot")))
            return expired.update(ended_at=None, end="", expires_at=now + LEASE) == 1
    except IntegrityError:  # one_live_lease_per_slot: somebody has taken it since
        return False


@dataclass(frozen=True)
class _Search:
    """Where the next slot of a person may lie, in these queues."""

    queues: Sequence[Queue]  # of `queues_waiting`
    actor: Author
    role: Role

    def onward(self) -> Iterator[Place]:
        """In each queue the conflicts, then what holds things up, then what lies beyond the bookmark."""
        for queue in self.queues:
            yield from places_onward(queue, self.actor, self.role)

    def whole(self, passed_on: bool) -> Iterator[Place]:
        """All there is, before it is said that nothing waits: a bookmark hides nothing, nor what others only loaded."""
        yield from self.onward()
        yield from self._everywhere()
        if passed_on:
            yield from self._everywhere(skipped=True)
            for calibration in self._calibrations():
                if calibration.anchors:
                    yield Place(calibration.anchors, self.actor, self.role, SlotKind.ANCHOR, skipped=True)
        yield from self._everywhere(loaded_by_another=True)

    def held_in(self) -> set[int | None]:
        """The queues in which this person may hold a lease that goes before another search."""
        known = [(calibration.practice_id, calibration.anchors_id) for calibration in self._calibrations()]
        return {*(queue.pk for queue in self.queues), *(pk for pair in known for pk in pair)}

    def _calibrations(self) -> Iterator[Calibration]:
        if self.role == Role.REVIEWER:
            yield from (queue.calibration for queue in self.queues if hasattr(queue, "calibration"))

    def _everywhere(self, **where: bool) -> Iterator[Place]:
        for queue in self.queues:
            for kind in kinds_for(self.role):
                yield Place(queue, self.actor, self.role, kind, **where)


_STILL_OPEN = "SELECT 1 FROM adjudication_slot WHERE id = %(slot)s AND state = 'open'"


def _take(
    search: _Search, places: Callable[[], Iterator[Place]], now: datetime, *, ahead: bool = False
) -> Lease | None:
    """Hold the first slot in these places; where nothing was to be held ahead, what the person holds by now.

    SQLite has one writer. There a reviewer's search through everything is over before the write begins, which looks at
    its find again.
    """
    locking = connection.features.has_select_for_update
    within = locking or search.role == Role.ADJUDICATOR
    for _ in range(MOST_TRIES):
        found = None if within else _first(places(), locked=False)
        try:
            with transaction.atomic():
                _one_window_at_a_time(search.actor)
                held = () if ahead else _held_in(search.held_in(), search.actor)
                if lease := _resume(held, search.actor, now):
                    return lease
                if within:
                    found = _first(places(), locked=locking)
                if found is None:
                    return None
                place, slot = found
                if within or one_value(_STILL_OPEN, {"slot": slot.pk}):
                    beside = slot_beside(place.queue, search.actor) if search.role == Role.REVIEWER else None
                    return _hold(beside or slot, place, now, ahead)
        except IntegrityError:  # one_live_lease_per_slot, or one_slot_per_number: somebody was faster
            continue
    raise Refused(Problem("too many people claim at this moment; try again"))


def _one_window_at_a_time(actor: Author) -> None:
    """A person's windows come one after the other, and find what the first of them took. SQLite has one writer."""
    if connection.features.has_select_for_update:
        one_value("SELECT id FROM core_author WHERE id = %(author)s FOR NO KEY UPDATE", {"author": actor.pk})


def _first(places: Iterable[Place], *, locked: bool) -> tuple[Place, Slot] | None:
    for place in places:
        if pk := place.first(locked=locked):
            return place, slot_with_case(pk)
    return None


def _hold(slot: Slot, place: Place, now: datetime, ahead: bool) -> Lease:
    queue, actor = place.queue, place.author
    if place.loaded_by_another:
        _let_go(slot, now)
    if slot.queue_id == queue.pk:  # and not of a known case beside it
        if place.beyond + BOOKMARK_EVERY <= slot.rank and not slot.urgent:
            Bookmark.objects.update_or_create(author=actor, queue=queue, defaults={"rank": slot.rank})
        slot.item.queue = queue
    return Lease.objects.create(
        slot=slot, item=slot.item, author=actor, taken_at=now, expires_at=now + LEASE, ahead=ahead
    )


def _let_go(slot: Slot, now: datetime) -> None:
    """Take a slot from whoever has only loaded it. Raises `IntegrityError` where they have it in hand by now."""
    loaded = Lease.objects.filter(slot=slot, ahead=True, ended_at=None)
    locked = loaded.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True)
    if Lease.objects.filter(pk__in=list(locked)).update(ended_at=now, end=LeaseEnd.RELEASED) != 1:
        raise IntegrityError("one_live_lease_per_slot")
