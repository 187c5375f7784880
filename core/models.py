"""Who there is, and what happened."""

import uuid

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

    INTAKE = "intake", "send manifests, label files and anchor sets, follow and cancel their intake"
    AUDITS_READ = "audits:read", "read audits, their looks, gates and lists"
    AUDITS_WRITE = "audits:write", "register and extend audits, make anchor sets, serve skipped cases again"
    EXPORTS_READ = "exports:read", "download reports, anchors, reviews and packets"
    WEBHOOKS = "webhooks", "make, change and end webhooks, and send their messages again"
    DECIDE = "decide", "diagnose, sign off, open holdouts, place reason codes, manage members, as a person"
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


class WebhookKind(models.TextChoices):
    """What a webhook may tell of, as its messages have it in `type`."""

    LOOK_COMPUTED = "look.computed", "a look was computed"
    TARGET_REACHED = "target.reached", "a look has reached its plan's target width"
    AUDIT_SETTLED = "audit.settled", "every case drawn is settled"
    IMPORT_FINISHED = "import.finished", "an intake, or an import of anchors or labels, has ended, well or not"


class WebhookEndpoint(models.Model):
    """An address outside that is told what happens in a project.

    Its secret is kept nowhere: it follows from SECRET_KEY and `secret_id`, which is shown to nobody. The one before
    signs too, until `old_until`. `taker` delivers now, by compare-and-swap; after a failure nobody does until
    `rests_until`.
    """

    project = models.ForeignKey(Project, models.PROTECT, related_name="webhooks")
    url = models.CharField(max_length=500)
    kinds = models.JSONField()
    secret_id = models.CharField(max_length=32)
    old_secret_id = models.CharField(max_length=32, blank=True)
    old_until = models.DateTimeField(null=True)
    made_by = models.ForeignKey(Author, models.PROTECT, related_name="webhooks_made")
    made_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)  # since the last message that was taken
    rests_until = models.DateTimeField(null=True)
    taker = models.CharField(max_length=32, blank=True)
    taken_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "url"], condition=models.Q(ended_at=None), name="one_live_webhook_per_address"
            ),
        ]

    def __str__(self) -> str:
        return f"webhook {self.pk}"


class WebhookMessage(AppendOnly):
    """What webhooks are told, written in the transaction that made it so, with a delivery to each that asked for it."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="webhook_messages")
    uid = models.UUIDField(default=uuid.uuid4, unique=True)
    kind = models.CharField(max_length=20, choices=WebhookKind.choices)
    thing = models.CharField(max_length=100)  # what it is about, as in "look 7"
    at = models.DateTimeField()
    data = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "kind", "thing"], name="one_message_per_thing_and_kind"),
            models.CheckConstraint(condition=models.Q(kind__in=WebhookKind.values), name="webhook_kind_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.thing}"

    @property
    def name(self) -> str:
        """Its `webhook-id`."""
        return f"msg_{self.uid.hex}"


class DeliveryState(models.TextChoices):
    WAITING = "waiting"
    DELIVERED = "delivered"
    GIVEN_UP = "given up"


class WebhookDelivery(models.Model):
    """One message on its way to one webhook. `asked_at` is when it was first to be sent, or was sent again by a person;
    `tries` are since then, `attempts` are all."""

    message = models.ForeignKey(WebhookMessage, models.PROTECT, related_name="deliveries")
    endpoint = models.ForeignKey(WebhookEndpoint, models.PROTECT, related_name="deliveries")
    state = models.CharField(max_length=10, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    asked_at = models.DateTimeField()
    next_at = models.DateTimeField()
    tries = models.PositiveIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["message", "endpoint"], name="one_delivery_per_message_and_webhook"),
            models.CheckConstraint(condition=models.Q(state__in=DeliveryState.values), name="delivery_state_is_known"),
            models.CheckConstraint(
                condition=models.Q(state="waiting", ended_at__isnull=True)
                | (~models.Q(state="waiting") & models.Q(ended_at__isnull=False)),
                name="a_delivery_has_ended_when_it_waits_no_more",
            ),
        ]
        indexes = [
            models.Index(
                fields=["endpoint", "next_at"], condition=models.Q(state="waiting"), name="waiting_delivery_by_time"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.message} to {self.endpoint}"


class WebhookAttempt(AppendOnly):
    """A message was sent: the status of the answer, or why there was none."""

    delivery = models.ForeignKey(WebhookDelivery, models.PROTECT, related_name="log")
    n = models.PositiveIntegerField()
    at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True)
    fault = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["delivery", "n"], name="attempts_are_numbered"),
            models.CheckConstraint(
                condition=models.Q(status__isnull=False, fault="")
                | (models.Q(status__isnull=True) & ~models.Q(fault="")),
                name="an_attempt_has_a_status_or_a_fault",
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.n} at {self.delivery}: {self.words}"

    @property
    def words(self) -> str:
        return self.fault or f"answered {self.status}"
