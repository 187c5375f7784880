import uuid

from django.db import models
from django.db.models import Q

from adjudication.models.queues import Item, Queue, Slot
from core.models import Author
from core.records import AppendOnly


class LeaseEnd(models.TextChoices):
    SUBMITTED = "submitted"
    SKIPPED = "skipped"
    RELEASED = "released"
    EXPIRED = "expired"


class Lease(models.Model):
    """Who holds a slot. Live while `ended_at` is null; one that has expired is ended by the next claim.

    `token` is all that an address at the desk says about the item: random, and new with every lease. One
    taken `ahead` waits behind the case in hand, loaded and not shown: it goes to whoever has nothing else.
    """

    token = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    slot = models.ForeignKey(Slot, models.CASCADE, related_name="leases")
    item = models.ForeignKey(Item, models.CASCADE, related_name="leases")
    author = models.ForeignKey(Author, models.PROTECT, related_name="leases")
    taken_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ahead = models.BooleanField(default=False)
    ended_at = models.DateTimeField(null=True)
    end = models.CharField(max_length=10, choices=LeaseEnd.choices, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["slot"], condition=Q(ended_at__isnull=True), name="one_live_lease_per_slot"
            ),
            models.UniqueConstraint(
                fields=["item", "author"],
                condition=Q(ended_at__isnull=True),
                name="one_live_lease_per_item_and_author",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, end="") | (Q(ended_at__isnull=False) & ~Q(end="")),
                name="a_lease_says_how_it_ended",
            ),
        ]
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(ended_at__isnull=True), name="live_lease_by_expiry"),
            models.Index(fields=["author"], condition=Q(ended_at__isnull=True), name="live_lease_by_author"),
            models.Index(fields=["author", "-ended_at", "-id"], name="lease_by_author_and_end"),
        ]

    def __str__(self) -> str:
        return f"{self.slot} held by {self.author}"


class Bookmark(models.Model):
    """How far a person has come in a queue's serving order: what is open before this rank they have answered
    or passed on, or a colleague holds it. It spares them the search, and decides nothing."""

    author = models.ForeignKey(Author, models.PROTECT, related_name="bookmarks")
    queue = models.ForeignKey(Queue, models.CASCADE, related_name="bookmarks")
    rank = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["author", "queue"], name="one_bookmark_per_author_and_queue")]

    def __str__(self) -> str:
        return f"{self.author} is at {self.rank} of {self.queue}"


class Skip(models.Model):
    """A reviewer passed an item on. It is not served to them again while others remain."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="skips")
    author = models.ForeignKey(Author, models.PROTECT, related_name="skips")
    at = models.DateTimeField()
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "author"], name="one_skip_per_item_and_author")]

    def __str__(self) -> str:
        return f"{self.item} skipped by {self.author}"


class Presentation(AppendOnly):
    """How an item was laid before one person: its artifacts from left to right, in an order drawn at random
    when it was first shown, and kept. `salt` orders what an adjudicator sees of others' answers."""

    item = models.ForeignKey(Item, models.PROTECT, related_name="presentations")
    author = models.ForeignKey(Author, models.PROTECT, related_name="presentations")
    order = models.JSONField()
    salt = models.CharField(max_length=32)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "author"], name="one_presentation_per_item_and_author"),
        ]

    def __str__(self) -> str:
        return f"{self.item} as shown to {self.author}"


class Draft(models.Model):
    """What a person has entered about an item and not sent. It outlives the lease, the session and the browser.

    `labels` is by artifact: a label, or null for *cannot judge*; an artifact without an answer is not in it.
    """

    item = models.ForeignKey(Item, models.CASCADE, related_name="drafts")
    author = models.ForeignKey(Author, models.PROTECT, related_name="drafts")
    labels = models.JSONField(default=dict)
    reasons = models.JSONField(default=list)
    rationale = models.TextField(blank=True)
    spans = models.JSONField(default=list)  # [artifact or null, part, start, end] of each text quoted
    seconds = models.PositiveIntegerField(default=0)  # active so far
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "author"], name="one_draft_per_item_and_author")]

    def __str__(self) -> str:
        return f"draft of {self.author} about {self.item}"


class KeyChoice(models.Model):
    """The keys that a person uses at the desk, by action, and whether keys act at all: the same in every browser."""

    author = models.OneToOneField(Author, models.PROTECT, related_name="key_choice")
    keys = models.JSONField(default=dict)
    off = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"keys of {self.author}"
