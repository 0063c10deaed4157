"""A worker that asks before it completes: pip install httpx, set the two variables, run it."""

import contextlib
import os
import time

import httpx

TODOS = os.environ["SWITCHBOARD_URL"] + "/api/v1/todos"
CREDENTIAL = os.environ["SWITCHBOARD_CREDENTIAL"]
http = httpx.Client(headers={"Authorization": f"Bearer {CREDENTIAL}"}, timeout=40)


class Lost(Exception):
    """The todo is not ours any more: its lease or its wait has expired, or it was canceled."""


def call(path, body=None):
    """Send a request until it is answered. Under a lease_token, a second time does no harm."""
    while True:
        try:
            answer = http.request("GET" if body is None else "POST", TODOS + path, json=body)
        except httpx.TransportError as error:
            print("trying again:", error)
            time.sleep(5)
            continue
        if answer.status_code == 409:
            raise Lost(answer.json()["error"]["message"])
        if answer.status_code not in (429, 503):
            return answer.raise_for_status().json() if answer.content else None
        time.sleep(int(answer.headers.get("Retry-After", 5)))


def work(todo, attempt, token):
    path = "/" + todo["id"]
    if todo["result"] is not None:
        print("an earlier attempt had asked:", todo["result"])
    # At least every 5 minutes while you work, or the lease lapses and somebody else gets the todo.
    call(path + "/heartbeat", {"lease_token": token})
    question = {"question": f"How shall I do this: {todo['title']}?"}
    asking = {"state": "input-required", "result": question, "lease_token": token}
    # If it had to be sent twice, the second is refused: how the todo is now says whether we wait.
    with contextlib.suppress(Lost):
        call(path + "/interrupt", asking)
    while (now := call(path))["state"] == "input-required":
        time.sleep(5)
    if now["state"] != "claimed" or now["attempts_total"] != attempt:
        raise Lost("nobody answered in time, or it was canceled")
    print("the answer:", now["result"])
    call(path + "/complete", {"result": now["result"], "lease_token": token})


while True:
    # The fence gives the token, which keeps other workers of the endpoint out.
    claim = call("/claim_next", {"wait_seconds": 30, "fence": True})
    if claim:
        print("claimed", claim["todo"]["id"], claim["todo"]["title"])
        try:
            work(claim["todo"], claim["attempt_seq"], claim["lease_token"])
            print("completed", claim["todo"]["id"])
        except Lost as lost:
            print("lost", claim["todo"]["id"], lost)
