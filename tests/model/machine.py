"""Every operation, sweep and lapse of time in any order, on the real database and on the model.

The rules are few, since Hypothesis leaves some of them out of every run.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from settings_app.models import Setting
from tests.model.actual import assert_as_expected
from tests.model.expected import DAY, KEEP, Item, Refusal
from tests.model.world import (
    HERE,
    MISSING,
    OPERATOR,
    QUEUES,
    RIGHT,
    THERE,
    TTLS,
    WRONG,
    World,
    claimed_now,
    has_a_clock,
    move,
    owner_for,
    reached,
    vend,
    waiting,
    waits_for_others,
)
from todos import reaper, transitions
from todos.errors import EndpointInactive
from todos.models import Todo
from todos.states import INTERRUPT_STATES
from todos.transitions import Claim

picks = st.integers(0, 11)
places = st.integers(0, 1)
callers = st.sampled_from([HERE] * 8 + [OPERATOR, THERE])
owners = st.sampled_from(["ada", "bob"])
holders = st.sampled_from([RIGHT] * 8 + [WRONG])
tokens = st.sampled_from([RIGHT] * 5 + [WRONG, MISSING])
results = st.none() | st.integers(0, 99).map(lambda n: {"n": n})


class Queue(World):
    @initialize(max_attempts=st.sampled_from([1, 3]), tried=st.booleans(), old=st.booleans())
    def open(self, max_attempts: int, tried: bool, old: bool) -> None:
        """Two desks, a wait and a parked retry; sometimes overdue, and a todo tried often."""
        self.desks = [vend(), vend()]
        self.start(0, max_attempts)
        self.act("interrupt")
        self.start(1, 3)
        self.act("fail")
        if old:
            for pick in (3, 6):
                self.time_passes(pick, 2 * DAY)
        if tried:
            self.start(1, KEEP)
            for _ in range(KEEP - 1):
                self.act("release")
                self.claim_next(1, owner="ada", queues=None, fence=False)
            self.act("release")

    def start(self, place: int, max_attempts: int) -> None:
        self.create(place, queue="inbox", key=None, assignee=None, max_attempts=max_attempts)
        self.claim_next(place, owner="ada", queues=None, fence=False)

    def act(self, name: str) -> None:
        self.work(name, pick=0, caller=HERE, holder=RIGHT, which=RIGHT, result=None)

    @invariant()
    def the_database_is_as_the_model_says(self) -> None:
        assert_as_expected(self.items)

    # Workers.

    @rule(pick=picks, caller=callers, owner=owners, fence=st.booleans())
    def claim(self, pick: int, caller: str, owner: str, fence: bool) -> None:
        item = self.item(pick, lambda item: item.claimable)
        endpoint = self.endpoint(caller, item)
        claim = self.expect(
            item.refuses_claim(endpoint, owner),
            lambda: transitions.claim(endpoint, item.id, owner=owner, fence=fence),
        )
        if claim:
            self.claimed(item, claim, owner, fence)

    @rule(
        place=places,
        owner=owners,
        queues=st.sampled_from([None, QUEUES, QUEUES[:1]]),
        fence=st.booleans(),
    )
    def claim_next(self, place: int, owner: str, queues: list[str] | None, fence: bool) -> None:
        desk = self.desks[place]
        claim = self.expect(
            None if desk.active else EndpointInactive,
            lambda: transitions.claim_next(desk.endpoint, queues, owner=owner, fence=fence),
        )
        here = (i for i in self.items if i.desk is desk and i.queue in (queues or QUEUES))
        first = next((i for i in here if i.claimable and i.is_for(owner) and desk.active), None)
        assert (claim and claim.todo.pk) == (first and first.id)
        if claim and first:
            self.claimed(first, claim, owner, fence)

    def claimed(self, item: Item, claim: Claim, owner: str, fence: bool) -> None:
        reached["takeover"] += item.state == "claimed"
        assert [attempt.seq for attempt in claim.prior_attempts] == item.prior()
        assert (claim.lease_token is not None) == fence
        before = item.pruned
        self.done(item, claim.todo, lambda: item.claim(owner, claim.lease_token))
        assert claim.attempt_seq == claim.attempts_total == len(item.entries)
        reached["prune"] += item.pruned > before

    @precondition(lambda self: self.some(claimed_now))
    @rule(
        name=st.sampled_from(
            ["interrupt", "fail", "interrupt", "release", "heartbeat", "complete"]
        ),
        pick=picks,
        caller=callers,
        holder=holders,
        which=tokens,
        result=results,
    )
    def work(self, name: str, pick: int, caller: str, holder: str, which: str, result: Any) -> None:
        """What a holder may do, with its own name and token or with others."""
        item = self.item(pick, claimed_now)
        endpoint, owner = self.endpoint(caller, item), owner_for(holder, item)
        token = {
            RIGHT: item.entries[-1].token if item.held else None,
            WRONG: "no such token",
            MISSING: None,
        }[which]
        arguments: dict[str, Any] = {"owner": owner, "lease_token": token}
        if name not in ("heartbeat", "release"):
            arguments["result"] = result
        if name == "interrupt":
            arguments["state"] = INTERRUPT_STATES[pick % 2]
        changes: dict[str, Callable[[], None]] = {
            "heartbeat": item.heartbeat,
            "release": item.release,
            "complete": partial(item.complete, result),
            "fail": partial(item.fail, result),
            "interrupt": partial(item.interrupt, INTERRUPT_STATES[pick % 2], result),
        }
        refusal = item.refuses_holder(endpoint, owner, token)
        if item.state == "claimed" and endpoint and item.owner == owner and caller == HERE:
            reached["fence"] += refusal is not None
        operation = getattr(transitions, name)
        todo = self.expect(refusal, lambda: operation(endpoint, item.id, **arguments))
        self.done(item, todo, changes[name])

    # Clients and operators.

    @rule(
        place=places,
        queue=st.sampled_from(QUEUES),
        key=st.sampled_from([None, "k"]),
        assignee=st.sampled_from([None, None, None, "ada"]),
        max_attempts=st.sampled_from([1, 2, 20]),
    )
    def create(self, place: int, **fields: Any) -> None:
        desk = self.desks[place]
        given = {k if k != "key" else "idempotency_key": v for k, v in fields.items()}
        answer = self.expect(
            None if desk.active else EndpointInactive,
            lambda: transitions.create(desk.endpoint, title="work", **given),
        )
        if answer is not None:
            rival = self.live_with_key(desk, fields["key"])
            todo, created = answer
            assert created == (rival is None)
            assert created or (rival and todo.pk == rival.id)
            if created:
                self.items.append(Item(id=todo.pk, desk=desk, **fields))

    @precondition(lambda self: self.some(waiting))
    @rule(
        pick=picks,
        caller=callers,
        holder=holders,
        answer=results,
        ttl=st.sampled_from([None, 3600]),
    )
    def resume(self, pick: int, caller: str, holder: str, answer: Any, ttl: int | None) -> None:
        item = self.item(pick, waiting)
        endpoint, owner = self.endpoint(caller, item), owner_for(holder, item)
        more = {"owner": owner, "result": answer, "lease_ttl_seconds": ttl}
        todo = self.expect(
            item.refuses_resume(endpoint, owner),
            lambda: transitions.resume(endpoint, item.id, **more),
        )
        self.done(item, todo, lambda: item.resume(answer, renewed=ttl is not None))

    @rule(
        name=st.sampled_from(["cancel", "reject", "retry", "retry", "reclaim_now"]),
        pick=picks,
        caller=callers,
        result=results,
    )
    def decide(self, name: str, pick: int, caller: str, result: Any) -> None:
        """What a client or an operator may do, whoever holds the todo."""
        wanted: dict[str, Callable[[Item], bool]] = {
            "reclaim_now": waiting,
            "retry": lambda item: item.state == "failed",
            "reject": lambda item: item.state == "pending",
            "cancel": lambda item: item.live,
        }
        item = self.item(pick, wanted[name])
        endpoint = self.endpoint(caller, item)
        rival = self.live_with_key(item.desk, item.key) not in (None, item)
        cases: dict[str, tuple[Callable[[], Refusal], Callable[[], Todo], Callable[[], None]]] = {
            "cancel": (
                lambda: item.refuses_end(endpoint, possible=item.live),
                lambda: transitions.cancel(endpoint, item.id, result=result),
                lambda: item.cancel(result),
            ),
            "reject": (
                lambda: item.refuses_end(endpoint, possible=item.state == "pending"),
                lambda: transitions.reject(endpoint, item.id, result=result),
                lambda: item.reject(result),
            ),
            "retry": (
                lambda: item.refuses_retry(endpoint, rival=rival),
                lambda: transitions.retry(endpoint, item.id),
                item.retry,
            ),
            "reclaim_now": (
                item.refuses_reclaim,
                lambda: reaper.reclaim_now(item.id),
                item.reap,
            ),
        }
        refusal, call, change = cases[name]
        self.done(item, self.expect(refusal(), call), change)

    @rule(what=st.sampled_from(["ttl", "no stamp", "no stamp", "revoke", "expire"]), pick=picks)
    def seldom(self, what: str, pick: int) -> None:
        """An operator's settings and revocations; a wait as an older process would leave it."""
        if what == "ttl":
            text = list(TTLS)[pick % len(TTLS)]
            self.ttl = TTLS[text]
            Setting.objects.update_or_create(
                key="interrupt_lease_ttl_seconds", defaults={"value": text}
            )
        elif what == "no stamp":
            item = self.item(pick, waiting)
            if item.waiting:
                move(item, "interrupted_at", None)
                item.stamped = False
        elif pick < 6:
            self.end_desk(pick % 2, revoked=what == "revoke")

    # Time and the reaper.

    @precondition(lambda self: self.some(has_a_clock))
    @rule(pick=picks, age=st.sampled_from([timedelta(minutes=5), 2 * DAY, 2 * DAY]))
    def time_passes(self, pick: int, age: timedelta) -> None:
        """What a todo waits for has been due for so long: its lease, its answer, its retry."""
        item = self.item(pick, has_a_clock if pick % 3 else waits_for_others)
        if item.waiting and pick % 4:
            move(item, "interrupted_at", age)
            item.waited, item.stamped = age, True
        elif item.held:
            move(item, "lease_expires_at", age)
            item.lapsed = True
        elif item.parked:
            move(item, "next_retry_at", age)
            item.due = True

    @rule(name=st.sampled_from(["leases and waits", "waits", "retries", "tick"]))
    def sweep(self, name: str) -> None:
        if name == "leases and waits":
            assert reaper.reap_expired() == self.reaped_leases() + self.reaped_waits()
        elif name == "waits":
            assert reaper.reap_interrupted() == self.reaped_waits()
        elif name == "retries":
            assert reaper.requeue_due_retries() == self.requeued()
        else:
            tick = reaper.tick()
            assert tick.good
            assert tick.reaped == self.reaped_leases() + self.reaped_waits()
            assert tick.requeued == self.requeued()
            for place, desk in enumerate(self.desks):
                if desk.expired:
                    self.revoked(place)
