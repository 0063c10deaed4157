"""docs/architecture.md names the import rules and the dependencies that there are."""

import re
import tomllib

from tests.docs.pages import ROOT, code, section, table, tables

ARCHITECTURE = "docs/architecture.md"
IMPORTS = "Which module may import which"

LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]


def contracts(kind: str) -> list[dict[str, list[str]]]:
    return [contract for contract in LINTER["contracts"] if contract["type"] == kind]


def test_the_layers_of_todos() -> None:
    layers, _ = tables(section(ARCHITECTURE, IMPORTS))
    (contract,) = contracts("layers")
    assert contract["containers"] == ["todos"]
    # In parentheses: may be absent, so there is nothing to describe.
    present = [re.findall(r"(?<!\()\b\w+\b(?!\))", layer) for layer in contract["layers"]]
    assert [code(row["modules"]) for row in layers] == present


def test_the_only_modules_of_a_layer_that_may_import_each_other() -> None:
    (contract,) = contracts("layers")
    assert [layer for layer in contract["layers"] if ":" in layer] == ["sql : models"]


def test_what_a_package_must_not_import() -> None:
    _, rules = tables(section(ARCHITECTURE, IMPORTS))
    named = [(set(code(row["package"])), set(code(row["must not import"]))) for row in rules]
    forbidden = [
        (set(c["source_modules"]), set(c["forbidden_modules"])) for c in contracts("forbidden")
    ]
    assert named == forbidden
    assert len(contracts("layers")) + len(forbidden) == len(LINTER["contracts"])


def test_the_packages() -> None:
    packages = tables((ROOT / ARCHITECTURE).read_text())[0]
    assert {code(row["package"])[0] for row in packages} == set(LINTER["root_packages"])


def test_the_dependencies() -> None:
    named = [row["package"] for row in table(ARCHITECTURE, "Dependencies")]
    # The first paragraph; below it is what those need.
    wanted = (ROOT / "requirements.txt").read_text().partition("\n\n")[0]
    pinned = re.findall(r"^[\w-]+", wanted, re.MULTILINE)
    assert sorted(named) == sorted(pinned)
