"""The tables (the domain: Tables). Column, constraint and index names are part of the contract.

Every column has a default in the database, so that statements and operators may leave it out.
Nothing cascades: whatever owns a ledger is protected from deletion, retention aside.
"""

from todos.models.bookkeeping import Counter, MetricQueue, ReaperTick
from todos.models.endpoint import Endpoint
from todos.models.fields import StatementTimestamp, TodoIdField, new_todo_id
from todos.models.ledger import Attempt, AttemptTally
from todos.models.todo import Todo

__all__ = [
    "Attempt",
    "AttemptTally",
    "Counter",
    "Endpoint",
    "MetricQueue",
    "ReaperTick",
    "StatementTimestamp",
    "Todo",
    "TodoIdField",
    "new_todo_id",
]
