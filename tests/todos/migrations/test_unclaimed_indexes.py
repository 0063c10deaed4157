"""The migration that takes claimed todos out of two indexes: there, back, and cut off anywhere."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from tests.todos.migrations.database import Database

NAME = "0037_unclaimed_indexes"
VALID = "SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indisvalid"


class CutOff(Exception):
    """Stands for whatever ends a migration from outside."""


@pytest.fixture
def module() -> ModuleType:
    return import_module(f"todos.migrations.{NAME}")


@pytest.fixture
def before(database: Database, module: ModuleType) -> str:
    """The migration before; the database is there, with rows in every state."""
    ((_, previous),) = module.Migration.dependencies
    database.migrate(previous)
    database.seed()
    return str(previous)


def test_it_replaces_the_indexes_and_the_way_back_restores_them(
    database: Database, before: str, module: ModuleType
) -> None:
    schema, todos = database.schema(), database.todos()
    names = {name for kind, name, *_ in schema if kind == "index"}
    assert names >= module.FULL.keys()

    database.migrate(NAME)
    replaced = database.schema()
    changed = {name for _, name, *_ in replaced ^ schema}
    assert changed == module.FULL.keys() | module.UNCLAIMED.keys()
    assert {name for _, name, *_ in replaced - schema} == module.UNCLAIMED.keys()

    database.migrate(before)
    assert database.schema() == schema
    database.migrate(NAME)
    assert database.schema() == replaced
    assert database.todos() == todos


def cut_off_at(step: int, module: ModuleType, patch: pytest.MonkeyPatch) -> None:
    """Let so many steps through."""
    taken = 0

    def counted(do: Callable[..., None]) -> Callable[..., None]:
        def run(*args: Any) -> None:
            nonlocal taken
            if taken == step:
                raise CutOff
            taken += 1
            do(*args)

        return run

    for name in ("build_index", "drop_index"):
        patch.setattr(module, name, counted(getattr(module, name)))


@pytest.mark.parametrize("step", range(4))
@pytest.mark.parametrize("back", [False, True])
def test_cut_off_before_a_step_each_question_has_its_index_and_a_second_run_completes(
    database: Database,
    before: str,
    module: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    back: bool,
    step: int,
) -> None:
    schemas = {before: database.schema()}
    database.migrate(NAME)
    schemas[NAME] = database.schema()
    start, target = (NAME, before) if back else (before, NAME)
    database.migrate(start)

    with monkeypatch.context() as patch:
        cut_off_at(step, module, patch)
        with pytest.raises(CutOff):
            database.migrate(target)

    valid = {name for (name,) in database.rows(VALID)}
    for full, unclaimed in zip(module.FULL, module.UNCLAIMED, strict=True):
        assert valid & {full, unclaimed}
    assert (NAME in database.applied()) == back
    database.migrate(target)
    assert database.schema() == schemas[target]
