"""The plan that a statement really has in production after some use of its connection."""

import re
from collections.abc import Iterator
from typing import Any

from django.db import connection
from psycopg.sql import SQL, Identifier, Literal

from todos import sql

USES = 10
"""By then PostgreSQL has had to choose between a generic plan and one for the parameters."""

Node = dict[str, Any]


class Plan:
    def __init__(self, root: Node) -> None:
        self.root = root

    @property
    def buffers(self) -> int:
        """How many pages the statement touched."""
        return int(self.root["Shared Hit Blocks"] + self.root["Shared Read Blocks"])

    @property
    def indexes(self) -> set[str]:
        """The indexes on todos and attempts that were looked into, not those never reached."""
        return {name for name in self.all_indexes if not name.startswith("endpoints_")}

    @property
    def all_indexes(self) -> set[str]:
        return {node["Index Name"] for node in self._executed() if "Index Name" in node}

    @property
    def arbiter_indexes(self) -> set[str]:
        """The indexes that decide about a conflict."""
        return {
            name for node in self._executed() for name in node.get("Conflict Arbiter Indexes", [])
        }

    @property
    def tables_read_whole(self) -> set[str]:
        """The large tables that are, or might have been, read from one end to the other."""
        whole = {node["Relation Name"] for node in _walk(self.root) if _is(node, "Seq Scan")}
        return whole & {"todos", "todo_attempts"}

    @property
    def largest_sort(self) -> int:
        """The most rows that any step sorted."""
        sorts = [node for node in self._executed() if _is(node, "Sort")]
        return max((rows for node in sorts for rows in map(_rows, node["Plans"])), default=0)

    @property
    def pairs_compared(self) -> int:
        """The most pairs of rows that a join looked at in vain."""
        pairs = (
            int(node.get("Rows Removed by Join Filter", 0) * node["Actual Loops"])
            for node in _walk(self.root)
        )
        return max(pairs)

    def __repr__(self) -> str:
        names = ["indexes", "tables_read_whole", "largest_sort", "pairs_compared", "buffers"]
        return ", ".join(f"{name}: {getattr(self, name)}" for name in names)

    def _executed(self) -> Iterator[Node]:
        return (node for node in _walk(self.root) if node["Actual Loops"])


def plan_after_use(
    name: str, params: dict[str, Any], *, last: dict[str, Any] | None = None
) -> Plan:
    """Run a statement as todos.sql does, again and again, and once more under EXPLAIN.

    The last time with the parameters `last`, if given. It is for a test in a transaction that is
    rolled back, on a connection that has prepared nothing else so often.
    """
    for _ in range(USES):
        with connection.cursor() as cursor:
            cursor.execute(sql.statement(name), params)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, generic_plans + custom_plans FROM pg_prepared_statements"
            " ORDER BY 2 DESC LIMIT 1"
        )
        prepared, uses = cursor.fetchone()
        assert uses >= USES - 1, "a connection prepares what it is given a second time"
        # A placeholder's number is the place at which its name comes first.
        names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", sql.statement(name))))
        values = SQL(", ").join(Literal((last or params)[name]) for name in names)
        arguments = SQL("({})").format(values) if names else SQL("")
        cursor.execute(
            SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE {}{}").format(
                Identifier(prepared), arguments
            )
        )
        ((root,),) = cursor.fetchall()
    return Plan(root[0]["Plan"])


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.get("Plans", []):
        yield from _walk(child)


def _is(node: Node, kind: str) -> bool:
    return bool(node["Node Type"].endswith(kind))


def _rows(node: Node) -> int:
    return int(node["Actual Rows"] * node["Actual Loops"])
