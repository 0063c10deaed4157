"""The tables (the domain: Tables). Column, constraint and index names are part of the contract.

Every column has a default in the database, so that statements and operators may leave it out.
Nothing cascades: whatever owns a ledger is protected from deletion, retention aside.
"""

import uuid
from typing import Any

import uuid_utils.compat as uuid_utils
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, Collate, Upper

from todos.inputs import MAX_LABEL_LENGTH
from todos.states import DEAD, DIED, ENDED_STATES, INTERRUPT_STATES, PARKED, Outcome, State


class StatementTimestamp(models.Func):
    """The database's clock, as every deadline and stamp uses it."""

    function = "STATEMENT_TIMESTAMP"
    output_field = models.DateTimeField()


class TodoIdField(models.TextField):  # type: ignore[type-arg]
    """`text` under the C collation.

    Spelled in capitals, since Django gives a `text` key a second index for LIKE: each transition
    would have to write it, and under C the primary key serves LIKE as well.
    """

    def db_type(self, connection: Any) -> str:
        return 'TEXT COLLATE "C"'


def new_todo_id() -> str:
    """`td_` and a UUID: version 7, so that new rows share index pages."""
    return f"td_{uuid_utils.uuid7()}"


_LIVE = Q(state__in=[State.PENDING, State.CLAIMED, *INTERRUPT_STATES]) | Q(
    state=State.FAILED, next_retry_at__isnull=False
)


class Endpoint(models.Model):
    """A vended capability and the tenant boundary of its todos (the domain: Words)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=MAX_LABEL_LENGTH)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True)
    queues = ArrayField(models.CharField(max_length=MAX_LABEL_LENGTH))
    default_lease_ttl_seconds = models.IntegerField(null=True, blank=True)
    credential_hash = models.BinaryField(unique=True)
    credential_prefix = models.CharField(max_length=16)
    created_at = models.DateTimeField(db_default=StatementTimestamp())
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revocation_finished_at = models.DateTimeField(null=True, blank=True)
    """When the last live todo of a revoked endpoint was dead-lettered; NULL: not yet."""

    class Meta:
        db_table = "endpoints"
        # Endpoints are vended and revoked, never edited or deleted.
        default_permissions = ("view",)
        permissions = [
            ("vend_endpoint", "Can vend endpoints"),
            ("revoke_endpoint", "Can revoke endpoints"),
        ]
        indexes = [
            # revocations_open.sql, in each tick
            models.Index(
                fields=["revoked_at"],
                name="endpoints_unfinished_idx",
                condition=Q(revoked_at__isnull=False, revocation_finished_at__isnull=True),
            ),
            # endpoints_expire.sql, in each tick
            models.Index(
                fields=["expires_at"],
                name="endpoints_expiry_idx",
                condition=Q(revoked_at__isnull=True, expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Todo(models.Model):
    """A durable unit of work. Only transitions, endpoints, sweeps and retention write it."""

    id = TodoIdField(primary_key=True, default=new_todo_id, editable=False)
    endpoint = models.ForeignKey(Endpoint, models.PROTECT, db_index=False)
    queue = models.CharField(max_length=MAX_LABEL_LENGTH)
    title = models.CharField(max_length=MAX_LABEL_LENGTH)
    kind = models.CharField(max_length=MAX_LABEL_LENGTH, db_default="")
    source = models.CharField(max_length=MAX_LABEL_LENGTH, db_default="")
    payload = models.JSONField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=MAX_LABEL_LENGTH, null=True, blank=True)
    assignee = models.CharField(max_length=MAX_LABEL_LENGTH, null=True, blank=True)
    state = models.CharField(max_length=16, choices=State, db_default=State.PENDING.value)
    owner = models.CharField(max_length=MAX_LABEL_LENGTH, null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    attempt = models.IntegerField(db_default=0)
    max_attempts = models.IntegerField(db_default=5)
    attempts_total = models.IntegerField(db_default=0)
    attempts_pruned = models.IntegerField(db_default=0)
    interrupted_at = models.DateTimeField(null=True, blank=True)
    next_retry_at = models.DateTimeField(null=True, blank=True)
    result = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=StatementTimestamp())
    updated_at = models.DateTimeField(db_default=StatementTimestamp())
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "todos"
        default_permissions = ("view",)
        permissions = [
            ("cancel_todo", "Can cancel todos"),
            ("retry_todo", "Can retry failed todos"),
            ("release_todo", "Can release claimed todos"),
            ("resume_todo", "Can answer waits and resume them"),
            ("reclaim_todo", "Can reclaim waits now"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=State.values), name="todos_state_known"),
            # create.sql: at most one live todo per key; retry.sql may meet it
            models.UniqueConstraint(
                fields=["endpoint", "idempotency_key"],
                name="todos_live_key_unique",
                condition=Q(idempotency_key__isnull=False) & _LIVE,
            ),
        ]
        indexes = [
            # claim_next.sql: the head of one queue, for one assignee or for none
            models.Index(
                F("endpoint"),
                F("queue"),
                Coalesce(F("assignee"), Value("")),
                F("created_at"),
                F("id"),
                name="todos_pending_idx",
                condition=Q(state=State.PENDING),
            ),
            # reap_leases.sql; claim_next.sql: takeovers
            models.Index(
                fields=["lease_expires_at"],
                name="todos_lease_idx",
                condition=Q(state=State.CLAIMED),
            ),
            # reclaim_waits.sql; stamp_waits.sql
            models.Index(
                fields=["interrupted_at"],
                name="todos_interrupted_idx",
                condition=Q(state__in=INTERRUPT_STATES),
            ),
            # requeue_due.sql; claim_next.sql: due retries
            models.Index(
                fields=["next_retry_at"],
                name="todos_retry_idx",
                condition=Q(state=State.FAILED, next_retry_at__isnull=False),
            ),
            # prune_ended.sql, prune_boundary.sql
            models.Index(
                fields=["completed_at"],
                name="todos_ended_idx",
                condition=Q(state__in=ENDED_STATES),
            ),
            # prune_dead.sql
            models.Index(
                fields=["completed_at"],
                name="todos_dead_idx",
                condition=Q(state=State.FAILED, next_retry_at__isnull=True),
            ),
            # revocation_lock.sql, revocation_finish.sql. Every other partial index is a part of
            # this one, and under old statistics the planner takes it for theirs: claims that
            # read all live todos of the endpoint. So it asks for words that only those say.
            models.Index(
                fields=["endpoint", "id"],
                name="todos_live_idx",
                condition=_LIVE & Q(id__gt=""),
            ),
            # lists/queue_newest.sql, lists/queue_oldest.sql, lists/queue_failed.sql. It asks for
            # words, too, lest a claim walk through all that its queue ever had.
            models.Index(
                fields=["queue", "state", "id"],
                include=["next_retry_at"],
                name="todos_queue_idx",
                condition=Q(id__gt=""),
            ),
            # lists/search.sql: titles by their beginning, in any case
            models.Index(Collate(Upper("title"), "C"), name="todos_title_idx"),
            # lists/pending.sql, lists/called_off.sql: the states without an index that a claim
            # and a complete would have to write, too
            models.Index(
                fields=["state", "id"],
                name="todos_state_idx",
                condition=Q(state__in=[State.PENDING, State.CANCELED, State.REJECTED], id__gt=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.title}"

    @property
    def condition(self) -> str:
        """The state, with `failed` told apart into a parked retry and a dead letter."""
        if self.state == State.FAILED:
            return PARKED if self.next_retry_at else DEAD
        return self.state


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


class Counter(models.Model):
    """A part of a count: its value is the sum of its rows.

    Each commits with the rows it counts, or with others of its process; a tick adds them up.
    """

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=40)
    queue = models.CharField(max_length=MAX_LABEL_LENGTH)
    cause = models.CharField(max_length=20, db_default="")
    value = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "todo_counters"

    def __str__(self) -> str:
        return f"{self.name} {self.queue} {self.cause}: {self.value}"


class MetricQueue(models.Model):
    """A queue that metrics name: the first 200 in order of appearance, never revised."""

    id = models.SmallAutoField(primary_key=True)
    queue = models.CharField(max_length=MAX_LABEL_LENGTH, unique=True)

    class Meta:
        db_table = "metric_queues"

    def __str__(self) -> str:
        return self.queue


class ReaperTick(models.Model):
    """When the reaper last finished a tick without an error: one row, in an unlogged table."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    last_success_at = models.DateTimeField()

    class Meta:
        db_table = "reaper_ticks"

    def __str__(self) -> str:
        return f"last good tick at {self.last_success_at}"
