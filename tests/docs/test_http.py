"""docs/http.md lists the errors and routes that there are."""

import re

from tests.docs.pages import code, read, section, table
from tests.todos.api.asked import EVERY
from todos.api.problems import STATUS

HTTP = "docs/http.md"


def test_the_errors() -> None:
    rows = table(HTTP, "Errors")
    assert {code(row["code"])[0]: int(row["status"]) for row in rows} == STATUS


def test_the_routes() -> None:
    named = set()
    for row in table(HTTP, "Working"):
        first, *others = code(row["request"])
        base = first.rpartition("/")[0]
        named |= {first, *(f"{base}/{other}" for other in others)}
    assert named == {f"{asked.method} {asked.path}" for asked in EVERY.values()}


def test_what_an_endpoint_may_without_further_words() -> None:
    from todos.verbs import DRAIN, Verb

    text = section(HTTP, "A credential")
    (drain,) = re.findall(r"drains a queue \(([^)]*)\)", text.replace("\n", " "))
    assert code(drain) == list(DRAIN)
    assert {f"`{verb}`" for verb in set(Verb) - set(DRAIN)} <= set(re.findall(r"`\w+`", read(HTTP)))
