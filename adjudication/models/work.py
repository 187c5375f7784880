from django.db import models
from django.db.models import Q

from adjudication.models.queues import Item, Slot
from core.models import Author


class LeaseEnd(models.TextChoices):
    SUBMITTED = "submitted"
    SKIPPED = "skipped"
    RELEASED = "released"
    EXPIRED = "expired"


class Lease(models.Model):
    """Who holds a slot. Live while `ended_at` is null; one that has expired is ended by the next claim."""

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
