"""The drawn states and transitions are those of `todos.states`."""

import re

import pytest

from tests.docs.pages import START, diagram, headings, read, section
from todos.states import DEAD, INTERRUPT_STATES, PARKED, TRANSITIONS, State

STATES = "docs/states.md"
PARKED_LABEL = "failed: parked retry"
DEAD_LABEL = "failed: dead letter"

DETAILED = {state.value: state.value for state in State if state != State.FAILED} | {
    PARKED: PARKED_LABEL,
    DEAD: DEAD_LABEL,
}
"""How docs/states.md labels each condition that a todo can be in."""

OVERVIEW = DETAILED | dict.fromkeys(INTERRUPT_STATES, "waiting: input-required or auth-required")
"""How the README does: it draws the two interrupt states as one."""


def edges(names: set[str], label: dict[str, str]) -> frozenset[tuple[str, str, str]]:
    """The edges of these transitions between nodes that are labelled so."""
    rows = [TRANSITIONS[name] for name in names]
    return frozenset(
        (label[source] if source else START, label[target], row.name)
        for row in rows
        for source in row.sources or [""]
        for target in row.targets
    )


def test_every_transition_is_drawn_and_no_other() -> None:
    assert diagram(STATES).edges == edges(set(TRANSITIONS), DETAILED)


def test_what_is_drawn_as_final_is_what_no_transition_leaves() -> None:
    left = {source for row in TRANSITIONS.values() for source in row.sources}
    assert diagram(STATES).final == {DETAILED[state] for state in DETAILED.keys() - left}


def test_the_overview_draws_what_it_does_not_leave_out() -> None:
    drawn = {name for _, _, name in diagram("README.md").edges}
    (note,) = re.findall(r"^Not drawn: .+?\n\n", read("README.md"), re.MULTILINE | re.DOTALL)
    assert drawn | set(re.findall(r"\*([a-z ]+)\*", note)) == set(TRANSITIONS)
    assert diagram("README.md").edges == edges(drawn, OVERVIEW)


def test_each_state_has_its_section() -> None:
    assert set(headings(section(STATES, "State by state"))) == set(DETAILED.values())


@pytest.mark.parametrize("heading", DETAILED.values())
def test_each_section_says_what_a_crash_does(heading: str) -> None:
    assert "*After a crash" in section(STATES, heading)
