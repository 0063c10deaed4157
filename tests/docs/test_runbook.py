"""docs/runbook.md has what each alert of deploy/prometheus needs, and its SQL runs."""

import pytest
import yaml
from django.db import connection

from tests.docs.pages import ROOT, blocks, headings, read, section

RUNBOOK = "docs/runbook.md"

RULES = yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text())["groups"][0]["rules"]


def test_each_alert_links_to_its_section() -> None:
    named = [rule["annotations"]["runbook_url"] for rule in RULES]
    assert named == [f"{RUNBOOK}#{rule['alert'].lower()}" for rule in RULES]


def test_the_runbook_has_a_section_per_alert_and_says_what_it_means_and_what_to_do() -> None:
    alerts = [rule["alert"] for rule in RULES]
    sections = [heading for heading in headings(read(RUNBOOK)) if heading.startswith("Switchboard")]
    assert sections == alerts
    for alert in alerts:
        text = section(RUNBOOK, alert)
        for part in ("**It means**", "**Look at**", "**Do**"):
            assert part in text, f"{alert}: {part}"


@pytest.mark.django_db
@pytest.mark.parametrize("statement", blocks(read(RUNBOOK), "sql"))
def test_the_sql_of_the_page_runs(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
