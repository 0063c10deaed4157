import pytest

from switchboard import checks

pytestmark = pytest.mark.django_db


def test_this_server_is_recent_enough() -> None:
    assert checks.postgresql_is_recent(databases=["default"]) == []


def test_an_old_server_is_an_error_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "OLDEST_POSTGRESQL", 99)
    (problem,) = checks.postgresql_is_recent(databases=["default"])
    assert problem.id == "switchboard.E001"
    assert "PostgreSQL 99 or newer" in str(problem.hint)


def test_without_a_database_it_asks_none() -> None:
    assert checks.postgresql_is_recent(databases=None) == []
