"""Todos, and the index that each statement goes by."""

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, Collate, Upper

from todos.inputs import MAX_LABEL_LENGTH
from todos.models.endpoint import Endpoint
from todos.models.fields import StatementTimestamp, TodoIdField, new_todo_id
from todos.states import DEAD, ENDED_STATES, INTERRUPT_STATES, PARKED, State

_LIVE = Q(state__in=[State.PENDING, State.CLAIMED, *INTERRUPT_STATES]) | Q(
    state=State.FAILED, next_retry_at__isnull=False
)

_UNCLAIMED_STATES = [state for state in State if state != State.CLAIMED]
_UNCLAIMED = Q(state__in=_UNCLAIMED_STATES, id__gt="")


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
            # reap_leases.sql; claim_next.sql: takeovers; lists/claimed.sql, lists/queue_claimed.sql
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
            # lists/queue_newest.sql, lists/queue_oldest.sql, lists/queue_failed.sql. Without what
            # is claimed, so that a claim and a heartbeat write neither this nor the next one; and
            # it asks for words, too, lest a claim walk through all that its queue ever had.
            models.Index(
                fields=["queue", "state", "id"],
                include=["next_retry_at"],
                name="todos_unclaimed_queue_idx",
                condition=_UNCLAIMED,
            ),
            # lists/of_endpoint.sql: what the API lists. It asks for words of its own, since for a
            # rare state the planner would take the one above and read past every other endpoint's.
            # A create and a complete write it, a claim and a heartbeat do not.
            models.Index(
                fields=["endpoint", "queue", "state", "id"],
                name="todos_unclaimed_endpoint_idx",
                condition=Q(~Q(id="-"), state__in=_UNCLAIMED_STATES),
            ),
            # lists/search.sql: titles by their beginning, in any case
            models.Index(
                Collate(Upper("title"), "C"),
                name="todos_unclaimed_title_idx",
                condition=_UNCLAIMED,
            ),
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
