"""A queue is drained: who am I, create, claim, look, complete."""

from tests.factories import endings, ledger
from tests.todos.api.conftest import Worker
from todos.models import Todo


def test_whoami_tells_the_scope_and_the_numbers(worker: Worker) -> None:
    told = worker.get("whoami").json()
    assert told["id"] == str(worker.endpoint.pk)
    assert told["owner"] == worker.owner
    assert told["queues"] == ["inbox", "reviews"]
    assert told["lease"] == {"default_seconds": 300, "max_seconds": 86_400}
    assert told["interrupt_lease_ttl_seconds"] == 86_400


def test_a_todo_from_its_creation_to_its_end(worker: Worker) -> None:
    made = worker.post("todos", queue="inbox", title="letter", payload={"to": "Ada"})
    assert made.status_code == 201
    todo_id = made.json()["todo"]["id"]

    claim = worker.post("todos/claim_next", queues=["inbox"], claimant="w1", fence=True)
    assert claim.status_code == 200
    assert claim.json()["todo"]["id"] == todo_id
    assert claim.json()["todo"]["owner"] == worker.owner
    assert claim.json()["attempt_seq"] == 1
    assert ledger(todo_id)[0].claimant == "w1"

    done = worker.post(
        f"todos/{todo_id}/complete",
        result={"sent": True},
        summary="sent",
        lease_token=claim.json()["lease_token"],
    )
    assert done.status_code == 200
    assert done.json()["state"] == "done"
    assert endings(todo_id) == [("completed", "done", "claimed")]

    seen = worker.get(f"todos/{todo_id}").json()
    assert seen["result"] == {"sent": True}
    assert [attempt["summary"] for attempt in seen["attempts"]] == ["sent"]


def test_nothing_to_claim_is_204(worker: Worker) -> None:
    answer = worker.request("POST", "todos/claim_next")
    assert (answer.status_code, answer.content) == (204, b"")
    assert not Todo.objects.exists()
