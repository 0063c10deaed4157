"""Triggers that make some writes fail, as a spoiled row or a slow database would."""

from collections.abc import Iterable

from django.db import connection


def poison(ids: Iterable[str], *, code: str = "raise_exception") -> None:
    """From now on these todos cannot be written."""
    listed = ", ".join(f"'{todo_id}'" for todo_id in ids)
    _trigger(
        f"BEFORE UPDATE ON todos FOR EACH ROW WHEN (OLD.id IN ({listed}))",
        f"RAISE EXCEPTION 'this row is spoiled' USING ERRCODE = '{code}'",
    )


def slow_beyond(rows: int) -> None:
    """From now on a statement that writes more todos than that would take a minute."""
    _after_more_than(rows, "PERFORM pg_sleep(60)")


def timeout_beyond(rows: int) -> None:
    """From now on a statement that writes more todos than that ends as by its timeout, at once."""
    _after_more_than(rows, "RAISE EXCEPTION 'canceling statement' USING ERRCODE = 'query_canceled'")


def _after_more_than(rows: int, what: str) -> None:
    _trigger(
        "AFTER UPDATE ON todos REFERENCING NEW TABLE AS written FOR EACH STATEMENT",
        f"IF (SELECT count(*) FROM written) > {rows} THEN {what}; END IF",
    )


def heal() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER obstacle ON todos")


def _trigger(when: str, what: str) -> None:
    with connection.cursor() as cursor:
        # A table with rows whose constraints were not checked yet takes no trigger.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(
            "CREATE OR REPLACE FUNCTION pg_temp.obstacle() RETURNS trigger LANGUAGE plpgsql"
            f" AS $$ BEGIN {what}; RETURN NEW; END $$"
        )
        cursor.execute(f"CREATE TRIGGER obstacle {when} EXECUTE FUNCTION pg_temp.obstacle()")
