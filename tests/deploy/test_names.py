"""What the alert rules, the dashboard and the documentation name is what `/metrics` serves."""

import json
import re
from collections import defaultdict
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.docs.pages import ROOT, code, table
from todos import endpoints, reaper
from todos.metrics.collectors import registry

RULES = yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((ROOT / "deploy/grafana/switchboard.json").read_text())

OF_PROMETHEUS = {"job", "instance"}
"""Labels that a scrape adds."""

_SELECTOR = re.compile(r"\b(switchboard_\w+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')
_GROUPING = re.compile(r"\b(?:by|on|without|ignoring)\s*\(([^)]*)\)")

Served = dict[str, dict[str, set[str]]]


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def expressions() -> list[tuple[str, str]]:
    alerts = [(rule["alert"], rule["expr"]) for rule in RULES]
    charts = [(p["title"], target["expr"]) for p in panels() for target in p["targets"]]
    lists = [(v["name"], v["definition"]) for v in DASHBOARD["templating"]["list"][1:]]
    return alerts + charts + lists


@pytest.fixture
def served(transactional_db: None) -> Served:
    """Of each sample that a scrape serves, its labels and their values."""
    endpoints.vend(name="desk", queues=["inbox"])
    assert reaper.tick().good
    found: Served = defaultdict(lambda: defaultdict(set))
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            labels = found[sample.name]
            for name, value in sample.labels.items():
                labels[name].add(value)
    return {name: labels for name, labels in found.items() if not name.endswith("_created")}


def test_every_metric_label_and_value_of_an_expression_is_served(served: Served) -> None:
    for title, expression in expressions():
        known: set[str] = set(OF_PROMETHEUS)
        selectors = _SELECTOR.findall(expression)
        assert selectors, title
        for name, matchers in selectors:
            assert name in served, f"{title}: {name}"
            known |= set(served[name])
            for label, pattern in _MATCHER.findall(matchers):
                assert label in {*served[name], *OF_PROMETHEUS}, f"{title}: {name}{{{label}}}"
                if label in OF_PROMETHEUS or pattern.startswith("$"):
                    continue
                assert set(pattern.split("|")) <= served[name][label], f"{title}: {pattern}"
        for names in _GROUPING.findall(expression):
            used = {name.strip() for name in names.split(",") if name.strip()}
            assert used <= known, f"{title}: {used - known}"


def test_what_a_chart_calls_its_lines_is_a_label_that_they_keep() -> None:
    for panel in panels():
        for target in panel["targets"]:
            kept = {
                name.strip()
                for names in _GROUPING.findall(target["expr"])[:1]
                for name in names.split(",")
            }
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert named <= kept, panel["title"]


def test_what_an_alert_says_is_a_label_that_it_keeps() -> None:
    for rule in RULES:
        groupings = _GROUPING.findall(rule["expr"])
        kept = {name.strip() for name in groupings[0].split(",")} if groupings else set()
        named = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
        assert named <= kept, rule["alert"]


def test_no_metric_is_served_for_nobody(served: Served) -> None:
    used = {name for _, expression in expressions() for name, _ in _SELECTOR.findall(expression)}
    assert used == set(served)


def test_the_table_of_metrics_is_what_is_served(served: Served) -> None:
    documented = {}
    for row in table("docs/domain.md", "Metrics"):
        for cell in code(row["name"]):
            name, _, labels = cell.partition("{")
            documented[name] = {label for label in labels.rstrip("}").split(",") if label}
    assert documented == {name: set(labels) for name, labels in served.items()}


def test_the_kinds_and_values_in_that_table(served: Served) -> None:
    for row in table("docs/domain.md", "Metrics"):
        (name, *_) = code(row["name"])
        assert row["kind"] == ("counter" if "_total" in name else "gauge")
    (causes,) = (
        code(row["note"])
        for row in table("docs/domain.md", "Metrics")
        if "dead_lettered" in row["name"]
    )
    assert set(causes) == served["switchboard_todos_dead_lettered_total"]["cause"]


def test_every_alert_has_a_test_of_its_firing_and_of_its_silence() -> None:
    cases = yaml.safe_load((ROOT / "tests/deploy/rules.yml").read_text())["tests"]
    checks = [check for case in cases for check in case["alert_rule_test"]]
    for rule in RULES:
        mine = [bool(c.get("exp_alerts")) for c in checks if c["alertname"] == rule["alert"]]
        assert {True, False} <= set(mine), rule["alert"]


def test_the_first_row_of_the_dashboard_tells_the_story_of_the_waits() -> None:
    rows = [panel["gridPos"]["y"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]
    first = [panel["title"] for panel in panels() if panel["gridPos"]["y"] < rows[1]]
    assert first == [
        "Waits now",
        "Oldest wait against the TTL",
        "Reclaims against lapsed leases, per hour",
        "Reaper: last good tick",
        "Waits overdue",
    ]


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24, panel["title"]
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
