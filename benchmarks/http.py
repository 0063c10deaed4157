"""claim_next + complete over HTTP with 8 clients, beside the same by `todos.transitions`.

    python -m benchmarks.http [--rounds 7] [--pairs 250] [--clients 8] [--memory 100000]
        [-- OPTIONS OF UVICORN]

The server is uvicorn as the README starts it, a process of its own, its log in a file. The clients
are one process with one loop over plain sockets that are kept open: it does little more than send
and look for the end of an answer, since it shares the processors with the server and PostgreSQL.
The transitions are called by as many processes as there are clients. Both take turns. Processor
time is that of PostgreSQL, Redis and the web process or the callers, without the clients.

`--memory N` sends so many requests afterwards and prints the server's memory on the way.
"""

import argparse
import contextlib
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import psutil

from benchmarks import scratch
from benchmarks.feed import OURS, processes, processor_seconds, refill
from benchmarks.scratch import interleaved, scratch_database, table
from dev.services import PROJECT

TRANSITIONS = "todos.transitions"
HTTP = "HTTP"
WEB = "of that, the web process"
SAMPLES = 10


@contextlib.contextmanager
def server(url: str, options: list[str]) -> Iterator[tuple[psutil.Process, tuple[str, int]]]:
    """The web process as the README starts it, and its address."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = probe.getsockname()[:2]
    command = [sys.executable, "-m", "uvicorn", "switchboard.asgi:application"]
    command += ["--host", address[0], "--port", str(address[1])]
    command += ["--timeout-graceful-shutdown", "5", *options]
    with tempfile.TemporaryFile() as log:
        env = os.environ | {"DATABASE_URL": url, "ALLOWED_HOSTS": "127.0.0.1"}
        process = subprocess.Popen(command, cwd=PROJECT, env=env, stderr=log)  # noqa: S603
        try:
            while True:
                with contextlib.suppress(OSError), socket.create_connection(address):
                    break
                assert process.poll() is None, "the server has ended"  # noqa: S101
                time.sleep(0.1)
            yield psutil.Process(process.pid), address
        finally:
            process.terminate()
            process.wait()


class Client:
    """One connection, and one request at a time on it."""

    def __init__(self, address: tuple[str, int], credential: str) -> None:
        self._address = address
        self._head = (
            f"HTTP/1.1\r\nHost: {address[0]}\r\nAuthorization: Bearer {credential}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )
        self._answer = b""
        self._claimed = ""
        self.claims: list[float] = []
        self.completes: list[float] = []

    def connect(self) -> None:
        self.socket = socket.create_connection(self._address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self) -> None:
        """Claim; or complete what was claimed last."""
        if self._claimed:
            self._post(f"/{self._claimed}/complete", '{"result":{"ok":true}}')
        else:
            self._post("/claim_next", '{"queues":["inbox"]}')

    def _post(self, path: str, body: str) -> None:
        request = f"POST /api/v1/todos{path} {self._head}{len(body)}\r\n\r\n{body}"
        self._began = time.perf_counter()
        self.socket.sendall(request.encode())

    def receive(self) -> bool:
        """Read; True: that was the end of an answer."""
        part = self.socket.recv(65_536)
        assert part, "the server has closed the connection"  # noqa: S101
        self._answer += part
        head, found, body = self._answer.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().split(b"content-length: ")[1].split()[0]):
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(self._answer.decode())
        took = time.perf_counter() - self._began
        self._answer = b""
        if self._claimed:
            self.completes.append(took)
            self._claimed = ""
        else:
            self.claims.append(took)
            self._claimed = body.split(b'"id":"', 1)[1].split(b'"', 1)[0].decode()
        return True


def drive(clients: list[Client], pairs: int) -> float:
    """All clients at once until each has done so many pairs; pairs per second."""
    with contextlib.ExitStack() as stack:
        waiting = stack.enter_context(selectors.DefaultSelector())
        for client in clients:
            # A new one for each round: the server closes what is idle for 5 s.
            client.connect()
            stack.callback(client.socket.close)
            waiting.register(client.socket, selectors.EVENT_READ, client)
        left = dict.fromkeys(clients, 2 * pairs)
        began = time.perf_counter()
        for client in clients:
            client.send()
        while any(left.values()):
            for key, _ in waiting.select():
                client = key.data
                if client.receive():
                    left[client] -= 1
                    if left[client]:
                        client.send()
        return len(clients) * pairs / (time.perf_counter() - began)


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def latencies(clients: list[Client]) -> None:
    say("\n| request | median ms | p99 ms | p99 / median | most ms |")
    say("| --- | ---: | ---: | ---: | ---: |")
    claims = [took for client in clients for took in client.claims]
    completes = [took for client in clients for took in client.completes]
    for name, took in (
        ("claim_next", claims),
        ("complete", completes),
        ("both", claims + completes),
    ):
        median = statistics.median(took) * 1000
        p99 = statistics.quantiles(took, n=100, method="inclusive")[98] * 1000
        most = max(took) * 1000
        say(f"| {name} | {median:.2f} | {p99:.2f} | {p99 / median:.1f} | {most:.1f} |")


def memory(process: psutil.Process, clients: list[Client], endpoint_id: Any, requests: int) -> None:
    say("\n| requests | memory of the server, MB |\n| ---: | ---: |")
    part = requests // SAMPLES // 2 // len(clients)
    for sample in range(SAMPLES + 1):
        if sample:
            refill(endpoint_id, part * len(clients))
            drive(clients, part)
        done = sample * part * len(clients) * 2
        say(f"| {done} | {process.memory_info().rss / 1e6:.1f} |")


def measure(options: argparse.Namespace, url: str) -> None:
    from django.db import connection

    from todos import endpoints

    endpoint, credential = endpoints.vend(name="benchmark", queues=["inbox"])
    options.connections = options.clients
    connection.close()
    used: dict[str, list[float]] = {OURS: [], HTTP: [], WEB: []}
    with (
        processes(OURS, endpoint.pk, options, scratch.server_pids(), used) as by_transitions,
        server(url, options.uvicorn) as (process, address),
    ):
        clients = [Client(address, credential) for _ in range(options.clients)]
        pairs = options.pairs * options.clients

        def by_http() -> float:
            refill(endpoint.pk, pairs)
            before = processor_seconds([process.pid]), processor_seconds(scratch.server_pids())
            rate = drive(clients, options.pairs)
            web = processor_seconds([process.pid]) - before[0]
            rest = processor_seconds(scratch.server_pids()) - before[1]
            used[WEB].append(web / pairs * 1e6)
            used[HTTP].append((web + rest) / pairs * 1e6)
            return rate

        contenders = {TRANSITIONS: by_transitions, HTTP: by_http}
        for run in contenders.values():
            run()
        for client in clients:
            client.claims.clear()
            client.completes.clear()
        for values in used.values():
            values.clear()
        rows = interleaved(contenders, options.rounds)
        table(f"claim_next + complete, {options.clients} clients", rows, "pairs/s", TRANSITIONS)
        latencies(clients)
        spent = {
            name: (statistics.median(values), min(values), max(values))
            for name, values in used.items()
        }
        spent[TRANSITIONS] = spent.pop(OURS)
        table("processor time", spent, "µs/pair", TRANSITIONS)
        if options.memory:
            memory(process, clients, endpoint.pk, options.memory)


def main() -> None:
    parser = argparse.ArgumentParser(description="the API beside the transitions behind it")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pairs", type=int, default=250, help="of each client in a round")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--memory", type=int, default=0, metavar="REQUESTS")
    parser.add_argument("uvicorn", nargs="*", metavar="OPTION", help="after --: more for uvicorn")
    with scratch_database() as url:
        measure(parser.parse_args(), url)


if __name__ == "__main__":
    main()
