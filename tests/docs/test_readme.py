"""What the README says about running Switchboard is so."""

import ast
import re

import pytest
from django.core.management import get_commands

from tests.docs.pages import PAGES, ROOT, blocks, code, read, table

README = "README.md"


@pytest.mark.django_db
def test_the_example_prints_what_its_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    example, _ = blocks(read(README), "python")
    expected = re.findall(r"^print\(.*\)  # (.+)$", example, re.MULTILINE)
    assert len(expected) == example.count("print(")
    exec(compile(example, README, "exec"), {})
    assert capsys.readouterr().out.splitlines() == expected


def test_the_worker_is_the_example_that_is_tested() -> None:
    _, worker = blocks(read(README), "python")
    assert worker == read("examples/worker.py")


REQUIRED = {"secret", "postgres", "redis_url", "hosts"}
"""Readers of `switchboard.env` that stop the start if there is nothing to read."""


def readers() -> dict[str, str]:
    """Of each variable that the settings read, its default as the README shows it."""
    found = {}
    for node in ast.walk(ast.parse((ROOT / "switchboard" / "settings.py").read_text())):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="env"), attr=reader),
                args=[ast.Constant(value=str(name)), *_],
                keywords=keywords,
            ):
                given = {k.arg: k.value for k in keywords}.get("default")
                default = given.value if isinstance(given, ast.Constant) else None
                if reader in REQUIRED:
                    found[name] = "required"
                elif reader == "flag":
                    found[name] = "1" if default else "0"
                else:
                    found[name] = str(default) if default not in (None, "") else "none"
    return found


def test_the_environment_is_what_the_settings_read() -> None:
    rows = table(README, "Environment")
    assert {code(row["variable"])[0]: row["default"] for row in rows} == readers()


def test_the_web_process_has_its_own_default() -> None:
    source = (ROOT / "switchboard" / "asgi.py").read_text()
    ((name, value),) = re.findall(r'setdefault\("(DATABASE\w+)", "(\d+)"\)', source)
    (row,) = (r for r in table(README, "Environment") if code(r["variable"]) == [name])
    assert f"The web process defaults to {value}" in row["meaning"]


def test_every_verb_of_make_that_is_named_exists() -> None:
    verbs = set(re.findall(r"^([a-z-]+):.*## ", read("Makefile"), re.MULTILINE))
    named = {
        verb
        for page in PAGES
        for verb in re.findall(r"(?:`|^)make ([a-z-]+)", read(page), re.MULTILINE)
    }
    assert {"run", "test"} <= named <= verbs


def test_every_command_of_manage_py_that_is_named_exists() -> None:
    named = {
        command
        for page in PAGES
        for command in re.findall(r'(?:manage\.py |manage do="?)([a-z_]+)', read(page))
    }
    assert {"reap", "doctor"} <= named <= set(get_commands())
