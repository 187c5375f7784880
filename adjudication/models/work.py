import uuid

from django.db import models
from django.db.models import Q

from adjudication.models.queues import Item, Slot
from core.models import Author
from core.records import AppendOnly


class LeaseEnd(models.TextChoices):
    SUBMITTED = "submitted"
    SKIPPED = "skipped"
    RELEASED = "released"
    EXPIRED = "expired"


class Lease(models.Model):
    """Who holds a slot. Live while `ended_at` is null; one that has expired is ended by the next claim.

    `token` is all that an address at the desk says about the item: random, and new with every lease.
    """

    token = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    slot = models.ForeignKey(Slot, models.CASCADE, related_name="leases")
    item = models.ForeignKey(Item, models.CASCADE, related_name="leases")
    author = models.ForeignKey(Author, models.PROTECT, related_name="leases")
    taken_at = models.DateTimeField()
    expires_at = models.DateTimeField()
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
    seconds = models.PositiveIntegerField(default=0)  # active so far
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["item", "author"], name="one_draft_per_item_and_author")]

    def __str__(self) -> str:
        return f"draft of {self.author} about {self.item}"
