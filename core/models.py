"""Who there is, and what happened."""

from django.conf import settings
from django.db import models

from core.records import AppendOnly


class Project(models.Model):
    """The tenant: one team's comparisons, people and labels. Nothing crosses from one to another."""

    name = models.CharField(max_length=100, unique=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    REVIEWER = "reviewer"
    ADJUDICATOR = "adjudicator"
    LEAD = "lead"
    OWNER = "owner"


class Membership(models.Model):
    """What one user may do in one project: one role each."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="one_role_per_member"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} in {self.project}"


class AuthorKind(models.TextChoices):
    MEMBER = "member"
    IMPORTED = "imported"
    SIMULATED = "simulated"
    OPERATOR = "operator"


class Author(models.Model):
    """Whoever states something: every label and every event has one, and keeps it when the person leaves.

    An operator is whoever works at the command line of the installation.
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="authors")
    pseudonym = models.CharField(max_length=100)
    kind = models.CharField(max_length=20, choices=AuthorKind.choices)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="authors")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "pseudonym"], name="one_author_per_pseudonym"),
            models.UniqueConstraint(
                fields=["project", "user"], condition=models.Q(user__isnull=False), name="one_author_per_member"
            ),
            models.CheckConstraint(condition=models.Q(kind__in=AuthorKind.values), name="author_kind_is_known"),
        ]

    def __str__(self) -> str:
        return self.pseudonym


class ExternalAccount(models.Model):
    """Whom an OpenID Connect provider knows under this subject: tied to an account at the first sign-in, for good."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="external_accounts")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    tied_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_account_per_subject_of_an_issuer"),
            models.UniqueConstraint(fields=["issuer", "user"], name="one_subject_of_an_issuer_per_account"),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.issuer}"


class Event(AppendOnly):
    """What happened, written in the transaction that made it happen. It is also the outbox: the tasks
    that follow an event can be found from here when the message that should have woken them was lost."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="events")
    name = models.CharField(max_length=60)
    actor = models.ForeignKey(Author, models.PROTECT, related_name="events")
    at = models.DateTimeField()
    payload = models.JSONField()

    class Meta:
        indexes = [models.Index(fields=["project", "name"], name="event_by_name")]

    def __str__(self) -> str:
        return f"{self.name} by {self.actor} at {self.at:%Y-%m-%d %H:%M:%S}"
