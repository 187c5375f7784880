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
    PIPELINE = "pipeline"


class Author(models.Model):
    """Whoever states something: every label and every event has one, and keeps it when the person leaves.

    An operator is whoever works at the command line of the installation, a pipeline a program with a token.
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


class Scope(models.TextChoices):
    """What a token may be used for. The last two are for people: nobody signs or reviews as a pipeline."""

    INTAKE = "intake", "send manifests and label files, follow and cancel their intake"
    AUDITS_READ = "audits:read", "read audits, their looks, gates and lists"
    AUDITS_WRITE = "audits:write", "register and extend audits, serve skipped cases again"
    EXPORTS_READ = "exports:read", "download reports, anchors and reviews"
    DECIDE = "decide", "diagnose, sign off, open holdouts, place reason codes, as a person"
    REVIEW = "review", "answer cases at the desk, as a person"


class ApiToken(models.Model):
    """A key to one project: what it does is done by its author, in the author's role and within its scopes.

    The key itself is shown once and kept by nobody; `digest` is its hash, and `start` is for people to tell it by.
    """

    author = models.ForeignKey(Author, models.PROTECT, related_name="tokens")
    start = models.CharField(max_length=16)
    digest = models.CharField(max_length=64)
    scopes = models.JSONField()
    made_by = models.ForeignKey(Author, models.PROTECT, related_name="tokens_made")
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["digest"], name="one_token_per_digest"),
            models.CheckConstraint(
                condition=models.Q(expires_at__gt=models.F("made_at")), name="a_token_expires_after_it_is_made"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.start}… of {self.author}"


class StoredAnswer(models.Model):
    """What a write with an `Idempotency-Key` was answered, so that the same request gets the same answer.

    Written in the transaction of the write itself: there is neither a write without it nor it without a write.
    """

    author = models.ForeignKey(Author, models.CASCADE, related_name="stored_answers")
    key = models.CharField(max_length=255)
    asked = models.CharField(max_length=64)  # hash of the method, the path and what was sent
    status = models.PositiveSmallIntegerField(default=0)
    location = models.CharField(max_length=500, blank=True)
    body = models.JSONField(null=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["author", "key"], name="one_answer_per_author_and_key")]
        indexes = [models.Index(fields=["at"], name="stored_answer_by_age")]

    def __str__(self) -> str:
        return f"{self.key} of {self.author}"
