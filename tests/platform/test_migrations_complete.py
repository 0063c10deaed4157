"""The migrations say what the models say, in one line of history."""

import pytest
from django.core.checks import run_checks
from django.core.management import call_command


@pytest.mark.django_db
def test_no_model_has_changed_without_a_migration() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_the_history_is_linear() -> None:
    """django-linear-migrations compares each `max_migration.txt` with the migrations there are."""
    assert not [problem for problem in run_checks() if str(problem.id).startswith("dlm")]
