import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.staticfiles import finders
from django.http.response import HttpResponseBase
from django.test import AsyncClient, Client, override_settings

URL = "/static/admin/css/base.css"


@pytest.fixture(autouse=True)
def collected(tmp_path: Path) -> Iterator[bytes]:
    """One file where collectstatic would have put it."""
    found = finders.find("admin/css/base.css")
    assert isinstance(found, str)
    content = Path(found).read_bytes()
    target = tmp_path / "admin/css/base.css"
    target.parent.mkdir(parents=True)
    target.write_bytes(content)
    with override_settings(STATIC_ROOT=tmp_path):
        yield content


def fetch(path: str, method: str = "get", **headers: str) -> Any:
    response: HttpResponseBase = async_to_sync(getattr(AsyncClient(), method))(
        path, headers=headers
    )
    return response


def test_a_file_is_served_under_asgi_without_a_warning(collected: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        response = fetch(URL)
    assert response.status_code == 200
    assert response.content == collected
    assert response["Content-Type"].startswith("text/css")
    assert int(response["Content-Length"]) == len(collected)


def test_an_unchanged_file_is_not_sent_again() -> None:
    stamp = fetch(URL)["Last-Modified"]
    response = fetch(URL, **{"if-modified-since": stamp})
    assert response.status_code == 304
    assert response.content == b""


def test_a_head_request_gets_no_body(collected: bytes) -> None:
    response = fetch(URL, "head")
    assert int(response["Content-Length"]) == len(collected)
    assert response.content == b""


def test_what_is_no_file_goes_on_to_django() -> None:
    assert fetch("/static/no-such-file.css").status_code == 404
    assert fetch("/")["Location"] == "/admin/"


def test_a_synchronous_stack_serves_it_too(collected: bytes) -> None:
    response = Client().get(URL)
    assert b"".join(response) == collected
