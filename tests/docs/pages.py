"""Reads the documentation: its pages, sections, tables, fenced blocks and diagrams."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PAGES = sorted(
    str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
)

_FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_EDGE = re.compile(r"(\S+) --> (\S+)(?: : (.+))?")
_NODE = re.compile(r'state "(.+)" as (\w+)')


def read(page: str) -> str:
    return (ROOT / page).read_text()


def blocks(text: str, language: str) -> list[str]:
    """The contents of the fenced blocks in this language."""
    return [found[2] for found in _FENCED.finditer(text) if found[1] == language]


def without_blocks(text: str) -> str:
    return _FENCED.sub("", text)


def headings(text: str) -> list[str]:
    return [found[2] for found in _HEADING.finditer(without_blocks(text))]


def section(page: str, heading: str) -> str:
    """What follows a heading, up to the next one of its level or above."""
    text = read(page)
    found = next(h for h in _HEADING.finditer(text) if h[2] == heading)
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def tables(text: str) -> list[list[dict[str, str]]]:
    """The tables of a text: of each row, its cells by the name of their column."""
    found: list[list[list[str]]] = [[]]
    for line in without_blocks(text).splitlines():
        if line.strip().startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [
        [dict(zip(header, row, strict=True)) for row in rows]
        for header, _, *rows in filter(None, found)
    ]


def table(page: str, heading: str) -> list[dict[str, str]]:
    """The first table below a heading."""
    return tables(section(page, heading))[0]


def code(cell: str) -> list[str]:
    """The words of a cell that are set as code."""
    return re.findall(r"`([^`]+)`", cell)


@dataclass(frozen=True)
class Diagram:
    """A state diagram, its nodes by their labels; `START` and `END` stand for `[*]`."""

    edges: frozenset[tuple[str, str, str]]
    """Source, target, and the transition between them."""
    final: frozenset[str]


START = "[*]"


def diagram(page: str) -> Diagram:
    """The only diagram of a page. A line that is not understood is an error."""
    (text,) = blocks(read(page), "mermaid")
    first, *lines = (line.strip() for line in text.splitlines() if line.strip())
    assert first == "stateDiagram-v2"
    labels = {found[2]: found[1] for line in lines if (found := _NODE.fullmatch(line))}
    edges: list[tuple[str, str, str]] = []
    final = []
    for line in lines:
        if _NODE.fullmatch(line):
            continue
        found = _EDGE.fullmatch(line)
        assert found, f"{page}: not an edge: {line}"
        source, target = (labels.get(node, node) for node in found.group(1, 2))
        if target == START:
            final.append(source)
        else:
            edges += [(source, target, name) for name in found[3].split(", ")]
    assert len(set(edges)) == len(edges), f"{page}: an edge is drawn twice"
    return Diagram(frozenset(edges), frozenset(final))
