"""What metrics and the reaper keep for themselves."""

from django.db import models

from todos.inputs import MAX_LABEL_LENGTH


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
