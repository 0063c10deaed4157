"""axe-core, run in a page as it is."""

from playwright.sync_api import Page

from dev.test_browser import AXE


def serious_issues(page: Page) -> list[str]:
    """What keeps somebody from reading or using the page, by axe's own grades."""
    page.evaluate(AXE.read_text())
    # Preloading parses style sheets anew, by an inline style that a page's policy refuses.
    found = page.evaluate("axe.run({preload: false})")
    return [
        f"{issue['id']} ({issue['impact']}): {issue['help']}: {node['html'][:200]}"
        for issue in found["violations"]
        if issue["impact"] in ("serious", "critical")
        for node in issue["nodes"]
    ]
