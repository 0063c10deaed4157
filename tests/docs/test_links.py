"""Every relative link in the documentation leads somewhere."""

import re

import pytest

from tests.docs.pages import PAGES, ROOT, headings, read, without_blocks

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_OUTWARD = re.compile(r"[a-z]+:")


def anchors(page: str) -> set[str]:
    """The anchors of a page: given ones, and those that hosts derive from its headings."""
    text = without_blocks(read(page))
    derived = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings(text)}
    return derived | set(re.findall(r'<a id="([\w-]+)">', text))


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_resolve(page: str) -> None:
    broken = []
    for link in _LINK.findall(without_blocks(read(page))):
        if _OUTWARD.match(link):
            continue
        path, _, anchor = link.partition("#")
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        inside = target.is_relative_to(ROOT) and target.exists()
        if not inside or (anchor and anchor not in anchors(str(target.relative_to(ROOT)))):
            broken.append(link)
    assert not broken
