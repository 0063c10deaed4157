"""The attempt ledger."""

from django.db import models
from django.db.models import Q

from todos.inputs import MAX_LABEL_LENGTH
from todos.models.endpoint import Endpoint
from todos.models.fields import StatementTimestamp
from todos.models.todo import Todo
from todos.states import DIED, INTERRUPT_STATES, Outcome


class Attempt(models.Model):
    """One span from a claim to the transition that ends its lease (the attempt ledger)."""

    class ClaimerKind(models.TextChoices):
        ENDPOINT = "endpoint"
        OWNER = "owner", "a signed-in human"

    id = models.BigAutoField(primary_key=True)
    todo = models.ForeignKey(Todo, models.PROTECT, related_name="attempts", db_index=False)
    seq = models.IntegerField()
    attempt = models.IntegerField()
    claimer_kind = models.CharField(max_length=8, choices=ClaimerKind)
    # No constraint of its own: it is the todo's endpoint, which the todo protects.
    claimer_endpoint = models.ForeignKey(
        Endpoint, models.PROTECT, null=True, blank=True, db_index=False, db_constraint=False
    )
    owner = models.CharField(max_length=MAX_LABEL_LENGTH)
    claimant = models.CharField(max_length=128, db_default="")
    claimed_at = models.DateTimeField(db_default=StatementTimestamp())
    last_heartbeat_at = models.DateTimeField(null=True, blank=True)
    lease_expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    waited_since = models.DateTimeField(null=True, blank=True)
    """Of a reclaimed wait: when it began. The todo itself forgets it."""
    ended_from = models.CharField(max_length=16, null=True, blank=True)
    outcome = models.CharField(max_length=16, null=True, blank=True)
    disposition = models.CharField(max_length=16, null=True, blank=True)
    summary = models.TextField(null=True, blank=True)
    summary_truncated = models.BooleanField(db_default=False)
    artifact = models.TextField(null=True, blank=True)
    lease_token_hash = models.BinaryField(null=True, blank=True)

    class Meta:
        db_table = "todo_attempts"
        default_permissions = ("view",)
        constraints = [
            # Every statement that ends an attempt finds it by these two.
            models.UniqueConstraint(fields=["todo", "seq"], name="todo_attempts_seq_unique"),
            models.UniqueConstraint(
                fields=["todo"],
                name="todo_attempts_open_unique",
                condition=Q(ended_at__isnull=True),
            ),
        ]
        indexes = [
            # lists/attempts_outcome.sql, lists/attempts_died.sql. Without the completed ones, so
            # that a claim and a complete write nothing here.
            models.Index(
                fields=["outcome", "id"],
                name="todo_attempts_outcome_idx",
                condition=Q(outcome__in=[o for o in Outcome if o != Outcome.COMPLETED]),
            ),
            # board/reclaims.sql. A claim and a complete write nothing here either.
            models.Index(
                fields=["ended_at"],
                name="todo_attempts_reclaimed_idx",
                condition=Q(outcome=Outcome.REAPED, ended_from__in=INTERRUPT_STATES),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.todo_id} #{self.seq}"

    @property
    def died(self) -> bool:
        """Whether its holder never reported: the lease or the wait lapsed."""
        return self.outcome in DIED


class AttemptTally(models.Model):
    """How many closed attempts were deleted, by pruning or retention, so that sums stay exact."""

    id = models.BigAutoField(primary_key=True)
    queue = models.CharField(max_length=MAX_LABEL_LENGTH)
    outcome = models.CharField(max_length=16)
    ended_from = models.CharField(max_length=16)
    count = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "todo_attempt_tallies"
        verbose_name_plural = "attempt tallies"
        constraints = [
            models.UniqueConstraint(
                fields=["queue", "outcome", "ended_from"], name="todo_attempt_tallies_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.queue} {self.outcome} from {self.ended_from}: {self.count}"
