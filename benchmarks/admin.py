"""How long the admin's pages take with 10,000 and with 1,000,000 todos, three attempts each.

    .venv/bin/python -m benchmarks.admin [--rounds 7] [--many 1000000]

Prints each page's median of some interleaved rounds and the ratio, which is to be at most 2. The
databases are thrown away afterwards.
"""

# ruff: noqa: T201

import argparse
import statistics
import sys
import time
from typing import Any

from benchmarks.scratch import scratch_database, use  # sets Django up, so it comes first

# isort: split
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client

from todos import endpoints
from todos.models import Attempt, Endpoint, Todo
from todos.selectors import CONDITIONS, ENDINGS

FEW = 10_000
ALLOWED = 2.0

# Of twenty todos two are pending, one each is claimed, input-required, auth-required, parked, a
# dead letter, canceled and rejected, eleven are done; in ten queues of twenty endpoints. The last
# queue has three todos, the oldest.
TODOS = """
INSERT INTO todos (id, endpoint_id, queue, title, payload, state, owner, lease_expires_at,
                   claimed_at, attempt, attempts_total, interrupted_at, next_retry_at, result,
                   created_at, completed_at)
SELECT 'td_' || lpad(to_hex(1700000000000 + n), 12, '0')
            || '-7000-8000-' || lpad(to_hex(n), 12, '0'),
       e.id, CASE WHEN n <= 3 THEN 'rare' ELSE 'queue-' || n / 20 %% 10 END,
       CASE n %% 3 WHEN 0 THEN 'Review change ' WHEN 1 THEN 'Translate page ' ELSE 'Refund ' END
           || md5(n::text),
       jsonb_build_object('number', n, 'text', repeat(md5(n::text), 4)), s.state,
       CASE WHEN s.held THEN 'agent:' || e.id END,
       CASE WHEN s.held THEN c.at + interval '1 hour' END, c.at, 3, 3,
       CASE WHEN s.state LIKE '%%-required' THEN c.at END,
       CASE WHEN n %% 20 = 5 THEN c.at END, jsonb_build_object('question', md5(n::text)), c.at,
       CASE WHEN n %% 20 >= 6 THEN c.at END
FROM generate_series(1, %(number)s) n
CROSS JOIN LATERAL (
    SELECT statement_timestamp() - make_interval(secs => %(number)s - n) AS at
) c
CROSS JOIN LATERAL (
    SELECT (ARRAY['pending', 'pending', 'claimed', 'input-required', 'auth-required', 'failed',
                  'failed', 'canceled', 'rejected'])[n %% 20 + 1] AS given
) one
CROSS JOIN LATERAL (
    SELECT COALESCE(given, 'done') AS state,
           COALESCE(given IN ('claimed', 'input-required', 'auth-required'), false) AS held
) s
JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM endpoints) e
  ON e.place = n / 20 %% 20
"""
ATTEMPTS = """
INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, claimer_endpoint_id, owner,
                           claimed_at, lease_expires_at, ended_at, ended_from, outcome,
                           disposition, summary)
SELECT t.id, seq, seq, 'endpoint', t.endpoint_id, 'agent:' || t.endpoint_id, t.created_at,
       t.created_at + interval '1 hour',
       CASE WHEN NOT o.open THEN t.created_at END, CASE WHEN NOT o.open THEN 'claimed' END,
       CASE WHEN NOT o.open THEN o.outcome END, CASE WHEN NOT o.open THEN 'requeued' END,
       CASE WHEN NOT o.open THEN md5(t.id) END
FROM todos t CROSS JOIN generate_series(1, 3) seq
CROSS JOIN LATERAL (
    SELECT seq = 3 AND t.owner IS NOT NULL AS open,
           CASE WHEN seq = 3 AND t.state = 'done' THEN 'completed'
                ELSE (ARRAY['failed', 'released', 'reaped', 'lease_expired'])
                     [(hashtext(t.id) & 3) + 1]
           END AS outcome
) o
ORDER BY t.created_at, seq
"""


def load(number: int) -> None:
    queues = [*(f"queue-{n}" for n in range(10)), "rare"]
    for n in range(20):
        endpoints.vend(name=f"desk {n}", queues=queues)
    with connection.cursor() as cursor:
        cursor.execute(TODOS, {"number": number})
        cursor.execute(ATTEMPTS)
        cursor.execute("VACUUM ANALYZE todos, todo_attempts")


def pages() -> dict[str, str]:
    """The addresses by what they show; keys are those of the database in use."""
    todos, attempts = "/admin/todos/todo/", "/admin/todos/attempt/"
    wait = Todo.objects.filter(state="input-required").order_by("id")[0].pk
    one = Todo.objects.order_by("-id")[1_000]
    found = {
        "todos": todos,
        "todos, last page": f"{todos}?p=20",
        "search: id": f"{todos}?q={one.pk}",
        "search: beginning of all ids": f"{todos}?q=td_0",
        "search: id in a rare state": f"{todos}?q=td_0&state=rejected",
        "search: title": f"{todos}?q={one.title}",
        "search: common title": f"{todos}?q=review",
        "search: part of a title": f"{todos}?q=page",
        "search: nothing found": f"{todos}?q=nowhere",
        "search: title, rare queue": f"{todos}?q=review&queue=rare",
        "queue": f"{todos}?queue=queue-3",
        "queue: rare": f"{todos}?queue=rare",
    }
    for condition in CONDITIONS:
        found[f"state: {condition}"] = f"{todos}?state={condition}"
        found[f"state: {condition}, queue"] = f"{todos}?state={condition}&queue=queue-3"
        found[f"state: {condition}, rare queue"] = f"{todos}?state={condition}&queue=rare"
    found |= {
        "todo: a wait": f"{todos}{wait}/change/",
        "todo: another": f"{todos}{one.pk}/change/",
        "todo: history": f"{todos}{one.pk}/history/",
        "attempts": attempts,
        "attempts, last page": f"{attempts}?p=20",
        "attempts: search": f"{attempts}?q={one.pk}",
        "attempts: search all": f"{attempts}?q=td_",
        "attempts: search all, completed": f"{attempts}?q=td_&ending=completed",
        "attempt": f"{attempts}{Attempt.objects.order_by('-pk')[0].pk}/change/",
        "endpoints": "/admin/todos/endpoint/",
        "endpoint": f"/admin/todos/endpoint/{Endpoint.objects.all()[0].pk}/change/",
        "endpoint: vend": "/admin/todos/endpoint/add/",
        "index": "/admin/",
    }
    for ending in ENDINGS:
        found[f"attempts: {ending}"] = f"{attempts}?ending={ending}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--many", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with scratch_database():
        run(arguments.rounds, {"few": FEW, "many": arguments.many})


def run(rounds: int, sizes: dict[str, int]) -> None:
    own = connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        for alias in sizes:
            cursor.execute(f"CREATE DATABASE {alias}")
    clients = {}
    for alias, number in sizes.items():
        began = time.monotonic()
        use(alias)
        clients[alias] = prepare(number)
        print(f"{alias}: {number:,} todos in {time.monotonic() - began:.0f} s", file=sys.stderr)
    try:
        measure(clients, rounds)
    finally:
        use(own)


def prepare(number: int) -> tuple[Any, dict[str, str]]:
    call_command("migrate", interactive=False, verbosity=0)
    load(number)
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("operator"))
    return client, pages()


def measure(clients: dict[str, Any], rounds: int) -> None:
    names = list(next(iter(clients.values()))[1])
    times: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds + 1):
        for name in names:
            for alias, (client, urls) in clients.items():
                use(alias)
                began = time.perf_counter()
                response = client.get(urls[name])
                took = time.perf_counter() - began
                if response.status_code != 200:
                    sys.exit(f"{urls[name]}: {response.status_code}")
                # The first round warms the caches of both.
                if number:
                    times.setdefault((alias, name), []).append(took * 1_000)
    print(f"{'page':40} {'few ms':>9} {'many ms':>9} {'ratio':>6}")
    worst = 0.0
    for name in names:
        few, many = (statistics.median(times[alias, name]) for alias in clients)
        worst = max(worst, many / few)
        mark = "  <-- too slow" if many / few > ALLOWED else ""
        print(f"{name:40} {few:9.1f} {many:9.1f} {many / few:6.2f}{mark}")
    print(f"worst ratio {worst:.2f}, allowed {ALLOWED}")
    sys.exit(worst > ALLOWED)


if __name__ == "__main__":
    main()
