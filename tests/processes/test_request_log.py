"""The log of a real web process: who did what, by which request, and no secret in it."""

import http.client
import json
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.factories import make_waiting
from tests.processes.programs import Program, database_url, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def web(directory: Path, **env: str) -> Iterator[tuple[Program, http.client.HTTPConnection]]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    # With uvicorn's access log left on, as its command line does.
    command = [sys.executable, "-m", "uvicorn", "switchboard.asgi:application", "--port", str(port)]
    env |= {"DATABASE_URL": database_url(), "ALLOWED_HOSTS": "127.0.0.1"}
    with Program(command, directory / "web.log", env) as program:
        wait_until(lambda: accepts(port) or not program.is_running(), "a web process")
        yield program, http.client.HTTPConnection("127.0.0.1", port, timeout=30)


def accepts(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_click_in_the_admin_can_be_followed_to_its_transition(tmp_path: Path, form: str) -> None:
    todo = make_waiting(title="a secret title", payload={"of": "a secret payload"})
    user = User.objects.create_superuser("ada", password="a secret password")
    client = Client()
    client.force_login(user)
    (session,) = (morsel.value for morsel in client.cookies.values())
    token = "t" * 32
    headers = {
        "Cookie": f"sessionid={session}; csrftoken={token}",
        "X-CSRFToken": token,
        "X-Request-ID": "click-1",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    answered = {"id": todo.pk, "confirmed": "yes", "answer": "a secret answer"}
    with web(tmp_path, LOG_FORMAT=form) as (program, connection):
        url = "/admin/todos/todo/do/resume/?q=a+secret+query"
        connection.request("POST", url, urlencode(answered), headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 302
        assert answer.headers.get_all("X-Request-ID") == ["click-1"]
        wait_until(lambda: program.lines("click-1"), "the line of the request")
        log = program.log
    (line,) = (line for line in log.splitlines() if "click-1" in line)
    if form == "json":
        event = {key: value for key, value in json.loads(line).items() if key not in ("time", "ms")}
        message = event.pop("message")
        assert event == {
            "logger": "switchboard.requests",
            "level": "INFO",
            "request_id": "click-1",
            "method": "POST",
            "path": "/admin/todos/todo/do/resume/",
            "status": 302,
            "who": f"user:{user.pk}",
            "did": f"resume:{todo.pk}",
        }
        assert message.startswith("request method=POST path=/admin")
        assert all(json.loads(each) for each in log.splitlines())
    else:
        expected = (
            "switchboard.requests INFO request_id=click-1 request method=POST"
            rf" path=/admin/todos/todo/do/resume/ status=302 ms=\d+\.\d who=user:{user.pk}"
            rf" did=resume:{todo.pk}"
        )
        assert re.fullmatch(rf"\S+Z {expected}", line)
        # uvicorn's own lines are of the same form, and its access log is silent.
        assert all(
            re.match(r"\d{4}-\S+Z (uvicorn|switchboard|py)\.", each) for each in log.splitlines()
        )
    for secret in ("secret", session, token):
        assert secret not in log


def test_what_django_refuses_and_what_is_not_there_has_its_line_too(tmp_path: Path) -> None:
    with web(tmp_path) as (program, connection):
        for path, host, status in (
            ("/nothing/here", "127.0.0.1", 404),
            ("/admin/login/", "other.example.org", 400),
            ("/%ff", "127.0.0.1", 404),
        ):
            connection.request("GET", path, headers={"Host": host})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status
            beginning = f"request_id={answer.headers['X-Request-ID']} request method=GET"
            wait_until(partial(program.lines, beginning), "its line")
        assert not program.lines(" django.request ")
